"""Every line of a request says which request and which trace it belongs to."""

import io
import json
import logging
import re
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
import structlog
from celery import shared_task
from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.events import context
from axiom import logs, metrics
from axiom.embedded.state import free_port
from tests.programs import started

log = structlog.get_logger("tests.view")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def talk(request: HttpRequest) -> HttpResponse:
    log.info("through structlog", answer=42, greeting="안녕하세요")
    logging.getLogger("some.library").warning("through logging")
    return HttpResponse(context.current().trace_id)


def fail(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


@shared_task
def work() -> None:
    log.info("inside the task")


urlpatterns = [path("talk", talk), path("fail", fail)]


@pytest.fixture
def lines(settings):
    """What is written to the log, parsed; every line must be JSON."""
    settings.ROOT_URLCONF = __name__
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.formatter("json"))
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


def test_every_line_of_a_request_carries_its_id_and_its_trace(client, lines):
    client.get("/talk", headers={"X-Request-ID": "order-4711", "traceparent": PARENT})
    assert [line["event"] for line in lines()] == [
        "through structlog",
        "through logging",
        "request",
    ]
    assert {line["request_id"] for line in lines()} == {"order-4711"}
    assert {line["trace_id"] for line in lines()} == {TRACE}
    assert lines()[0]["greeting"] == "안녕하세요"


def test_the_line_of_a_request_tells_route_status_and_time(client, lines):
    client.get("/talk?secret=1")
    line = lines()[-1]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/talk", 200)
    assert line["milliseconds"] >= 0
    assert "secret" not in json.dumps(line)


def test_a_crash_is_told_once_with_its_stack_and_its_request(client, lines):
    client.raise_request_exception = False
    client.get("/fail", headers={"X-Request-ID": "order-4711"})
    (crash,) = [line for line in lines() if "ZeroDivisionError" in json.dumps(line)]
    assert crash["request_id"] == "order-4711"
    assert crash["level"] == "error"


def test_a_missing_page_is_one_line(client, lines):
    client.get("/nowhere")
    (line,) = lines()
    assert (line["route"], line["status"]) == ("unmatched", 404)


@pytest.mark.parametrize(
    "given", ["short", "a" * 65, "two words!", "x<script>alert", "번호-4711-번호"]
)
def test_an_unacceptable_request_id_is_replaced(client, lines, given):
    answer = client.get("/talk", HTTP_X_REQUEST_ID=given)
    assert re.fullmatch(r"[0-9a-f]{32}", answer["X-Request-ID"])
    assert lines()[0]["request_id"] == answer["X-Request-ID"]


def test_an_acceptable_request_id_is_kept(client, lines):
    assert client.get("/talk", headers={"X-Request-ID": "order-4711"})["X-Request-ID"] == (
        "order-4711"
    )


@pytest.mark.parametrize(
    "given",
    [
        "",
        "junk",
        f"99-{TRACE}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        PARENT + "\n",
    ],
)
def test_an_unacceptable_trace_is_replaced(client, lines, given):
    answer = client.get("/talk", HTTP_TRACEPARENT=given)
    assert re.fullmatch(r"[0-9a-f]{32}", answer.content.decode())
    assert answer.content.decode() != TRACE


def test_nothing_of_a_request_remains_after_it(client, lines):
    client.get("/talk", headers={"X-Request-ID": "order-4711"})
    assert context.current() == context.Context()
    assert "request_id" not in structlog.contextvars.get_contextvars()


def test_a_celery_task_continues_the_trace_and_forgets_it(redis_client):
    with started("celery", "-A", "axiom", "worker", "-P", "solo", "-I", __name__) as worker:
        with context.fresh(trace_id=TRACE, request_id="order-4711", actor="alice"):
            work.delay()
        work.delay()
        worker.wait_for(lambda: worker.text().count("succeeded in") == 2)
        first, second = [line for line in worker.log() if line["event"] == "inside the task"]
    assert (first["trace_id"], first["request_id"]) == (TRACE, "order-4711")
    assert first["actor"] == "alice"
    assert second["trace_id"] not in {"", TRACE}
    assert "request_id" not in second


def test_a_celery_worker_counts_its_tasks(redis_client):
    before = tasks_counted()
    with started("celery", "-A", "axiom", "worker", "-c", "1", "-I", __name__) as worker:
        work.delay()
        worker.wait_for(lambda: "succeeded in" in worker.text())
        worker.wait_for(lambda: tasks_counted() == before + 1)


def tasks_counted() -> float:
    name = f'axiom_task_seconds_count{{state="SUCCESS",task="{__name__}.work"}} '
    told = metrics.scrape().decode().splitlines()
    return sum(float(line.removeprefix(name)) for line in told if line.startswith(name))


@pytest.mark.parametrize(
    "server",
    [
        ["daphne", "-v", "0", "-p", "{port}", "axiom.asgi:application"],
        ["uvicorn", "--port", "{port}", "axiom.asgi:application"],
    ],
    ids=["daphne", "uvicorn"],
)
def test_a_server_writes_one_line_for_a_request_and_all_of_it_is_json(server):
    port = str(free_port())
    with started(*[word.format(port=port) for word in server], LOG_FORMAT="json") as web:
        web.wait_for(lambda: answers(f"http://127.0.0.1:{port}/nowhere?first"))
        request = Request(
            f"http://127.0.0.1:{port}/nowhere", headers={"X-Request-ID": "order-4711"}
        )
        with pytest.raises(HTTPError):
            urlopen(request)
        web.wait_for(lambda: "order-4711" in web.text())
        ours = [line for line in web.text().splitlines() if "/nowhere" in line]
    assert len([line for line in ours if "order-4711" in line]) == 1
    assert all(json.loads(line)["event"] == "request" for line in ours)


def answers(url: str) -> bool:
    try:
        urlopen(url)
    except HTTPError:
        return True
    except URLError:
        return False
    return True


def test_a_library_with_handlers_of_its_own_does_not_write_twice(settings):
    logging.getLogger("uvicorn.error").addHandler(logging.StreamHandler())
    logs.configure(settings.LOGGING)
    for name in ("django", "django.server", "uvicorn", "uvicorn.error", "uvicorn.access"):
        assert logging.getLogger(name).handlers == []
        assert logging.getLogger(name).propagate
