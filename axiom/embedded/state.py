"""What has to be remembered between two starts: ports, passwords, urls."""

import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Urls:
    database: str
    redis: str


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(path)


def remembered_secret(path: Path) -> str:
    """The secret kept in this file; a new one the first time."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text()


def write_urls(directory: Path, urls: Urls) -> None:
    write_private(directory / "embedded.json", json.dumps(asdict(urls)))


def read_urls(directory: Path) -> Urls | None:
    """Where the servers of this directory listen, or None when they were never started."""
    path = directory / "embedded.json"
    return Urls(**json.loads(path.read_text())) if path.exists() else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
