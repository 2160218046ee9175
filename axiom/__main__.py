"""What a container runs: `python -m axiom web | worker [name ...] | celery | deliveries | beat |
migrate`.

`healthy`, `ready` and `beating` are for health checks: the web server here lives, it can work,
the workers here have a heartbeat. Anything else goes to manage.py.
"""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from apps.events import keys
from axiom import impatient, startup
from axiom.run.programs import DELIVERING, answers

PYTHON = sys.executable


def command(arguments: Sequence[str], env: startup.Environment) -> list[str]:
    """The program to become."""
    match list(arguments):
        case ["web"]:
            return _web(env)
        case ["worker", *names]:
            return _manage("runworker", *(names or ["all"]))
        case ["celery"]:
            return _celery("worker", "--concurrency", str(env.int("CELERY_PROCESSES", default=2)))
        case ["deliveries"]:
            return _celery("worker", *DELIVERING)
        case ["beat"]:
            return _celery("beat", "--schedule", str(startup.directory(env) / "beat-schedule"))
        case ["migrate"]:
            return _manage("migrate", "--no-input")
    return _manage(*arguments)


def _web(env: startup.Environment) -> list[str]:
    # uvicorn and not Daphne: it bounds what it keeps for a client that does not read.
    return [
        *(PYTHON, "-m", "uvicorn", "axiom.asgi:application", "--host", "0.0.0.0"),
        *("--port", str(startup.port(env))),
        *("--workers", str(env.int("WEB_PROCESSES", default=2))),
        # Our middleware logs requests and settings.TRUSTED_PROXIES says whom to believe.
        *("--no-access-log", "--no-proxy-headers", "--no-server-header"),
        *("--lifespan", "off", "--timeout-graceful-shutdown", "10"),
    ]


def _manage(*arguments: str) -> list[str]:
    return [PYTHON, str(startup.BASE_DIR / "manage.py"), *arguments]


def _celery(*arguments: str) -> list[str]:
    return [PYTHON, "-m", "celery", "--app", "axiom.celery", "--quiet", *arguments]


def _beats(env: startup.Environment) -> bool:
    """Whether a worker of this machine or container was heard of lately."""
    with impatient.redis_client(startup.given_redis_url(env), seconds=5) as client:
        heard = [name.decode() for name in client.zrange(keys.WORKERS_HEARD, 0, -1)]
        here = [keys.heartbeat(name) for name in heard if name.startswith(f"{platform.node()}-")]
        return bool(here and client.exists(*here))


CHECKS: dict[str, Callable[[startup.Environment], bool]] = {
    "healthy": lambda env: answers(startup.port(env), "/healthz"),
    "ready": lambda env: answers(startup.port(env), "/readyz"),
    "beating": _beats,
}


def main(arguments: Sequence[str]) -> None:
    """Become the program, once the settings are known to be right."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")
    with startup.in_one_sentence():
        env = startup.Environment()
        if len(arguments) == 1 and arguments[0] in CHECKS:
            sys.exit(0 if CHECKS[arguments[0]](env) else 1)
        program = command(arguments, env)
        from django.conf import settings

        Path(settings.AXIOM_DIR).mkdir(parents=True, exist_ok=True)
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
