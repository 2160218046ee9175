"""What every act on a dead letter has in common: the letter is held, changed and remembered."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from ..errors import LetterNotOpen
from ..models import DeadLetter, DeadLetterAct, InboxEntry, Redrive

_CHANGE_OUTCOME = """
UPDATE event_inbox SET outcome = %s, processed_at = now()
WHERE event_id = %s AND "group" = %s AND outcome = 'dead'
"""


def hold(letter: DeadLetter) -> DeadLetter:
    """The letter as it is now, ours until the transaction ends; refused when it is settled."""
    held = DeadLetter.objects.select_for_update().get(pk=letter.pk)
    if not held.is_open:
        raise LetterNotOpen
    return held


def settle(letter: DeadLetter, status: DeadLetter.Status) -> None:
    letter.status = status
    letter.save(update_fields=["status", "replaced_by", "updated_at"])


def change_outcome(letter: DeadLetter, outcome: InboxEntry.Outcome) -> None:
    """The group stays done with the event, for another reason than before."""
    with connection.cursor() as cursor:
        cursor.execute(_CHANGE_OUTCOME, [outcome, letter.event_id, letter.group])


def remember(
    letters: Iterable[DeadLetter], kind: DeadLetterAct.Kind, *, by: str, reason: str = "",
    diff: str = "", redrive: Redrive | None = None, **facts: Any,
) -> Sequence[DeadLetterAct]:  # fmt: skip
    """Write down who did what to these letters, and why."""
    return DeadLetterAct.objects.bulk_create(
        DeadLetterAct(
            letter=letter, kind=kind, actor=by, reason=reason, diff=diff, redrive=redrive,
            facts=facts,
        )
        for letter in letters
    )  # fmt: skip
