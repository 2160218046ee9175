"""Text that the database keeps but cannot read: sealed with a key made of SECRET_KEY.

A key that is being replaced goes to SECRET_KEY_FALLBACKS; what it sealed stays readable, and is
sealed anew when it is next saved.
"""

import base64
import functools
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models

from axiom.errors import AxiomError

_PURPOSE = b"axiom.sealing"


class Unsealable(AxiomError):
    """This was sealed with another SECRET_KEY: put that into SECRET_KEY_FALLBACKS, or enter the
    secret anew."""

    code, status = "unsealable", 409


def seal(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    try:
        return _keys().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unsealable from None


def _keys() -> MultiFernet:
    return _made_of((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@functools.lru_cache(maxsize=4)
def _made_of(secrets: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_key(each)) for each in secrets])


def _key(secret: str) -> bytes:
    derived = HKDF(hashes.SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret.encode())
    return base64.urlsafe_b64encode(derived)


class SealedField(models.TextField):
    """A text that is plain in Python and sealed in the database. It cannot be searched for."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return unseal(value) if value else value

    def get_prep_value(self, value: Any) -> Any:
        return seal(str(value)) if value else value
