"""/metrics is right across processes, living and dead, and not for everyone."""

import os
import subprocess
import sys
import uuid

import pytest
from prometheus_client.parser import text_string_to_metric_families

from axiom import metrics

# Counts and gauges under a directory of its own, says so, and stays until its input ends.
WRITER = """
import os, sys
from axiom.metrics import Counter, Gauge, Histogram
amount = float(sys.argv[1])
Counter("axiom_test_things", "Things", ["kind"]).labels("one").inc(amount)
Gauge("axiom_test_level", "Level", multiprocess_mode="livesum").set(amount)
Histogram("axiom_test_seconds", "Seconds", buckets=[1, 10]).observe(amount)
if "fork" in sys.argv:
    children = Counter("axiom_test_children", "Children")
    if os.fork() == 0:
        children.inc()
    else:
        sys.stdin.read()
        os._exit(0)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def directory(settings, tmp_path):
    settings.METRICS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def writer(directory):
    """Start a process that counts; what it returns is alive until killed."""
    running = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments],
            env=os.environ
            | {"DJANGO_SETTINGS_MODULE": "axiom.settings", "METRICS_DIR": str(directory)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout
        assert process.stdout.readline() == "written\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def samples() -> dict[str, float]:
    """Every sample of one scrape by name and labels."""
    families = text_string_to_metric_families(metrics.scrape().decode())
    return {
        sample.name
        + "".join(f",{name}={value}" for name, value in sorted(sample.labels.items())): (
            sample.value
        )
        for family in families
        for sample in family.samples
    }


def die(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def test_one_scrape_adds_up_what_several_processes_counted(writer):
    writer("2"), writer("3")
    found = samples()
    assert found["axiom_test_things_total,kind=one"] == 5
    assert found["axiom_test_level"] == 5
    assert found["axiom_test_seconds_count"] == 2
    assert found["axiom_processes"] == 2


def test_a_dead_process_keeps_its_counts_and_loses_its_gauges(writer):
    writer("2")
    die(writer("3"))
    found = samples()
    assert found["axiom_test_things_total,kind=one"] == 5
    assert found["axiom_test_level"] == 2
    assert found["axiom_processes"] == 1


def test_counts_never_fall_while_processes_come_and_go(writer, directory):
    seen = []
    for _ in range(4):
        die(writer("1"))
        seen += [samples()["axiom_test_things_total,kind=one"]]
        seen += [samples()["axiom_test_seconds_bucket,le=1.0"]]
    assert seen == [1, 1, 2, 2, 3, 3, 4, 4]
    assert sorted(path.name for path in directory.glob("*.db")) == [
        "counter_past.db",
        "histogram_past.db",
    ]


def test_a_forked_child_counts_on_its_own_and_does_not_keep_its_parent_alive(writer):
    parent = writer("3", "fork")
    assert samples()["axiom_processes"] == 2
    die(parent)
    assert samples()["axiom_processes"] == 1
    assert samples()["axiom_test_level"] == 0


def test_the_dead_are_told_by_their_lock_not_by_their_number(writer, directory):
    """A process number that another process got since must not keep a gauge alive."""
    dead = writer("3")
    die(dead)
    (announced,) = directory.glob("*.alive")
    ours = f"{announced.stem.rpartition('-')[0]}-{os.getpid()}"
    for path in directory.glob(f"*{announced.stem}*"):
        path.rename(directory / path.name.replace(announced.stem, ours))
    assert "axiom_test_level" not in samples()


def test_what_the_backbone_counts_in_another_process_is_in_the_scrape(directory):
    """Declared by another module, before or after ours: it must be the same kind of value."""
    script = "import django; django.setup(); from apps.events import observe; observe.relay_waits()"
    environment = {"DJANGO_SETTINGS_MODULE": "axiom.settings", "METRICS_DIR": str(directory)}
    subprocess.run([sys.executable, "-c", script], env=os.environ | environment, check=True)
    assert samples()["axiom_relay_waits_total"] == 1


def test_a_teller_that_fails_silences_nobody_else(directory):
    @metrics.at_scrape
    def broken():
        raise ConnectionError

    try:
        assert samples()["axiom_processes"] == 0
    finally:
        metrics._tellers.remove(broken)


def test_requests_are_counted_by_route_not_by_path(client, settings):
    before = samples().get("axiom_http_requests_total,method=GET,route=unmatched,status=404", 0)
    client.get(f"/{uuid.uuid4()}")
    client.get(f"/{uuid.uuid4()}")
    found = samples()
    assert found["axiom_http_requests_total,method=GET,route=unmatched,status=404"] == before + 2
    assert "axiom_http_request_seconds_count,method=GET,route=unmatched" in found


def test_an_invented_method_makes_no_new_series(client):
    client.generic("BREW", "/coffee")
    assert not [name for name in samples() if "BREW" in name]


def test_this_machine_reads_metrics_while_developing(client):
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert b"axiom_http_requests_total" in answer.content
    assert client.get("/metrics", REMOTE_ADDR="203.0.113.9").status_code == 401


def test_production_without_a_token_tells_nobody(client, settings):
    settings.PRODUCTION = True
    assert client.get("/metrics").status_code == 401


def test_with_a_token_only_its_bearer_reads(client, settings):
    settings.METRICS_TOKEN = "s3cret"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    answer = client.get("/metrics", headers={"Authorization": "Bearer s3cret"})
    assert answer.status_code == 200
    assert client.post("/metrics").status_code == 405
