"""Where a request comes from, as far as our own proxies vouch for it."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_ip(request: HttpRequest) -> str:
    """The client's address. X-Forwarded-For counts only as far as TRUSTED_PROXIES reach."""
    given = request.META.get("HTTP_X_FORWARDED_FOR", "")
    hops = [hop.strip() for hop in given.split(",") if hop.strip()]
    hops.append(request.META.get("REMOTE_ADDR") or "")
    # Each proxy of ours appends the address it saw: count that many back from the end.
    address = hops[-min(settings.TRUSTED_PROXIES + 1, len(hops))]
    return address if _is_address(address) else "0.0.0.0"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
