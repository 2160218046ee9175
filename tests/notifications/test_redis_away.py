"""Redis is killed under everything: requests, relay, watch, notifications and streams."""

import os
import shutil
import signal

import httpx
import pytest

from apps.events.context import acting
from apps.watch.services import subscribe
from tests.programs import eventually, started

from .conftest import own_database, web_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workers(own_redis, settings, transactional_db):
    """Relay, watch and notifications in a process of their own."""
    with started(
        *("django", "runworker", "relay", "watch_cep", "notifications"),
        DJANGO_SETTINGS_MODULE="axiom.settings",
        DATABASE_URL=own_database(),
        REDIS_URL=settings.REDIS_URL,
    ) as running:
        running.wait_for(lambda: "workers started" in running.text())
        yield running


@pytest.fixture
def watched(acme, alice):
    """Alice is alerted of each new case."""
    with acting(tenant_id=acme.pk, actor=alice.email):
        subscribe(
            name="New cases", user=alice, event_types=["CASE_CREATED"], rule={"type": "always"}
        )


@pytest.mark.timeout(180)
@pytest.mark.parametrize("comes_back", ["as it was", "empty"])
def test_what_requests_cause_while_redis_is_killed_reaches_inbox_and_streams_once(
    own_redis, settings, watched, workers, alice_api, listen, comes_back
):
    token = {"Authorization": alice_api._credentials["HTTP_AUTHORIZATION"]}
    with (
        web_server("uvicorn", redis_url=settings.REDIS_URL) as one,
        web_server("daphne", redis_url=settings.REDIS_URL) as other,
    ):

        def open_cases(*titles):
            for title in titles:
                body = {"title": title}
                answer = httpx.post(f"{one}/api/v1/cases/", json=body, headers=token, timeout=30)
                assert answer.status_code == 201, answer.text

        streams = [listen(address, alice_api) for address in (one, other)]
        open_cases("Before 1", "Before 2")
        eventually(lambda: all(len(each.numbers()) == 2 for each in streams))
        os.kill(own_redis._pid(), signal.SIGKILL)
        open_cases("Meanwhile 1", "Meanwhile 2")
        eventually(lambda: all(each.of("degraded") for each in streams))
        if comes_back == "empty":
            shutil.rmtree(own_redis.data / "appendonlydir")
        own_redis.start()
        eventually(lambda: all(each.of("resync") for each in streams))
        open_cases("After 1", "After 2")
        eventually(lambda: all(len(each.numbers()) >= 6 for each in streams), seconds=90)
        inbox = alice_api.get("/api/v1/notifications/").json()["results"]
        assert [row["number"] for row in inbox] == [6, 5, 4, 3, 2, 1]
        assert len({row["facts"]["alert_id"] for row in inbox}) == 6
        assert [each.numbers() for each in streams] == [[1, 2, 3, 4, 5, 6]] * 2
        assert not any(each.ended.is_set() for each in streams)
