"""`manage.py watch rebuild | seed`: bring windows and default subscriptions up to date."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.events.context import acting
from apps.watch import services
from apps.watch.models import Subscription


class Command(BaseCommand):
    help = "Rebuilds windows from the stored events, or renews default subscriptions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["rebuild", "seed"])

    def handle(self, *args: Any, what: str, **options: Any) -> None:
        count = _rebuild() if what == "rebuild" else _seed()
        self.stdout.write(f"{what}: {count}")


def _rebuild() -> int:
    Subscription.across_tenants.filter(is_active=True).update(rebuild_due=True)
    return services.rebuild_due(now=timezone.now())


def _seed() -> int:
    count = 0
    for tenant in accounts.active_tenants():
        with acting(tenant_id=tenant.pk):
            count += services.seed_tenant()
    return count
