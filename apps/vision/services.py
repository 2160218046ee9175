"""Cubes are defined, imported and held against the catalog."""

from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.events.context import current
from apps.metadata import selectors as metadata
from apps.vision import mondrian
from apps.vision.definition import parsed
from apps.vision.models import Cube
from axiom.references import Renames, Report, Where, recheck, refer


@transaction.atomic
def define_cube(**facts: Any) -> Cube:
    """Define a cube. One whose tables are not there is kept, and says so."""
    return _save(Cube(created_by=current().actor, **facts))


@transaction.atomic
def change_cube(cube: Cube, /, **facts: Any) -> Cube:
    for name, value in facts.items():
        setattr(cube, name, value)
    return _save(cube)


@transaction.atomic
def remove_cube(cube: Cube) -> None:
    cube.delete()


@transaction.atomic
def import_mondrian(*, datasource_name: str, xml: str, default_schema: str) -> list[Cube]:
    """Define every cube of a Mondrian schema, or none; those of the same name are replaced."""
    cubes = []
    for found in mondrian.read(xml, default_schema=default_schema):
        there = Cube.objects.filter(datasource_name=datasource_name, name=found.name).first()
        cube = there or Cube(
            datasource_name=datasource_name, name=found.name, created_by=current().actor
        )
        facts = {"caption": found.caption, "description": found.description}
        cubes.append(change_cube(cube, definition=found.definition.model_dump(), **facts))
    return cubes


@transaction.atomic
def validate_cubes(
    datasource_name: str,
    *,
    only: Collection[Where] | None = None,
    renames: Renames | None = None,
) -> Report:
    """Hold cubes against the catalog as it is: all of a source, or those that use some tables."""
    return recheck(
        Cube.objects.all(), datasource_name, known=metadata.known_tables, only=only, renames=renames
    )


def validate_all() -> Report:
    """Every cube of the tenant; also those whose data source is not there any more."""
    report = Report()
    for name in _datasources():
        report += validate_cubes(name)
    return report


def _datasources() -> list[str]:
    names = Cube.objects.order_by().values_list("datasource_name", flat=True)
    return sorted(names.distinct())


def _save(cube: Cube) -> Cube:
    definition = parsed(cube.definition)
    cube.definition = definition.model_dump()
    cube.full_clean()
    if cube.datasource_name not in metadata.datasource_names():
        raise ValidationError({"datasource_name": _("There is no such data source.")})
    refer(cube, definition.uses(), known=metadata.known_tables)
    return cube
