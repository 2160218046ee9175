"""Tickets: what an EventSource shows instead of a token, which must not stand in a URL."""

import hashlib
import secrets
from typing import Any

import redis

from apps.events import keys
from apps.events.connections import redis_client
from axiom.errors import AxiomError

TICKET_SECONDS = 30


class NoTicketNow(AxiomError):
    """Tickets cannot be issued at the moment; try again shortly."""

    code, status = "no_ticket_now", 503


def issue_ticket(*, login_id: Any) -> str:
    """A ticket that opens one stream of this login within the next seconds."""
    ticket = secrets.token_urlsafe(32)
    try:
        redis_client("nudge").set(_key(ticket), str(login_id), ex=TICKET_SECONDS)
    except redis.RedisError:
        raise NoTicketNow from None
    return ticket


def redeem_ticket(ticket: str) -> str | None:
    """The login a ticket was issued for. It is worthless afterwards."""
    try:
        found = redis_client("nudge").getdel(_key(ticket))
    except redis.RedisError:
        raise NoTicketNow from None
    return found.decode() if found else None


def _key(ticket: str) -> str:
    """Only the digest is stored: whoever reads Redis must not come in."""
    return keys.live_ticket(hashlib.sha256(ticket.encode()).hexdigest())
