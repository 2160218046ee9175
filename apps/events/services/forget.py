"""Letting go of dead letters that were settled long ago, with what was done about them."""

from datetime import datetime

from django.db import connection, transaction

_CHUNK = 10_000

# Says to the trigger on the acts that this is housekeeping, until the end of the transaction.
_BEGIN = "SELECT set_config('axiom.forgetting', 'settled letters', true)"
_END = "SELECT set_config('axiom.forgetting', '', true)"
# Somebody may have tried a letter that was settled: that is younger history, and keeps all of it.
_LETTERS = """
WITH old AS MATERIALIZED (
    SELECT id FROM event_dead_letter letter
    WHERE status <> 'open' AND updated_at < %(before)s
      AND NOT EXISTS (SELECT FROM event_dead_letter_act act
                      WHERE act.letter_id = letter.id AND act.at >= %(before)s)
    ORDER BY updated_at LIMIT %(chunk)s FOR UPDATE SKIP LOCKED
), acts AS (
    DELETE FROM event_dead_letter_act WHERE letter_id IN (SELECT id FROM old)
)
DELETE FROM event_dead_letter WHERE id IN (SELECT id FROM old)
"""
_REDRIVES = """
DELETE FROM event_redrive redrive
WHERE status <> 'running' AND finished_at < %(before)s
  AND NOT EXISTS (SELECT FROM event_dead_letter_act act WHERE act.redrive_id = redrive.id)
"""


@transaction.atomic
def forget_settled(before: datetime) -> int:
    """Delete letters settled before then, their acts and redrives without any left; how many letters.

    Never an open letter, and never a letter with something younger in its history.
    """
    gone = 0
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN)
        while True:
            cursor.execute(_LETTERS, {"before": before, "chunk": _CHUNK})
            gone += int(cursor.rowcount)
            if cursor.rowcount < _CHUNK:
                break
        cursor.execute(_REDRIVES, {"before": before})
        cursor.execute(_END)
    return gone
