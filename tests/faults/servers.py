"""PostgreSQL and Valkey of the fault tests' own, to be killed, cut off, wiped and robbed."""

import contextlib
import itertools
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import redis
from psycopg import sql

from axiom.embedded import Postgres, Valkey
from axiom.embedded.state import is_free, write_private

TEMPLATE = "faults_template"
_names = itertools.count(1)


def steady_port(chance: random.Random) -> int:
    """A port below those that the system gives to clients: nobody takes it while it is free."""
    return next(port for _ in range(1000) if is_free(port := chance.randrange(15_000, 32_000)))


class Database(Postgres):
    """PostgreSQL with a template that every test copies."""

    def start(self) -> str:
        if not self.portfile.exists():
            write_private(self.portfile, str(steady_port(random.SystemRandom())))
        return super().start()

    def _write_settings(self) -> None:
        super()._write_settings()
        with (self.data / "axiom.conf").open("a") as conf:
            # Processes are killed here, never the machine: the system's memory is durable enough.
            conf.write("fsync = off\nfull_page_writes = off\nshared_buffers = '64MB'\n")
            # The verdict asks in which order effects were committed.
            conf.write("track_commit_timestamp = on\nlog_min_messages = fatal\n")
            # What was committed without waiting for it is lost when the server dies.
            conf.write("wal_writer_delay = '10s'\n")

    def copy_template(self) -> str:
        """A new database like the template; returns its name."""
        name = f"faults_{next(_names)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(name), sql.Identifier(TEMPLATE)
                )
            )
        return name

    def drop(self, name: str) -> None:
        with psycopg.connect(self.superuser_url(), autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def kill(self) -> None:
        """Every process of the server at once, as when the power goes."""
        process = self.process()
        assert process is not None
        family = [process, *process.children(recursive=True)]
        kill_all(family)

    def cut_connections(self, database: str) -> int:
        """End every connection to this database, whatever it is doing; returns how many."""
        with psycopg.connect(self.superuser_url(), autocommit=True) as connection:
            cursor = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [database],
            )
            return cursor.rowcount


class Bus(Valkey):
    """Valkey with its append-only file in reach."""

    def start(self) -> str:
        self.data.mkdir(parents=True, exist_ok=True)
        if not self.portfile.exists():
            write_private(self.portfile, str(steady_port(random.SystemRandom())))
        return super().start()

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        with redis.Redis.from_url(self.url(), socket_timeout=20) as client:
            yield client

    def kill(self) -> None:
        process = self.process()
        assert process is not None
        kill_all([process])

    def wipe(self) -> None:
        """Kill it and lose everything it had written."""
        self.kill()
        port = self.portfile.read_text()
        shutil.rmtree(self.data)
        write_private(self.portfile, port)

    def lose_the_end(self, size: int) -> int:
        """Kill it and take so many bytes from the end of what it had written."""
        self.kill()
        written = max(self.data.glob("appendonlydir/*.incr.aof"))
        length = max(0, written.stat().st_size - size)
        with written.open("r+b") as file:
            file.truncate(length)
        return size

    def flush(self) -> None:
        with self.client() as client:
            client.flushall()

    def cut_connections(self) -> int:
        with self.client() as client:
            return int(client.client_kill_filter(_type="normal", skipme=True))


def kill_all(processes: list[psutil.Process]) -> None:
    # The postmaster first: it would mend what happens to its children.
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, timeout=20)


def new_servers(directory: Path) -> tuple[Database, Bus]:
    return Database(directory), Bus(directory)
