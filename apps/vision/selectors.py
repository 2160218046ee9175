"""What is known about cubes. Everything here is of the current tenant."""

from collections.abc import Collection

from django.db.models import QuerySet

from apps.vision.models import Cube
from axiom.references import Where, using


def cubes() -> QuerySet[Cube]:
    return Cube.objects.all()


def cubes_using(datasource_name: str, tables: Collection[Where]) -> QuerySet[Cube]:
    """The cubes that cannot do without one of these tables."""
    return using(cubes().filter(datasource_name=datasource_name), tables)
