"""Passwords of data sources, sealed: whoever reads the database alone cannot use them."""

from apps.metadata.errors import SecretUnreadable
from axiom import sealing


def seal(text: str) -> str:
    """The text so that only this installation can read it; an empty one stays empty."""
    return sealing.seal(text) if text else ""


def unseal(sealed: str) -> str:
    """What was sealed."""
    try:
        return sealing.unseal(sealed) if sealed else ""
    except sealing.Unsealable:
        raise SecretUnreadable from None


def resealed(sealed: str) -> str:
    """The same sealed with the newest key."""
    return seal(unseal(sealed))
