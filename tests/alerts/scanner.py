"""One scan in a process of its own, which may be told where to die."""

import os
import sys
from datetime import datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
django.setup()

from apps.events import failpoints
from apps.watch.services import escalate_due

if __name__ == "__main__":
    failpoints.arm_from_environment()
    escalate_due(now=datetime.fromisoformat(sys.argv[1]))
