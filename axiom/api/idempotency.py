"""A POST that is sent twice acts once: `Idempotency-Key`.

The answer is stored in the transaction of the effect: either both are there or neither, so a
crash between them cannot make a repeat act again. Only success is stored. An error had no effect
(its transaction is rolled back), so repeating it is safe and may succeed.
"""

import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.events.context import current
from axiom.api.renderers import QuickJSONRenderer
from axiom.errors import AxiomError
from axiom.models import KEPT_FOR, StoredAnswer

_ACCEPTABLE_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_HEADERS_THAT_MATTER = ("Location", "ETag")


class InvalidKey(AxiomError):
    """An Idempotency-Key has 1 to 255 visible ASCII characters."""

    code, status = "invalid_idempotency_key", 400


class KeyUsedForAnotherBody(AxiomError):
    """This Idempotency-Key was used with another body: take a new key for a new request."""

    code, status = "idempotency_key_reused", 422


class StillInProgress(AxiomError):
    """The first request with this Idempotency-Key is still being answered."""

    code, status = "request_in_progress", 409


class Idempotent(APIView):
    """A view whose POST answers a repeated Idempotency-Key with the first answer."""

    idempotent = True

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        key, method = request.headers.get("Idempotency-Key"), (request.method or "").lower()
        known = request.user and request.user.is_authenticated
        if key is not None and method == "post" and self.idempotent and known:
            # REST framework looks the handler up after this.
            setattr(self, method, partial(answer_once, _checked(key), getattr(self, method)))


@transaction.atomic
def answer_once(
    key: str, handler: Callable[..., HttpResponseBase], request: Request, *args: Any, **kwargs: Any
) -> HttpResponseBase:
    """The handler's answer, or the one it gave to the same request before."""
    scope, body_hash = _scope(request, key), _body_hash(request.data)
    _hold(scope)
    if known := _known(scope, body_hash):
        return _replay(known)
    response = handler(request, *args, **kwargs)
    if response.status_code >= 400:
        transaction.set_rollback(True)
    else:
        _store(scope, body_hash, key, request, response)
    return response


def purge_answers(*, now: datetime | None = None) -> int:
    """Forget answers that are older than a day; say how many."""
    count, _ = StoredAnswer.objects.filter(
        created_at__lt=(now or timezone.now()) - KEPT_FOR
    ).delete()
    return count


def _checked(key: str) -> str:
    if not _ACCEPTABLE_KEY.fullmatch(key):
        raise InvalidKey
    return key


def _scope(request: Request, key: str) -> str:
    parts = [str(current().tenant_id), str(request.user.pk), request.get_full_path(), key]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _hold(scope: str) -> None:
    """Until the transaction ends, others with this key are told to come back, not left waiting."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_lock_number(scope)])
        if not cursor.fetchone()[0]:
            raise StillInProgress(retry_after=1)


def _lock_number(scope: str) -> int:
    return int.from_bytes(bytes.fromhex(scope[:16]), signed=True)


def _known(scope: str, body_hash: str) -> StoredAnswer | None:
    fresh = timezone.now() - KEPT_FOR
    known = StoredAnswer.objects.filter(scope=scope, created_at__gte=fresh).first()
    if known and known.body_hash != body_hash:
        raise KeyUsedForAnotherBody
    return known


def _store(
    scope: str, body_hash: str, key: str, request: Request, response: HttpResponseBase
) -> None:
    user: Any = request.user
    # update_or_create: a key may come back after its day is over and before the purge.
    StoredAnswer.objects.update_or_create(
        scope=scope,
        defaults={
            "tenant_id": current().tenant_id,
            "user": user,
            "path": request.get_full_path(),
            "key": key,
            "body_hash": body_hash,
            "status": response.status_code,
            "headers": {n: response[n] for n in _HEADERS_THAT_MATTER if response.has_header(n)},
            "body": _content(response),
            "created_at": timezone.now(),
        },
    )


def _content(response: HttpResponseBase) -> bytes:
    if isinstance(response, Response):
        return b"" if response.data is None else QuickJSONRenderer().render(response.data)
    return bytes(getattr(response, "content", b""))


def _replay(known: StoredAnswer) -> HttpResponse:
    return HttpResponse(
        bytes(known.body),
        status=known.status,
        content_type="application/json",
        headers={**known.headers, "Idempotency-Replayed": "true"},
    )


def _body_hash(data: Any) -> str:
    """The same for the same values, however they were spaced or ordered."""
    fields = dict(data.lists()) if hasattr(data, "lists") else data
    text = json.dumps(fields, sort_keys=True, default=_fingerprint)
    return hashlib.sha256(text.encode()).hexdigest()


def _fingerprint(value: Any) -> str:
    if not isinstance(value, UploadedFile):
        return str(value)
    digest = hashlib.sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return f"{value.name} {digest.hexdigest()}"
