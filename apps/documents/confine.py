"""Files from outside are opened in a child process that may take little and reach little.

Parsers of PDF, images and archives are where hostile files do their harm: endless loops, memory
without bound, crashes. So that work is done by `python -m apps.documents.confined`, which knows
neither settings nor database, limits its own memory and processor time before it opens anything,
and is ended by the clock. It is told what to do as JSON, and answers as JSON.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from django.conf import settings

from apps.documents import errors
from axiom.errors import AxiomError

_REFUSALS = {
    "ambiguous": errors.AmbiguousDocument,
    "broken": errors.BrokenDocument,
    "bomb": errors.DecompressionBomb,
    "encrypted": errors.EncryptedDocument,
    "macros": errors.MacrosInDocument,
    "pages": errors.TooManyPages,
    "template": errors.TemplateFails,
}
_CRASHES: dict[str, type[AxiomError]] = {
    "make": errors.TemplateFails,
    "variables": errors.TemplateFails,
}
_TICK_SECONDS = 0.2


class Interrupted(Exception):
    """We were told to stop before the child was done."""


def run(
    verb: str, *, seconds: float, stop: threading.Event | None = None, **order: Any
) -> dict[str, Any]:
    """What the child found; its refusals are raised as errors people can act on."""
    limits = {"seconds": seconds, "memory_mb": settings.DOCUMENTS_CHILD_MEMORY_MB}
    output = _converse(json.dumps({"verb": verb, "limits": limits, **order}), seconds, stop)
    try:
        answer = json.loads(output)
    except ValueError:
        # It crashed, or its limits ended it.
        raise _CRASHES.get(verb, errors.BrokenDocument) from None
    if refusal := answer.get("refused"):
        raise error_of(refusal, answer.get("detail", ""))
    return dict(answer)


def error_of(reason: str, detail: str = "") -> AxiomError:
    """What people are told for a reason of the child's."""
    return _REFUSALS[reason](detail)


def _converse(order: str, seconds: float, stop: threading.Event | None) -> bytes:
    with _child() as child:
        until = time.monotonic() + seconds
        sent: bytes | None = order.encode()
        while True:
            if stop is not None and stop.is_set():
                raise Interrupted
            try:
                return child.communicate(sent, timeout=_TICK_SECONDS)[0]
            except subprocess.TimeoutExpired:
                sent = None
            if time.monotonic() > until:
                raise errors.TakesTooLong


@contextlib.contextmanager
def _child() -> Any:
    child = subprocess.Popen(
        [sys.executable, "-m", "apps.documents.confined"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        cwd=settings.BASE_DIR, env=_environment(), start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        # It has a session of its own: whatever it started ends with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def _environment() -> dict[str, str]:
    """Nothing of ours: our environment holds passwords."""
    kept = {name: os.environ[name] for name in ("PATH", "TESSDATA_PREFIX") if name in os.environ}
    # One thread each: pages are what runs side by side.
    return {**kept, "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
