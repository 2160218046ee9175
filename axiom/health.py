"""`/healthz` says the process lives; `/readyz` says it can work: database, Redis, migrations.

A middleware, and the first: probes come without a login, by plain HTTP and under any host name.
"""

from collections.abc import Callable
from functools import cache

import psycopg
import redis
import structlog
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse

from axiom import impatient

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 2


class HealthMiddleware:
    """Answers the two probes and passes everything else on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = {"/healthz": healthz, "/readyz": readyz}.get(request.path_info)
        return answer() if answer else self.get_response(request)


def healthz() -> HttpResponse:
    """Alive: nothing is touched, so nothing else's trouble restarts this process."""
    return JsonResponse({"status": "alive"})


def readyz() -> HttpResponse:
    """Ready, or 503 with the list of what is not."""
    failing = [
        {"check": name, "reason": reason}
        for name, look in CHECKS.items()
        if (reason := _reason(name, look))
    ]
    if failing:
        return JsonResponse({"status": "unavailable", "failing": failing}, status=503)
    return JsonResponse({"status": "ready"})


def _reason(name: str, look: Callable[[], str]) -> str:
    try:
        return look()
    except Exception:
        # Whoever asks for health wants an answer, not our trace.
        log.exception("health check failed", check=name)
        return "The check itself failed; the log says why."


def database() -> str:
    """Why the database cannot be used; empty when it can."""
    try:
        _ask_database("SELECT 1")
    except psycopg.Error as error:
        log.warning("database is not ready", error=str(error))
        return "PostgreSQL does not answer."
    return ""


def redis_server() -> str:
    try:
        with impatient.redis_client(settings.REDIS_URL, PATIENCE_SECONDS) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        log.warning("redis is not ready", error=str(error))
        return "Redis does not answer."
    return ""


def migrations() -> str:
    try:
        missing = pending_migrations()
    except psycopg.Error:
        return "Nobody knows while PostgreSQL does not answer, or it was never migrated."
    return f"{len(missing)} are not applied: run `manage.py migrate`." if missing else ""


CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "redis": redis_server,
    "migrations": migrations,
}


def pending_migrations() -> list[str]:
    """Migrations in the code that the database does not have."""
    rows = _ask_database("SELECT app, name FROM django_migrations")
    return sorted(_migrations_in_the_code() - {f"{app}.{name}" for app, name in rows})


@cache
def _migrations_in_the_code() -> set[str]:
    """Read once: code does not change while it runs. A squashed one stands for what it replaces."""
    loader = MigrationLoader(None)
    replaced = {key for migration in loader.disk_migrations.values() for key in migration.replaces}
    return {f"{app}.{name}" for app, name in loader.disk_migrations.keys() - replaced}


def _ask_database(query: str) -> list[tuple[str, ...]]:
    """Ask by a connection of its own: a probe must not wait in line behind the work."""
    how = {
        **connection.get_connection_params(),
        "connect_timeout": PATIENCE_SECONDS,
        "options": f"-c statement_timeout={PATIENCE_SECONDS * 1000}",
    }
    with psycopg.connect(**how) as own:
        return own.execute(query.encode()).fetchall()
