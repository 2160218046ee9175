"""One scan in a process of its own, which may be told where to die."""

import os
import sys
from datetime import datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
django.setup()

from apps.events import failpoints
from apps.watch import services

if __name__ == "__main__":
    scan, moment = sys.argv[1:]
    failpoints.arm_from_environment()
    getattr(services, scan)(now=datetime.fromisoformat(moment))
