"""Standard Webhooks: HMAC-SHA256 of id, time and body, one signature for each secret in use."""

import base64
import hashlib
import hmac
import secrets as randomness
from collections.abc import Iterable

PREFIX = "whsec_"


def new_secret() -> str:
    return PREFIX + base64.b64encode(randomness.token_bytes(32)).decode()


def signatures(secrets: Iterable[str], key: str, stamp: str, body: bytes) -> str:
    """Several while a secret is being replaced: the reader takes the one it knows."""
    signed = f"{key}.{stamp}.".encode() + body
    return " ".join(f"v1,{_signature(secret, signed)}" for secret in secrets)


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
