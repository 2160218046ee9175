"""A case to put documents into, a store of the test's own, and the workers in hand."""

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.cases.services import open_case
from apps.documents import services
from apps.documents.runner import Runner
from apps.events.bus.memory import MemoryBus
from apps.events.consumer import Consumer
from apps.events.context import acting
from apps.events.groups import GROUPS
from apps.events.message import Message
from apps.events.models import OutboxEvent
from apps.events.relay import Relay
from tests.documents import files

DOCUMENTS = "/api/v1/documents/"


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path / "documents"
    return settings.DOCUMENTS_DIR


@pytest.fixture
def stored(store):
    """The files that are in the store now."""
    return lambda: sorted(path for path in Path(store).rglob("*") if path.is_file())


@pytest.fixture
def case(in_acme):
    return open_case(title="Hanbit Textile")


@pytest.fixture
def put(case):
    """Puts a file into the case by the service."""

    def upload(content, name="claims.pdf", **facts):
        incoming = files.incoming(content)
        facts = {"case_id": case.pk, **facts}
        return services.upload_document(incoming=incoming, file_name=name, **facts)

    return upload


@pytest.fixture
def post(alice_api, case):
    """Puts a file into the case by the API."""

    def upload(content, name="claims.pdf", *, api=alice_api, url=DOCUMENTS, **more):
        file = SimpleUploadedFile(name, content)
        headers = more.pop("headers", None)
        form = {"case": str(case.pk), "file": file, **more}
        return api.post(url, form, format="multipart", headers=headers)

    return upload


class Workshop:
    """Relay, consumer and runner, each a step at a time."""

    def __init__(self):
        self.bus = MemoryBus()
        self.relay, self.runner = Relay(self.bus, "relay"), Runner("runner")
        self.consumer = Consumer(GROUPS["worker_group"], self.bus, "worker")

    def carry(self):
        """Bring events to the group."""
        while self.relay.relay_batch():
            continue
        with acting(tenant_id=None):
            self.consumer.step()

    def work(self):
        """Do everything there is to do, until nothing happens any more."""
        self.carry()
        while self.runner.step():
            self.carry()

    def on_stream(self, stream):
        """The types of the events on a stream, in their order."""
        self.bus.ensure_group(stream, "test")
        found = self.bus.read("test", "test", [stream], 1000, 0)
        return [Message.parse(e.stream, e.entry_id, e.raw).event_type for e in found]


@pytest.fixture
def workshop(db):
    return Workshop()


@pytest.fixture
def told():
    """The events of documents so far, in the order they were published."""

    def tell():
        rows = OutboxEvent.objects.filter(aggregate_type="document").order_by("seq")
        return list(rows.values_list("event_type", flat=True))

    return tell


@pytest.fixture
def payload_of():
    def find(event_type):
        return json.loads(OutboxEvent.objects.filter(event_type=event_type).latest("seq").payload)

    return find
