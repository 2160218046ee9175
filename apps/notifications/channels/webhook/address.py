"""Where a webhook may go: to the internet, never into the house.

A name is looked up once and the address that was looked at is the one connected to: a name that
answers differently a moment later (DNS rebinding) changes nothing.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from axiom.errors import AxiomError

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
# Addresses that stand for another one: what they stand for counts.
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class AddressRefused(AxiomError):
    """A webhook goes to http(s) addresses on the internet only."""

    code, status = "address_refused", 400


@dataclass(frozen=True, slots=True)
class Place:
    """A URL, and the address that its name had when it was checked."""

    scheme: str
    host: str
    ip: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return name if self.port == usual else f"{name}:{self.port}"


def checked(url: str) -> Place:
    """The place of this URL; refused when any address of its name is not for us to ask."""
    parts = plausible(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    addresses = _looked_up(host, port)
    if not addresses or not all(is_outside(ipaddress.ip_address(each)) for each in addresses):
        raise AddressRefused("This name leads into a private network.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(parts.scheme, host, addresses[0], port, path)


def plausible(url: str) -> SplitResult:
    """The URL in its parts, as far as it can be judged without asking anybody."""
    try:
        parts = urlsplit(url)
        well_formed = parts.hostname and parts.port != 0
    except ValueError:
        raise AddressRefused("This is not a URL.") from None
    if parts.scheme not in ("http", "https") or not well_formed:
        raise AddressRefused
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("A name and a password do not belong into a URL.")
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise AddressRefused("A URL has visible ASCII characters only.")
    return parts


def _looked_up(host: str, port: int) -> list[str]:
    """All addresses of a name; the system reads 0x7f.1 and 2130706433 as it would connect."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def is_outside(ip: Ip) -> bool:
    if settings.NOTIFICATION_LOOPBACK and ip.is_loopback:
        return True
    if isinstance(ip, ipaddress.IPv6Address) and (inner := _stands_for(ip)):
        return is_outside(inner)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _stands_for(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if ip.ipv4_mapped or ip.sixtofour:
        return ip.ipv4_mapped or ip.sixtofour
    if ip.teredo:
        return ip.teredo[1]
    embeds = any(ip in network for network in _NAT64) or (ip in _COMPATIBLE and int(ip) > 1)
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if embeds else None
