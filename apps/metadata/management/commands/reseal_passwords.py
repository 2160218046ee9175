"""`manage.py reseal_passwords`: seal the passwords of all data sources with the newest key."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.metadata import services


class Command(BaseCommand):
    help = "Seals the passwords of data sources anew, so that older keys can go."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"sealed anew: {services.reseal_passwords()}")
