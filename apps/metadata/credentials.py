"""Passwords of data sources, sealed: whoever reads the database alone cannot use them.

The keys come from SECRET_KEY and, so that it can be changed, SECRET_KEY_FALLBACKS. What is sealed
anew is sealed with the newest.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from apps.metadata.errors import SecretUnreadable

_PURPOSE = b"axiom metadata credentials"


def seal(text: str) -> str:
    """The text so that only this installation can read it; an empty one stays empty."""
    return _fernet().encrypt(text.encode()).decode() if text else ""


def unseal(sealed: str) -> str:
    """What was sealed."""
    if not sealed:
        return ""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def resealed(sealed: str) -> str:
    """The same sealed with the newest key."""
    return _fernet().rotate(sealed.encode()).decode() if sealed else ""


def _fernet() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(key)) for key in keys])


def _derived(key: str) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return base64.urlsafe_b64encode(derivation.derive(key.encode()))
