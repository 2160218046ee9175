"""Giving a dead letter up for good."""

from django.db import transaction

from ..errors import ReasonMissing
from ..models import DeadLetter, DeadLetterAct, InboxEntry
from .settle import change_outcome, hold, remember, settle


@transaction.atomic
def discard(letter: DeadLetter, *, by: str, reason: str) -> DeadLetter:
    """Close a letter without handling its event. Nothing is deleted, and the reason stays."""
    if not reason.strip():
        raise ReasonMissing
    letter = hold(letter)
    change_outcome(letter, InboxEntry.Outcome.DISCARDED)
    settle(letter, DeadLetter.Status.DISCARDED)
    remember([letter], DeadLetterAct.Kind.DISCARDED, by=by, reason=reason.strip())
    return letter
