"""Sends what is due by a channel in a process of its own, which may be told where to die."""

import os
import sys
from datetime import datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
django.setup()

from apps.events import failpoints
from apps.notifications.services import deliver_due

if __name__ == "__main__":
    failpoints.arm_from_environment()
    now = datetime.fromisoformat(sys.argv[2])
    deliver_due(sys.argv[1], clock=lambda: now)
