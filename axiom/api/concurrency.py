"""Nobody overwrites what they have not seen: ETag, If-Match and If-None-Match (RFC 9110).

An ETag is strong: the hash of the resource's JSON. It changes when, and only when, what a reader
sees changes, whoever changed it and by whatever code, and needs no version column. If-Match asks
for a strong one: a weak one never matches there.
"""

import hashlib
from typing import Any

from django.http import HttpRequest

from axiom.api.renderers import QuickJSONRenderer
from axiom.errors import AxiomError


class PreconditionRequired(AxiomError):
    """Send If-Match with the ETag you last saw, so that nothing is overwritten unseen."""

    code, status = "precondition_required", 428


class ChangedMeanwhile(AxiomError):
    """This was changed since you last saw it: read it again, then repeat your change."""

    code, status = "changed_meanwhile", 412


def etag_of(representation: Any) -> str:
    """The strong ETag of what a reader sees."""
    return f'"{hashlib.sha256(QuickJSONRenderer().render(representation)).hexdigest()[:32]}"'


def must_match(request: HttpRequest, etag: str) -> None:
    """Refuse a change by someone who has not seen the current state."""
    given = request.headers.get("If-Match", "").strip()
    if not given:
        raise PreconditionRequired
    if given != "*" and etag not in _tags(given):
        raise ChangedMeanwhile


def is_known(request: HttpRequest, etag: str) -> bool:
    """Whether the reader has this state already."""
    given = request.headers.get("If-None-Match", "").strip()
    return given == "*" or etag in {tag.removeprefix("W/") for tag in _tags(given)}


def _tags(header: str) -> set[str]:
    return {tag.strip() for tag in header.split(",")}
