"""Axiom beside the queues that people would otherwise take, on the same servers.

Each enqueues in transactions of a hundred, has one worker and an empty handler, and runs with
the settings that its documentation recommends for speed.
"""

import time
from collections.abc import Iterator

from . import servers
from .figure import Figure, Size, faster
from .peers.axiom import Axiom
from .peers.celery import Celery
from .peers.peer import Peer
from .peers.pgqueuer import PgQueuer
from .peers.procrastinate import Procrastinate
from .processes import wait_until
from .stage import stage

EVENTS = 5_000
IN_ONE_TRANSACTION = 100
PEERS: tuple[Peer, ...] = (Procrastinate(), PgQueuer(), Celery())


def peers(size: Size) -> Iterator[Figure]:
    """Events carried per second end to end: Axiom against each peer in turn."""
    for peer in PEERS:
        rounds = [
            (_carried(Axiom(), size.of(EVENTS, 100)), _carried(peer, size.of(EVENTS, 100)))
            for _ in range(size.rounds(3))
        ]
        yield faster("peers", rounds, against=peer.told, least=1.0)


def _carried(peer: Peer, count: int) -> float:
    """Events per second from the first transaction to the end of the last handler."""
    with stage("here", 0) as place, peer.at_work(place):
        peer.enqueue(place, IN_ONE_TRANSACTION)
        wait_until(lambda: peer.done(place))
        servers.checkpoint()
        begin = time.monotonic()
        for _ in range(count // IN_ONE_TRANSACTION):
            peer.enqueue(place, IN_ONE_TRANSACTION)
        wait_until(lambda: peer.done(place), pause=0.01)
        return count / (time.monotonic() - begin)
