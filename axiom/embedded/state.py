"""What has to be remembered between two starts: ports, passwords, who started what."""

import contextlib
import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Urls:
    """Where the two servers listen; empty where one was never started."""

    database: str
    redis: str


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    _draft(path, text).replace(path)


def remembered_secret(path: Path) -> str:
    """The secret kept in this file; a new one the first time."""
    if not path.exists():
        draft = _draft(path, secrets.token_urlsafe(32))
        # A link does not replace: of two processes that come first, both keep the same secret.
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()


def _draft(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text)
    return draft


def remembered_number(path: Path) -> int | None:
    """The port or process number kept in this file, if there is one."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def usable_port(path: Path) -> int:
    """The port of the last start, so that URLs stay true; another one if somebody took it."""
    port = remembered_number(path)
    if port is None or not is_free(port):
        port = free_port()
        write_private(path, str(port))
    return port


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # As servers do: a connection that just closed does not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise
        except OSError:
            return False
        return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def one_at_a_time(directory: Path) -> Iterator[None]:
    """Two starts in the same directory take turns; the second finds the servers running."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "servers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
