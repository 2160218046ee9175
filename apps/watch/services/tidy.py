"""Matches as the database can hold them: nothing that a rule let through may stop an alert."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from ..matches import Match

LONGEST_NAME = 200


def tidied(matches: Iterable[Match], now: datetime) -> list[Match]:
    """These matches with storable texts, names of a bearable length, and none in the future."""
    tidy = [_named(_dated(match, now)) for match in matches]
    return tidy if _storable(tidy) else [_mended(match) for match in tidy]


def _dated(match: Match, now: datetime) -> Match:
    """What a clock that is ahead calls the future is now."""
    return match if match.occurred_at <= now else replace(match, occurred_at=now)


def _named(match: Match) -> Match:
    name = match.aggregate_id
    if len(name) <= LONGEST_NAME:
        return match
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()
    return replace(match, aggregate_id=f"{name[:100]}…{digest[:32]}")


def _storable(matches: list[Match]) -> bool:
    """JSON can hold a null character and half a surrogate pair; PostgreSQL cannot."""
    told = [(m.message, m.aggregate_id, m.facts) for m in matches]
    try:
        text = orjson.dumps(told, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return False
    return rb"\u0000" not in text


def _mended(match: Match) -> Match:
    return replace(
        match,
        message=_whole(match.message),
        aggregate_id=_whole(match.aggregate_id),
        facts=_whole(match.facts),
    )


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        text = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value
