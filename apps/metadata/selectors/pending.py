"""What a held run would do to others."""

from collections.abc import Iterator
from typing import Any

from django.db.models import F, TextField, Value
from django.db.models.functions import Concat

from apps.metadata.models import CatalogTable, ExtractionRun
from apps.metadata.selectors import impact
from apps.metadata.selectors.impact import Affected, Target

_OF_COLUMNS = {"column_removed", "column_renamed", "type_changed", "nullable_changed"}


def affected_by_run(run: ExtractionRun) -> list[Affected]:
    """Everything that depends on what the run would remove, rename or change for the worse."""
    pending = [each for each in run.pending if each["breaking"]]
    targets: set[Target] = {_target(each) for each in pending}
    targets.update(_removed(run))
    return impact.affected_by(run.datasource.name, sorted(targets, key=str))


def _removed(run: ExtractionRun) -> Iterator[Target]:
    """Every table that would go: of the pending changes only the first are kept with the run."""
    rows = CatalogTable.objects.filter(datasource=run.datasource)
    labelled = rows.annotate(
        label=Concat(F("schema"), Value("."), F("name"), output_field=TextField())
    )
    gone = labelled.filter(label__in=run.removals).values_list("schema", "name")
    return ((schema, name, None) for schema, name in gone)


def _target(change: dict[str, Any]) -> Target:
    """By the names of before: others know no other."""
    schema, table, name = change["schema"], change["table"], change["name"]
    if change["kind"] == "table_renamed":
        schema, table = change["before"]
    if change["kind"] == "column_renamed":
        name = change["before"]
    return schema, table, name if change["kind"] in _OF_COLUMNS else None
