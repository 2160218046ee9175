"""Cubes, and what they use of a data source."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.events.ids import uuid7
from axiom.references import Checked, Reference


class Cube(Checked):
    """Facts that can be added up along dimensions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200)
    caption = models.CharField(_("caption"), max_length=200, blank=True)
    description = models.TextField(_("description"), max_length=10_000, blank=True)
    definition = models.JSONField(
        _("definition"), help_text=_("The fact table, the dimensions and the measures.")
    )
    created_by = models.CharField(_("created by"), max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta(Checked.Meta):
        verbose_name = _("cube")
        verbose_name_plural = _("cubes")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "datasource_name", "name"], name="cube_named_once"
            ),
        ]

    def __str__(self) -> str:
        return self.caption or self.name


class CubeReference(Reference):
    owner = models.ForeignKey(Cube, on_delete=models.CASCADE, related_name="references")

    class Meta(Reference.Meta):
        verbose_name = _("column of a cube")
        verbose_name_plural = _("columns of cubes")
