"""Who acts, for which tenant, in which trace: carried beside the code, never leaked by it."""

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType

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
    with _being(replace(_current.get(), **changes), {}) as context:  # type: ignore[arg-type]
        yield context


@contextlib.contextmanager
def fresh(
    log_fields: Mapping[str, str] = MappingProxyType({}), /, **circumstances: object
) -> Iterator[Context]:
    """Begin a request or a message: nothing of what came before is inherited."""
    with _being(Context(**circumstances), log_fields) as context:  # type: ignore[arg-type]
        yield context


@contextlib.contextmanager
def _being(context: Context, log_fields: Mapping[str, str]) -> Iterator[Context]:
    token = _current.set(context)
    # Not bound_contextvars(), which reads all variables twice: this happens for every message.
    bound = structlog.contextvars.bind_contextvars(**{**_log_fields(context), **log_fields})
    try:
        yield context
    finally:
        structlog.contextvars.reset_contextvars(**bound)
        _current.reset(token)


def _log_fields(context: Context) -> dict[str, str]:
    fields = {
        "tenant_id": str(context.tenant_id or ""),
        "actor": context.actor,
        "trace_id": context.trace_id,
        "request_id": context.request_id,
    }
    return {name: value for name, value in fields.items() if value}
