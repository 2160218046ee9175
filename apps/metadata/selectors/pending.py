"""What a held run would do to others."""

from typing import Any

from apps.metadata.models import ExtractionRun
from apps.metadata.selectors import impact
from apps.metadata.selectors.impact import Affected, Target

_OF_COLUMNS = {"column_removed", "column_renamed", "type_changed", "nullable_changed"}


def affected_by_run(run: ExtractionRun) -> list[Affected]:
    """Everything that depends on what the run would remove, rename or change for the worse."""
    pending = [each for each in run.pending if each["breaking"]]
    targets: set[Target] = {_target(each) for each in pending}
    return impact.affected_by(run.datasource.name, sorted(targets, key=str))


def _target(change: dict[str, Any]) -> Target:
    """By the names of before: others know no other."""
    schema, table, name = change["schema"], change["table"], change["name"]
    if change["kind"] == "table_renamed":
        schema, table = change["before"]
    if change["kind"] == "column_renamed":
        name = change["before"]
    return schema, table, name if change["kind"] in _OF_COLUMNS else None
