"""Reads the environment; a wrong value ends the start with one sentence that names the fix."""

from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from axiom.embedded import read_urls
from axiom.embedded.state import remembered_secret


def directory(env: environ.Env, default: Path) -> Path:
    """Where embedded servers, logs and secrets of this installation live."""
    path = Path(env.str("AXIOM_DIR", default=str(default))).expanduser().resolve()
    if path.exists() and not path.is_dir():
        raise ImproperlyConfigured(f"AXIOM_DIR={path} is a file: name a directory instead.")
    return path


def boolean(env: environ.Env, name: str, default: bool) -> bool:
    value = env.str(name, default=str(default)).lower()
    if value not in {"true", "false", "1", "0", "yes", "no", "on", "off"}:
        raise ImproperlyConfigured(f"{name}={value} is neither true nor false: set it to 1 or 0.")
    return value in {"true", "1", "yes", "on"}


def server_urls(env: environ.Env, axiom_dir: Path) -> tuple[str, str]:
    """DATABASE_URL and REDIS_URL, from the environment or from the embedded servers."""
    embedded = read_urls(axiom_dir)
    database = env.str("DATABASE_URL", default=embedded.database if embedded else "")
    redis = env.str("REDIS_URL", default=embedded.redis if embedded else "")
    check_url("DATABASE_URL", database, {"postgres", "postgresql"}, "postgres://user:pw@host/name")
    check_url("REDIS_URL", redis, {"redis", "rediss", "unix"}, "redis://host:6379/0")
    return database, redis


def check_url(name: str, value: str, schemes: set[str], example: str) -> None:
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set and no embedded server was started: "
            f"run `python manage.py embedded start` or set {name}={example}."
        )
    if urlsplit(value).scheme not in schemes:
        raise ImproperlyConfigured(f"{name} does not look right: it should read like {example}.")


def secret_key(env: environ.Env, axiom_dir: Path, production: bool) -> str:
    """A key of your own in production; elsewhere one is made and kept."""
    key = env.str("SECRET_KEY", default="")
    if not key and production:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set: give it 50 or more random characters in production."
        )
    return key or remembered_secret(axiom_dir / "secret.key")
