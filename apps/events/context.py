"""Who acts, for which tenant, in which trace: carried beside the code, never leaked by it."""

import contextlib
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace

import structlog


@dataclass(frozen=True, slots=True)
class Context:
    """The circumstances of one request or one message."""

    tenant_id: uuid.UUID | None = None
    actor: str = "system"
    trace_id: str = ""
    request_id: str = ""
    source: str = ""
    """What began it: "POST /api/v1/cases/", a consumer group, a task."""
    causation_id: uuid.UUID | None = None
    rehearsing: bool = False
    """Whatever happens is rolled back: do nothing now that a rollback would not undo."""


_NOBODY = Context()
_current: ContextVar[Context] = ContextVar("axiom_context", default=_NOBODY)


def current() -> Context:
    return _current.get()


@contextlib.contextmanager
def acting(**changes: object) -> Iterator[Context]:
    """Act under changed circumstances until the block ends, then be who you were."""
    context = replace(_current.get(), **changes)  # type: ignore[arg-type]
    token = _current.set(context)
    try:
        with structlog.contextvars.bound_contextvars(**_log_fields(context)):
            yield context
    finally:
        _current.reset(token)


@contextlib.contextmanager
def fresh(**circumstances: object) -> Iterator[Context]:
    """Begin a request or a message: nothing of what came before is inherited."""
    token = _current.set(_NOBODY)
    try:
        with acting(**circumstances) as context:
            yield context
    finally:
        _current.reset(token)


def _log_fields(context: Context) -> dict[str, str]:
    fields = {
        "tenant_id": str(context.tenant_id or ""),
        "actor": context.actor,
        "trace_id": context.trace_id,
        "request_id": context.request_id,
    }
    return {name: value for name, value in fields.items() if value}
