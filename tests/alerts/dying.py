"""Scans that are killed on their way."""

import os
import subprocess
import sys
from pathlib import Path

from django.db import connection

ROOT = Path(__file__).resolve().parents[2]


def scan_and_die(scan, point, now):
    """Run a scan in a process that dies at this point, as by kill -9; its exit code."""
    place = connection.settings_dict
    url = f"postgres://{place['USER']}:{place['PASSWORD']}@{place['HOST']}:{place['PORT']}"
    environment = {"DATABASE_URL": f"{url}/{place['NAME']}", "AXIOM_FAILPOINTS": point}
    command = [sys.executable, "-m", "tests.alerts.scanner", scan, now.isoformat()]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment)
    return process.wait(timeout=120)
