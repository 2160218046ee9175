"""Imports go downward only: the table of the design, held against every module."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the top down. An app may import from the rows below its own, never from its own row.
LAYERS = [
    {"chat"},
    {"notifications"},
    {"watch"},
    {"vision", "synapse", "oracle"},
    {"metadata"},
    {"processes", "documents"},
    {"cases"},
    {"accounts"},
    {"events"},
]
ROOMS_WITH_A_DOOR = {"events", "services", "selectors"}
# apps.events is the ground everyone stands on: all of it is public, except its own edges.
CLOSED_ROOMS_OF_EVENTS = {"models", "admin", "api", "urls", "migrations", "tasks"}
# These put the parts together and so may reach for any app's edges and services.
COMPOSERS = ("axiom.urls", "axiom.asgi", "axiom.celery", "axiom.management", "axiom.demo")
WHAT_AXIOM_MAY_USE = {"events": None, "accounts": {"selectors", "services"}}


class Import(NamedTuple):
    importer: str
    imported: str
    line: int
    for_types_only: bool


def layer(app: str) -> int:
    return next(number for number, apps in enumerate(LAYERS) if app in apps)


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def modules(root: Path) -> Iterator[Path]:
    return (path for top in ("apps", "axiom") for path in sorted((root / top).rglob("*.py")))


def imports_of(path: Path, root: Path) -> Iterator[Import]:
    """Every import in the file, at the top or inside a function."""
    tree, name = ast.parse(path.read_text()), module_name(path, root)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    type_lines = lines_for_types_only(tree)
    for node in ast.walk(tree):
        for imported in imported_names(node, package):
            yield Import(name, imported, node.lineno, node.lineno in type_lines)


def imported_names(node: ast.AST, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def lines_for_types_only(tree: ast.AST) -> set[int]:
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    return {
        line for node in blocks for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def complaint(found: Import) -> str | None:
    """What is wrong with this import, or None."""
    target, source = found.imported.split("."), found.importer.split(".")
    if target[0] != "apps" or len(target) < 2 or target[:2] == source[:2]:
        return None
    app, room = target[1], target[2] if len(target) > 2 else ""
    reason = axiom_reason(found, app, room) if source[0] == "axiom" else None
    reason = app_reason(found, source[1], app, room) if source[0] == "apps" else reason
    return f"{found.importer}:{found.line} imports {found.imported}: {reason}" if reason else None


def app_reason(found: Import, importer: str, app: str, room: str) -> str | None:
    if app == "events":
        return "that room is private" if room in CLOSED_ROOMS_OF_EVENTS else None
    if layer(importer) >= layer(app):
        return "upward or sideways there is one way: publish"
    if room in ROOMS_WITH_A_DOOR or (room == "models" and found.for_types_only):
        return None
    return "only events, services and selectors have a door"


def axiom_reason(found: Import, app: str, room: str) -> str | None:
    if found.importer.startswith(COMPOSERS):
        return None
    if app not in WHAT_AXIOM_MAY_USE:
        return "axiom/ knows no domain app"
    if room == "models" and found.for_types_only:
        return None
    if app == "events":
        return "that room is private" if room in CLOSED_ROOMS_OF_EVENTS else None
    return None if room in (WHAT_AXIOM_MAY_USE[app] or ()) else "only selectors and services"


def complaints(root: Path) -> list[str]:
    found = (each for path in modules(root) for each in imports_of(path, root))
    return [text for each in found if (text := complaint(each))]


def test_every_app_has_its_place_in_the_table():
    folders = {path.parent.name for path in (ROOT / "apps").glob("*/apps.py")}
    assert folders == set().union(*LAYERS)


def test_imports_go_downward_only():
    assert complaints(ROOT) == []


@pytest.mark.parametrize(
    ("importer", "line", "why"),
    [
        ("apps/cases/services.py", "from apps.watch.services import raise_alerts", "publish"),
        ("apps/vision/services.py", "from apps.oracle.services import reindex", "publish"),
        ("apps/events/relay.py", "import apps.accounts.services", "publish"),
        ("apps/watch/services.py", "from apps.cases.models import Case", "have a door"),
        ("apps/watch/services.py", "from apps.cases import models", "have a door"),
        ("apps/watch/api.py", "from ..cases.api import CaseView", "have a door"),
        ("apps/watch/api.py", "def f():\n    from apps.cases.admin import CaseAdmin", "a door"),
        ("apps/watch/api.py", "from apps.events.models import OutboxEvent", "private"),
        ("axiom/console.py", "from apps.cases.services import open_case", "no domain app"),
        ("axiom/console.py", "from apps.accounts.models import User", "only selectors"),
    ],
)
def test_a_violation_is_caught(tmp_path, importer, line, why):
    write(tmp_path, importer, line)
    (found,) = complaints(tmp_path)
    assert why in found


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("apps/watch/consumers.py", "from apps.cases.events import CaseCreated"),
        ("apps/watch/services.py", "from .models import Alert"),
        ("apps/watch/services.py", "from apps.events.outbox import publish"),
        ("apps/watch/services.py", "from axiom.errors import AxiomError"),
        ("apps/cases/services.py", "if TYPE_CHECKING:\n    from apps.accounts.models import User"),
        ("axiom/urls.py", "from apps.cases import urls"),
        ("axiom/permissions.py", "from apps.accounts.selectors import role_of"),
    ],
)
def test_what_the_design_allows_passes(tmp_path, importer, line):
    write(tmp_path, importer, line)
    assert complaints(tmp_path) == []


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text(text)
