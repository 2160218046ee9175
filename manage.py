#!/usr/bin/env python
"""The way in: `python manage.py help`."""

import os
import sys


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
    from axiom.startup import in_one_sentence

    with in_one_sentence():
        return _dispatch(sys.argv)
    return 2


def _dispatch(argv: list[str]) -> int:
    from axiom import startup

    # These two come before the settings: they start the servers that the settings point to.
    match argv[1:]:
        case ["embedded", *arguments]:
            from axiom.embedded import command

            return command.main(arguments, startup.directory())
        case ["run", *arguments]:
            from axiom import run

            return run.main(arguments)
    from django.core.management import execute_from_command_line

    execute_from_command_line(argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
