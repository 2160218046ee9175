"""One POST to an address that was checked: no redirects, no proxies, bounded in time and size."""

import http.client
import socket
import ssl
import threading
from dataclasses import dataclass

from .address import Place

LARGEST_ANSWER = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: str
    retry_after: str | None


def post(place: Place, body: bytes, headers: dict[str, str], *, seconds: float) -> Answer:
    """What the peer answers; OSError when it cannot be reached, is too slow or talks nonsense."""
    link = _Link(place, seconds)
    # A peer that sends a byte now and then never runs into the timeout of a socket.
    alarm = threading.Timer(seconds, link.cut)
    alarm.start()
    try:
        link.connect()
        link.request("POST", place.path, body, {"Host": place.host_header, **headers})
        answer = link.getresponse()
        text = answer.read(LARGEST_ANSWER).decode(errors="replace")
        if link.is_cut:
            raise TimeoutError("It took too long to answer.")
        return Answer(answer.status, text, answer.getheader("Retry-After"))
    except (http.client.HTTPException, ValueError, OSError) as error:
        raise _told(error, link) from error
    finally:
        alarm.cancel()
        link.close()


def _told(error: Exception, link: "_Link") -> OSError:
    if link.is_cut:
        return TimeoutError("It took too long to answer.")
    return error if isinstance(error, OSError) else OSError(f"{type(error).__name__}: {error}")


class _Link(http.client.HTTPConnection):
    """A connection to the address that was checked, under the name that was asked for."""

    def __init__(self, place: Place, seconds: float) -> None:
        super().__init__(place.host, place.port, timeout=seconds)
        self.place, self.is_cut = place, False

    def connect(self) -> None:
        family = socket.AF_INET6 if ":" in self.place.ip else socket.AF_INET
        # Not create_connection, which would look the address up once more.
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect((self.place.ip, self.place.port))
        if self.place.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.place.host)

    def cut(self) -> None:
        self.is_cut = True
        if self.sock is not None:
            # shutdown, not close: whoever reads wakes up.
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
