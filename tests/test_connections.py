"""Sessions of PostgreSQL: pooled for the web, owned by workers."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

POOLED = "from django.db import connection; print(bool(connection.pool))"


def pooled(setup):
    done = subprocess.run(
        [sys.executable, "-c", f"{setup}; {POOLED}"], cwd=ROOT, check=True, capture_output=True
    )
    return done.stdout.strip() == b"True"


def test_the_web_server_shares_its_connections():
    assert pooled("import axiom.asgi")


def test_a_worker_keeps_its_own():
    assert not pooled(
        "import os, django;"
        "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'axiom.settings'); django.setup()"
    )
