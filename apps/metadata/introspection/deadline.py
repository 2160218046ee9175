"""A limit that holds even when the network falls silent in the middle of an answer."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

import psycopg


@contextlib.contextmanager
def deadline(connection: "psycopg.Connection[object]", seconds: float) -> Iterator[threading.Event]:
    """Hang up when the time is over; the event says whether that was the reason.

    The server's own statement_timeout does not help when its answer never arrives.
    """
    passed = threading.Event()
    # A copy: the connection may be closed, and its number be another's, when the time comes.
    line = socket.socket(fileno=os.dup(connection.fileno()))
    timer = threading.Timer(seconds, _hang_up, (line, passed))
    timer.daemon = True
    timer.start()
    try:
        yield passed
    finally:
        timer.cancel()
        line.close()


def _hang_up(line: socket.socket, passed: threading.Event) -> None:
    passed.set()
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
