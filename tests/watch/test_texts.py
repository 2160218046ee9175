"""What a match says."""

from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.watch import texts


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2026-11-21T21:29:25.518468Z", "2026-11-22 06:29 KST"),
        ("2026-11-21T21:29:25+00:00", "2026-11-22 06:29 KST"),
        ("2026-11-21T21:29:25", "2026-11-21T21:29:25"),  # of no zone: nobody knows when that is
        ("2026-11-21", "2026-11-21"),
        ("2026-13-41T99:00:00Z", "2026-13-41T99:00:00Z"),
        ("the T in 10", "the T in 10"),
        (12_500_000.0, "12,500,000"),
        (0.25, "0.25"),
        (True, "True"),
        (None, "None"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
def test_values_are_told_as_people_read_them(value, told):
    with timezone.override(ZoneInfo("Asia/Seoul")):
        assert texts.shown(value) == told


def test_the_sentence_of_an_event_names_what_the_rule_saw():
    facts = {
        "rule": "deadline",
        "title": "Final account",
        "values": {"deadline": "2026-11-19T21:29:25Z"},
    }
    assert texts.message("DEADLINE_APPROACHING", facts, "en") == (
        "Deadline approaching: Final account (deadline 2026-11-19 21:29 UTC)"
    )
