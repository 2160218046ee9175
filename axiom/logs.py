"""One JSON object per log line, with the circumstances of the request or message in it."""

import logging
from typing import Any

import structlog

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
# These come with handlers of their own, which would write every line a second time.
_TAKEN_OVER = ("django", "django.server", "uvicorn", "uvicorn.error", "uvicorn.access", "daphne")
# Said better by our own line of each request, which has the ids and the time it took.
_QUIET = {
    "django.request": logging.ERROR,
    "django.server": logging.WARNING,
    "django.channels.server": logging.WARNING,
    "uvicorn.access": logging.WARNING,
    "daphne.http_protocol": logging.WARNING,
    "axes": logging.WARNING,
}


def configure(options: dict[str, str]) -> None:
    """Called by Django with settings.LOGGING: {"level": ..., "format": "json" or "text"}."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter(options["format"]))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(options["level"].upper())
    _silence_doubles()


def _silence_doubles() -> None:
    for name in _TAKEN_OVER:
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)


def formatter(style: str) -> logging.Formatter:
    """Readable on a terminal, or one JSON object per line."""
    readable = style == "text"
    last: list[Any] = (
        [structlog.dev.ConsoleRenderer()]
        if readable
        else [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
