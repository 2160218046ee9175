"""Loads and empties the demo's data; every app brings its own in a module `demo`.

A `demo.py` has `load()`, which may be called again, and where it keeps rows that belong to no
tenant also `clear()`. Rows of the demo's tenants are emptied here, whoever made them. One that can
show what failing looks like has `break_something()` and `mend()`.
"""

import importlib
from collections.abc import Iterable, Iterator
from types import ModuleType

from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.utils.module_loading import module_has_submodule

LOGIN = "admin@hanbit.example"
PASSWORD = "axiom-demo"


class NotInProduction(Exception):
    """Demo data is not for production: unset AXIOM_PRODUCTION, or leave the demo alone."""

    def __str__(self) -> str:
        return str(self.__doc__)


def load() -> None:
    """Put the demo's data in place; what is there already stays as it is."""
    _refuse_in_production()
    with transaction.atomic():
        for module in _modules():
            module.load()
        _mark()


def load_once() -> bool:
    """Load the demo unless this database had it before; True when it was loaded now."""
    from axiom.models import DemoLoad

    if DemoLoad.objects.exists():
        return False
    load()
    return True


def reset() -> None:
    """Empty the demo's data and load it anew."""
    _refuse_in_production()
    with transaction.atomic():
        mend()
        for module in reversed(list(_modules())):
            if hasattr(module, "clear"):
                module.clear()
        load()


def break_something() -> None:
    """Let a consumer fail, so that there is something to triage."""
    _refuse_in_production()
    _all("break_something")


def mend() -> None:
    """Take back whatever was broken."""
    _refuse_in_production()
    _all("mend")


def _all(name: str) -> None:
    with transaction.atomic():
        for module in _modules():
            if hasattr(module, name):
                getattr(module, name)()


def empty_tenants(tenants: Iterable[models.Model]) -> None:
    """Delete everything that belongs to these tenants, and last the tenants.

    A row that another one protects is tried again once that other one is gone.
    """
    keys = [tenant.pk for tenant in tenants]
    waiting = [model for model in reversed(apps.get_models()) if _belongs_to_a_tenant(model)]
    while waiting:
        protected = [model for model in waiting if not _try_to_empty(model, keys)]
        if len(protected) == len(waiting):
            names = ", ".join(model.__name__ for model in protected)
            raise RuntimeError(f"These protect one another and cannot be emptied: {names}.")
        waiting = protected


def _try_to_empty(model: type[models.Model], keys: list[object]) -> bool:
    try:
        with transaction.atomic():
            model._base_manager.filter(tenant__in=keys).delete()
    except models.ProtectedError:
        return False
    return True


def _belongs_to_a_tenant(model: type[models.Model]) -> bool:
    fields = {field.name: field for field in model._meta.get_fields()}
    target = getattr(fields.get("tenant"), "related_model", None)
    return bool(target) and target is apps.get_model("accounts", "Tenant")


def _modules() -> Iterator[ModuleType]:
    """Every app's demo, in the order of the settings: the lower an app, the earlier."""
    for config in apps.get_app_configs():
        if config.name.startswith("apps.") and module_has_submodule(config.module, "demo"):
            yield importlib.import_module(f"{config.name}.demo")


def _mark() -> None:
    from axiom.models import DemoLoad

    DemoLoad.objects.get_or_create(pk=1)


def _refuse_in_production() -> None:
    if settings.PRODUCTION:
        raise NotInProduction
