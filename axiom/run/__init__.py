"""`python manage.py run`: everything Axiom needs, in one terminal."""

import argparse
import sys
from collections.abc import Sequence

from axiom import startup

from . import records
from .steps import say
from .supervisor import StartFailed, Supervisor
from .wanted import read_environment


def main(arguments: Sequence[str]) -> int:
    """Run until somebody asks to stop, and return the exit code."""
    argparse.ArgumentParser(
        prog="manage.py run", description="Start everything; Ctrl-C stops it."
    ).parse_args(arguments)
    wanted = read_environment()
    with records.only_one(wanted.directory, wanted.address):
        if orphans := records.end_orphans(wanted.directory):
            say(f"Ended what an earlier run left behind: {', '.join(orphans)}.")
        startup.check_port_is_free(wanted.port)
        try:
            Supervisor(wanted).run()
        except StartFailed as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0
