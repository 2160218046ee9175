"""Guarantees, switched off one at a time: a harness that does not notice proves nothing."""

from dataclasses import replace
from typing import Any


def no_inbox() -> None:
    """Every delivery counts as the first."""
    from apps.events.delivery import Delivery

    def all_are_new(self: Delivery, messages: Any) -> set[object]:
        return {message.event_id for message in messages}

    Delivery._enter_inbox = all_are_new  # type: ignore[method-assign]


def no_resend() -> None:
    """What the bus lost stays lost."""
    from apps.events import healing

    healing._resend_what_was_lost = lambda *args: 0  # type: ignore[assignment]


def no_fence() -> None:
    """A relay settles what another one has taken over meanwhile."""
    from apps.events import claims

    for name in ("_SETTLE", "_GIVE_BACK", "_FAIL"):
        unfenced = getattr(claims, name).replace("AND o.claim_token = %(token)s", "")
        assert unfenced != getattr(claims, name)
        setattr(claims, name, unfenced)


def no_order() -> None:
    """A claim takes whatever waits, and does not look what is in flight."""
    from apps.events import claims

    unordered = claims._CLAIM.replace("AND b.seq < c.seq", "AND false")
    assert unordered != claims._CLAIM
    claims._CLAIM = unordered  # type: ignore[misc]


def no_leader() -> None:
    """Every worker of an ordered group handles."""
    from apps.events.groups import GROUPS

    for name, group in GROUPS.items():
        GROUPS[name] = replace(group, ordered=False)


SWITCHES = {
    switch.__name__: switch for switch in (no_inbox, no_resend, no_fence, no_order, no_leader)
}
