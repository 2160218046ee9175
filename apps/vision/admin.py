"""Cubes in the console: what they are made of, and whether they can be asked."""

from django.contrib import admin

from apps.vision import services
from apps.vision.models import Cube
from axiom.console.checked import CheckedAdmin
from axiom.references import Report


@admin.register(Cube)
class CubeAdmin(CheckedAdmin):
    icon, position = "deployed_code", 60
    written = ("datasource_name", "name", "caption", "description", "definition")

    list_display = ("name", "caption", "datasource_name", "shown_status", "shown_reason")
    search_fields = ("name", "caption")
    ordering = ("name",)

    def store(self, row: Cube) -> None:
        services.change_cube(row)

    def recheck(self, datasource_name: str) -> Report:
        return services.validate_cubes(datasource_name)
