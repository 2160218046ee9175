"""A handler that hangs is ended: first asked, then the process is."""

import contextlib
import contextvars
import ctypes
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import connection

log = structlog.get_logger(__name__)

GRACE_SECONDS = 5.0
_TICK_SECONDS = 0.05


class HandlerTimeout(Exception):
    """The handler took longer than it may."""


@dataclass
class _Watch:
    thread: int
    until: float
    postgres: Any
    to_the_death: bool
    context: contextvars.Context
    fired: bool = False


_lock = threading.Lock()
_watches: dict[int, _Watch] = {}
_watchdog: threading.Thread | None = None


@contextlib.contextmanager
def limit(seconds: float, *, to_the_death: bool = True) -> Iterator[None]:
    """Raise HandlerTimeout inside the block when it takes longer than this.

    A block that cannot be interrupted ends the process, unless it is one that serves people too.
    """
    watch = _Watch(
        threading.get_ident(), time.monotonic() + seconds, connection.connection, to_the_death,
        contextvars.copy_context(),
    )  # fmt: skip
    _begin(watch)
    try:
        yield
    finally:
        _end(watch)


def _begin(watch: _Watch) -> None:
    global _watchdog
    with _lock:
        _watches[watch.thread] = watch
        if _watchdog is None or not _watchdog.is_alive():
            _watchdog = threading.Thread(target=_keep_watch, daemon=True, name="watchdog")
            _watchdog.start()


def _end(watch: _Watch) -> None:
    with _lock:
        _watches.pop(watch.thread, None)
        if watch.fired:
            # It may still be on its way to us: take it back and raise it here instead.
            _raise_in(watch.thread, None)
    if watch.fired:
        raise HandlerTimeout


def _keep_watch() -> None:
    while True:
        time.sleep(_TICK_SECONDS)
        now = time.monotonic()
        with _lock:
            late = [watch for watch in _watches.values() if now > watch.until]
            for watch in late:
                _interrupt(watch, now)


def _interrupt(watch: _Watch, now: float) -> None:
    if not watch.fired:
        watch.fired = True
        _raise_in(watch.thread, HandlerTimeout)
        _cancel_query(watch)
    elif watch.to_the_death and now > watch.until + GRACE_SECONDS:
        # It sits in a call that Python cannot interrupt. Nothing was committed and nothing was
        # acknowledged, so another worker takes over what this process holds.
        fields = watch.context.run(structlog.contextvars.get_contextvars)
        log.critical("handler cannot be interrupted, process ends", **fields)
        os._exit(70)


def _cancel_query(watch: _Watch) -> None:
    with contextlib.suppress(Exception):
        watch.postgres.cancel_safe(timeout=2)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    exception = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
