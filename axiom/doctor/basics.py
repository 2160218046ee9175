"""What Axiom stands on: database, Redis, Celery, mail."""

import smtplib
from typing import Any

from django.conf import settings
from django.db import connection

from axiom import impatient
from axiom.celery import app as celery
from axiom.health import pending_migrations

from . import Finding, check, fail, ok, warn

PATIENCE_SECONDS = 3
OUTSIDE_PRODUCTION = {"console", "locmem", "dummy", "filebased"}


@check("database", fix="Start PostgreSQL (`make run` brings one) or correct DATABASE_URL.")
def database() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), current_setting('server_version')")
        name, version = cursor.fetchone()
    return ok(f"PostgreSQL {version}, database {name}")


@check(
    "database role",
    fix="ALTER ROLE <role> NOSUPERUSER NOBYPASSRLS, or connect as another role in DATABASE_URL.",
    needs="database",
)
def database_role() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        name, superuser, bypasses = cursor.fetchone()
    if superuser:
        return fail(f"{name} is a superuser: nothing the database forbids would hold")
    if bypasses:
        return fail(f"{name} bypasses row security")
    return ok(f"{name}, neither superuser nor above row security")


@check("migrations", fix="python manage.py migrate", needs="database")
def migrations() -> Finding:
    missing = pending_migrations()
    if missing:
        return fail(f"{len(missing)} not applied, first {missing[0]}")
    return ok("all applied")


@check("redis", fix="Start Redis or Valkey (`make run` brings one) or correct REDIS_URL.")
def redis_server() -> Finding:
    facts = _redis_facts("server")
    version = facts.get("valkey_version") or facts["redis_version"]
    return ok(f"{facts.get('server_name', 'redis')} {version}")


@check(
    "append-only file",
    fix="Set `appendonly yes` and `appendfsync everysec`: without it a crash forgets the streams.",
    needs="redis",
)
def append_only_file() -> Finding:
    facts = _redis_facts("persistence")
    if not facts["aof_enabled"]:
        return fail("off")
    if facts["aof_last_write_status"] != "ok":
        return fail(f"last write: {facts['aof_last_write_status']}")
    return ok("on")


@check(
    "eviction",
    fix="Set `maxmemory-policy noeviction`: full must be an error, not a loss.",
    needs="redis",
)
def eviction() -> Finding:
    policy = _redis_facts("memory")["maxmemory_policy"]
    return ok(policy) if policy == "noeviction" else fail(f"{policy} may drop streams")


@check(
    "celery worker",
    fix="Start it: `make run`, or `python -m axiom celery` in production.",
    needs="redis",
)
def celery_worker() -> Finding:
    # One answer is enough: without the limit everybody is waited for.
    answers = celery.control.ping(timeout=PATIENCE_SECONDS, limit=1)
    return ok(", ".join(answers[0])) if answers else fail("nobody answers")


@check("mail", fix="Set EMAIL_HOST and its companions, or EMAIL_BACKEND, to your mail service.")
def mail() -> Finding:
    backend = settings.EMAIL_BACKEND.split(".")[-2]
    if backend in OUTSIDE_PRODUCTION:
        return _bad_in_production(f"goes to {backend}, not to people")
    if backend != "smtp":
        return ok(f"by {settings.EMAIL_BACKEND}")
    where = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        with smtplib.SMTP(settings.EMAIL_HOST, settings.EMAIL_PORT, timeout=PATIENCE_SECONDS):
            return ok(f"SMTP at {where}")
    except OSError as error:
        return _bad_in_production(f"no SMTP server at {where} ({error})")


def _bad_in_production(seen: str) -> Finding:
    return fail(seen) if settings.PRODUCTION else warn(seen)


def _redis_facts(section: str) -> dict[str, Any]:
    with impatient.redis_client(settings.REDIS_URL, PATIENCE_SECONDS) as client:
        return dict(client.info(section))
