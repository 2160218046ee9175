"""Two hubs, as of two web servers, heard from inside: who goes, who stays, and when."""

import asyncio
import contextlib
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.services import (
    change_password,
    deactivate_user,
    end_login,
    remove_member,
)
from apps.events.context import acting
from apps.notifications.live import hub as live
from apps.notifications.live.connection import EventSourceConnection
from apps.notifications.live.handshake import Viewer, in_database, stamp_of
from apps.notifications.services import Notice, notify, set_muted
from apps.notifications.services.push import Frame, push
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


class Stream:
    """One open stream at a hub, and what came of it."""

    def __init__(self, hub, viewer, after=None) -> None:
        self._hub, self._viewer, self._after = hub, viewer, after
        self.text, self._left = "", asyncio.Event()
        self.task = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        hub = self._hub
        here = EventSourceConnection(self._viewer, hub.seats.next_id(), self._send, hub.until())
        self.connection = here
        with contextlib.suppress(asyncio.CancelledError):
            await hub.serve(here, self._receive, self._after)

    async def _send(self, message) -> None:
        self.text += message["body"].decode()
        if not message["more_body"]:
            self._left.set()

    async def _receive(self):
        await self._left.wait()
        return {"type": "http.disconnect"}

    def count(self, event) -> int:
        return self.text.count(f"event: {event}\n")

    @property
    def ended(self) -> str:
        """Why; empty while it is open."""
        return self.text.partition('event: bye\ndata: {"reason":"')[2].partition('"')[0]

    async def is_live(self) -> None:
        await soon(lambda: hasattr(self, "connection") and self.connection.early is None)


async def soon(check, seconds=20) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        await asyncio.sleep(0.01)


@pytest.fixture
def seldom(monkeypatch):
    """The regular look into the database is an hour away: what happens, happens because of a word."""
    monkeypatch.setattr(live, "LOOK_SECONDS", 3600.0)


@pytest.fixture
def scene(redis_client, settings):
    """Runs a scene with two hubs that listen."""
    settings.LIVE_TUNES_GARBAGE = False

    async def play(act) -> None:
        hubs = [live.Hub(), live.Hub()]
        for each in hubs:
            each.start()
        try:
            await soon(lambda: _hearing(redis_client) == 2)
            await act(*hubs)
        finally:
            await asyncio.gather(*(each.stop() for each in hubs))

    return lambda act: asyncio.run(play(act))


def _hearing(redis_client) -> int:
    ((_, count),) = redis_client.pubsub_numsub("axiom:logins:ended")
    return count


def viewer_of(api) -> Viewer:
    login = api.login_session
    member = (login.membership.tenant_id, login.user_id)
    return Viewer(member, login.pk, stamp_of(login.user.password))


def test_notifications_off_is_heard_at_once_by_all_web_servers(
    scene, seldom, acme, alice, alice_api
):
    counted = iter(range(100))

    def mute(muted):
        with acting(tenant_id=acme.pk):
            set_muted(user_id=alice.pk, muted=muted)

    def say():
        """Chat comes after it on the same way: when chat is here, it would be too."""
        with acting(tenant_id=acme.pk):
            notify([Notice([alice.pk], f"n{next(counted)}", "alert", "Look")])
        push(acme.pk, [Frame("chat", {}, {str(alice.pk): None})])

    async def act(*hubs):
        streams = [Stream(hub, viewer_of(alice_api)) for hub in hubs]
        for stream in streams:
            await stream.is_live()
        for turn, muted in enumerate([False, True, False], start=1):
            await in_database(mute, muted)
            await soon(lambda: all(s.connection.muted == muted for s in streams))  # noqa: B023
            await in_database(say)
            await soon(lambda: all(s.count("chat") == turn for s in streams))  # noqa: B023
        assert [s.count("notification") for s in streams] == [2, 2]

    scene(act)


def removed(api):
    remove_member(membership=api.login_session.membership)


WAYS_OUT = {
    "logged out": lambda api: end_login(login=api.login_session),
    "shut out": lambda api: deactivate_user(user=api.login_session.user),
    "taken out of the team": removed,
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_who_may_no_longer_listen_is_sent_away_at_the_word_everywhere(
    scene, seldom, bob_api, alice_api, way
):
    async def act(*hubs):
        his = [Stream(hub, viewer_of(bob_api)) for hub in hubs]
        hers = Stream(hubs[0], viewer_of(alice_api))
        for stream in (*his, hers):
            await stream.is_live()
        await in_database(WAYS_OUT[way], bob_api)
        await soon(lambda: all(stream.ended == "revoked" for stream in his))
        assert not hers.ended

    scene(act)


def test_a_new_password_ends_the_other_logins_streams_and_not_ones_own(
    scene, seldom, alice, alice_api, api_of
):
    elsewhere = api_of(alice)

    async def act(hub, _):
        here, there = Stream(hub, viewer_of(alice_api)), Stream(hub, viewer_of(elsewhere))
        await here.is_live()
        await there.is_live()
        await in_database(_change_password, alice_api.login_session)
        await soon(lambda: there.ended == "revoked")
        await hub._look_at_truth()
        assert not here.ended

    scene(act)


def _change_password(login):
    change_password(login=login, current=PASSWORD, new="another horse, another battery")


def expired(login):
    login.expires_at = timezone.now() - timedelta(seconds=1)
    login.save()


def password_set_behind_our_back(login):
    login.user.set_password("something else entirely")
    login.user.save()


def tenant_closed(login):
    login.membership.tenant.is_active = False
    login.membership.tenant.save()


@pytest.mark.parametrize("change", [expired, password_set_behind_our_back, tenant_closed])
def test_what_nobody_announces_is_seen_at_the_next_look_a_second_later(
    scene, alice_api, change, monkeypatch
):
    assert live.LOOK_SECONDS <= 1
    monkeypatch.setattr(live, "LOOK_SECONDS", 3600.0)

    async def act(hub, _):
        stream = Stream(hub, viewer_of(alice_api))
        await stream.is_live()
        await in_database(change, alice_api.login_session)
        await hub._look_at_truth()
        await soon(lambda: stream.ended == "revoked")

    scene(act)


def test_a_stream_ends_after_half_an_hour_more_or_less_and_never_all_at_once(
    scene, alice_api, bob_api
):
    async def act(hub, _):
        minutes = [(hub.until() - time.time()) / 60 for _ in range(1_000)]
        assert min(minutes) > 26.9
        assert max(minutes) < 33.1
        assert max(minutes) - min(minutes) > 5
        old, new = Stream(hub, viewer_of(alice_api)), Stream(hub, viewer_of(bob_api))
        await old.is_live()
        await new.is_live()
        old.connection.until, new.connection.until = 1_000.0, 3_000.0
        await hub.keep_time(2_000.0)
        assert (old.ended, new.ended) == ("time", "")

    scene(act)


def test_all_are_pinged_every_twenty_seconds(scene, alice_api, bob_api):
    async def act(hub, _):
        streams = [Stream(hub, viewer_of(api)) for api in (alice_api, bob_api)]
        for stream in streams:
            await stream.is_live()
            stream.connection.until = float("inf")
        now = time.time() + 1_000
        heard = []
        for moment in (now, now + 19, now + 20.5):
            await hub.keep_time(moment)
            heard.append([stream.count("ping") for stream in streams])
        before = heard[0][0] - 1
        assert [[n - before for n in each] for each in heard] == [[1, 1], [1, 1], [2, 2]]

    scene(act)


def test_five_streams_that_open_at_once_leave_three_and_the_newest_stay_in_the_end(
    scene, alice_api
):
    async def act(*hubs):
        streams = [Stream(hubs[n % 2], viewer_of(alice_api)) for n in range(5)]
        await soon(lambda: sum(stream.ended == "evicted" for stream in streams) == 2)
        newest_first = sorted(streams, key=lambda each: each.connection.since, reverse=True)
        assert [each.ended for each in newest_first] == ["", "", "", "evicted", "evicted"]

    scene(act)


def test_who_missed_more_than_a_replay_carries_gets_the_newest_and_is_told_to_read_anew(
    scene, acme, alice, alice_api
):
    def tell_many():
        with acting(tenant_id=acme.pk):
            notify([Notice([alice.pk], f"n{n}", "alert", "Look") for n in range(503)])

    async def act(hub, _):
        await in_database(tell_many)
        stream = Stream(hub, viewer_of(alice_api), after=1)
        await stream.is_live()
        await soon(lambda: stream.count("resync") == 1)
        numbers = [int(line[4:]) for line in stream.text.splitlines() if line.startswith("id: ")]
        assert numbers == list(range(4, 504))

    scene(act)
