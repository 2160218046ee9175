"""The glossary, and snapshots of the catalog."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from apps.metadata import services
from apps.metadata.admin.acts import CatalogAdmin, OfSource
from apps.metadata.keepers import KEEPERS
from apps.metadata.models import GlossaryTerm, Snapshot
from apps.metadata.pages.show import link
from axiom.console.admin import NOBODY
from axiom.console.groups import Group
from axiom.permissions import may
from axiom.roles import OPERATORS


@admin.register(GlossaryTerm)
class GlossaryTermAdmin(CatalogAdmin):
    """The words of the business."""

    group, icon, position = Group.CATALOG, "dictionary", 14
    may_delete = OPERATORS
    list_display = ("term", "definition", "datasource", "updated_at")
    list_filter = (OfSource,)
    search_fields = ("term", "definition")
    list_select_related = ("datasource", "tenant")
    ordering = ("term",)
    fields = ("datasource", "term", "definition", "synonyms", "related_columns")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("datasource", "term") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        given = {"datasource": obj.datasource, "term": obj.term, **form.cleaned_data}
        obj.__dict__.update(services.define_term(**given).__dict__)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.delete_term(term=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[GlossaryTerm]) -> None:
        for term in queryset:
            services.delete_term(term=term)


@admin.register(Snapshot)
class SnapshotAdmin(CatalogAdmin):
    """States of the catalog that were kept."""

    group, icon, position = Group.CATALOG, "photo_camera", 15
    may_change = may_delete = NOBODY
    list_display = ("label", "datasource", "tables_count", "columns_count", "created_at")
    list_filter = (OfSource,)
    list_select_related = ("datasource", "tenant")
    ordering = ("-created_at",)
    actions = ("compare", "restore")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        known = ("version", "tables_count", "columns_count", "created_by", "created_at")
        return ("datasource", "label", *(known if obj else ()))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.__dict__.update(services.create_snapshot(**form.cleaned_data).__dict__)

    def has_restore_permission(self, request: HttpRequest) -> bool:
        return may(request, KEEPERS)

    @admin.action(description=_("Restore"), permissions=["restore"])
    def restore(
        self, request: HttpRequest, snapshots: QuerySet[Snapshot]
    ) -> HttpResponseRedirect | None:
        """Of one at a time, after a look at what that would undo."""
        chosen = list(snapshots[:2])
        if len(chosen) == 1:
            return _comparison(old=chosen[0].pk, new="now")
        messages.error(request, _("Choose one: a catalog cannot be two at once."))
        return None

    @admin.action(description=_("Compare"), permissions=["view"])
    def compare(
        self, request: HttpRequest, snapshots: QuerySet[Snapshot]
    ) -> HttpResponseRedirect | None:
        """Two of them, or one with the state of now."""
        chosen = list(snapshots.order_by("created_at")[:3])
        if len(chosen) > 2:
            messages.error(request, _("Choose two, or one to compare it with now."))
            return None
        return _comparison(old=chosen[0].pk, new=chosen[1].pk if chosen[1:] else "now")


def _comparison(**given: Any) -> HttpResponseRedirect:
    return HttpResponseRedirect(link("catalog-compare", **{k: str(v) for k, v in given.items()}))
