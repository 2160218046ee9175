"""One example of everything that has an address, so that others can be kept from it.

A new route with an object in its path needs one here; `tests/test_routes.py` says so.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

# Put it into a text of the example, where it has one: nobody else may ever read it.
MARK = "for acme's eyes only"


@dataclass(frozen=True)
class Scene:
    """Whose things the examples are. They are made while acting for Acme."""

    acme: Any
    alice: Any
    bob: Any


@dataclass(frozen=True)
class Example:
    path: str
    lookup: str
    make: Callable[[Scene], Model]


# What belongs to no tenant and is the same for everybody, with an example. Take a second look.
SHARED = {
    "/api/v1/event-types/<name>/": "CASE_CREATED",  # declared in code
}
BY_PATH: dict[str, Example] = {}
BY_MODEL: dict[str, Callable[[Scene], Model]] = {}


def example(
    *paths: str, lookup: str = "pk", model: str = ""
) -> Callable[[Callable[[Scene], Model]], Callable[[Scene], Model]]:
    """Registers what stands in the last `<...>` of these paths, and in a model's console pages."""

    def register(make: Callable[[Scene], Model]) -> Callable[[Scene], Model]:
        BY_PATH.update({path: Example(path, lookup, make) for path in paths})
        if model:
            BY_MODEL[model] = make
        return make

    return register


@example("/api/v1/members/<id>/", lookup="user_id", model="accounts.Membership")
def member(scene: Scene) -> Model:
    scene.bob.name = MARK
    scene.bob.save()
    return scene.bob.memberships.get()


@example("/api/v1/auth/sessions/<pk>/", model="accounts.LoginSession")
def login(scene: Scene) -> Model:
    from django.test import RequestFactory

    from apps.accounts.services import open_login

    request = RequestFactory().get("/", headers={"User-Agent": MARK})
    membership = scene.alice.memberships.get()
    return open_login(user=scene.alice, membership=membership, kind="token", request=request)


@example("/api/v1/subscriptions/<pk>/", model="watch.Subscription")
def subscription(scene: Scene) -> Model:
    from apps.watch.services import subscribe

    return subscribe(
        name=MARK, user=scene.alice, event_types=["PAYMENT_DUE"], rule={"type": "always"}
    )


@example(model="accounts.User")
def user(scene: Scene) -> Model:
    return scene.bob


@example(model="accounts.Tenant")
def tenant(scene: Scene) -> Model:
    return scene.acme


@example(model="library.Book")
def book(scene: Scene) -> Model:
    from tests.library.models import Book

    return Book.objects.create(title=MARK)


def _document(scene: Scene) -> Any:
    from apps.cases.services import open_case
    from apps.documents import services, storage

    case = open_case(title=MARK)
    incoming = storage.receive([MARK.encode()])
    return services.upload_document(
        case_id=case.pk, incoming=incoming, file_name="example.txt", title=MARK
    )


@example("/api/v1/documents/<pk>/", "/api/v1/documents/<document_id>/", model="documents.Document")
def document(scene: Scene) -> Model:
    return _document(scene)


@example(
    "/api/v1/documents/<document_id>/versions/<number>/",
    lookup="number",
    model="documents.DocumentVersion",
)
def document_version(scene: Scene) -> Model:
    return _document(scene).latest


@example(model="documents.Job")
def document_job(scene: Scene) -> Model:
    return _document(scene).latest.jobs.get()


@example("/api/v1/document-templates/<pk>/", model="documents.DocumentTemplate")
def document_template(scene: Scene) -> Model:
    from apps.documents.models import DocumentTemplate

    return DocumentTemplate.objects.create(name="notice", title=MARK, body="{{ amount }}")


@example("/api/v1/extraction-patterns/<pk>/", model="documents.ExtractionPattern")
def extraction_pattern(scene: Scene) -> Model:
    from apps.documents import services

    return services.add_pattern(field="amount", label=MARK, pattern="[0-9]+")


@example("/api/v1/dead-letters/<pk>/", model="events.DeadLetter")
def dead_letter(scene: Scene) -> Model:
    from apps.events.models import DeadLetter

    of_event = {
        "event_id": "018f2d1c-0000-7000-8000-000000000001", "event_type": "CASE_CREATED",
        "aggregate_type": "case", "aggregate_id": "c1", "tenant_id": str(scene.acme.pk),
        "trace_id": "a" * 32,
    }  # fmt: skip
    beside = {"schema_version": "1", "actor": scene.alice.email, "payload": "{}",
              "occurred_at": "2026-01-05T09:00:00+00:00"}  # fmt: skip
    return DeadLetter.objects.create(
        **of_event, fields=of_event | beside, group="notification_group", stream="axiom:events",
        entry_id="1-0", error_type="GiveUp", error=MARK, attempts=1, fingerprint="f1",
    )  # fmt: skip


@example("/api/v1/dead-letters/redrives/<pk>/", model="events.Redrive")
def redrive(scene: Scene) -> Model:
    from apps.events.selectors import LetterFilter
    from apps.events.services import start_redrive

    which = LetterFilter(fingerprint="none")
    return start_redrive(which, tenant_id=scene.acme.pk, rate=1, by=scene.alice.email, reason=MARK)


@example("/api/v1/journey/<id>/", lookup="event_id", model="events.OutboxEvent")
def outbox_event(scene: Scene) -> Model:
    from apps.events import catalog
    from apps.events.models import OutboxEvent
    from apps.events.outbox import publish

    kind = catalog.event_class_of("CASE_CREATED")
    return OutboxEvent.objects.get(event_id=publish(kind(**{**kind.example, "title": MARK})))


@example("/api/v1/notifications/<number>/", lookup="number", model="notifications.Notification")
def notification(scene: Scene) -> Model:
    from apps.notifications.services import Notice, notify

    return notify([Notice([scene.alice.pk], "example", "alert", MARK)])[0]


@example("/api/v1/endpoints/<pk>/", model="notifications.Endpoint")
def endpoint(scene: Scene) -> Model:
    from apps.notifications.models import Endpoint
    from apps.notifications.services import add_endpoint

    known = Endpoint.objects.filter(name=MARK).first()
    url = "https://hooks.axiom.example/"
    return known or add_endpoint(name=MARK, kind="webhook", url=url)


@example("/api/v1/deliveries/<pk>/", model="notifications.Delivery")
def delivery(scene: Scene) -> Model:
    from apps.notifications.models import Delivery

    return Delivery.objects.create(recipient=scene.alice, channel="email", alert_id=uuid.uuid4())


@example(model="notifications.Preference")
def preference(scene: Scene) -> Model:
    from apps.notifications.services import save_preference

    return save_preference(user_id=scene.alice.pk, phone="+821012345678")


@example("/api/v1/cases/<pk>/", "/api/v1/cases/<case_id>/", model="cases.Case")
def case(scene: Scene) -> Model:
    """One for all: what belongs to a case is found below it only."""
    from apps.cases.models import Case
    from apps.cases.services import open_case, record_cash

    known = Case.objects.filter(title=MARK, cash__isnull=False).first()
    if known:
        return known
    opened = open_case(title=MARK, opened_by=scene.alice)
    record_cash(case=opened, balance=1)
    return opened


@example(model="cases.CashPosition")
def cash_position(scene: Scene) -> Model:
    return case(scene).cash


def _in_a_week() -> Any:
    from datetime import timedelta

    from django.utils import timezone

    return timezone.now() + timedelta(days=7)


@example("/api/v1/cases/<case_id>/deadlines/<pk>/", model="cases.Deadline")
def deadline(scene: Scene) -> Model:
    from apps.cases.services import add_deadline

    return add_deadline(case=case(scene), title=MARK, due_at=_in_a_week())


@example("/api/v1/cases/<case_id>/payments/<pk>/", model="cases.Payment")
def payment(scene: Scene) -> Model:
    from apps.cases.services import add_payment

    return add_payment(case=case(scene), title=MARK, amount=1, currency="KRW", due_at=_in_a_week())


@example("/api/v1/cases/<case_id>/reviews/<pk>/", model="cases.Review")
def review(scene: Scene) -> Model:
    from apps.cases.services import schedule_review

    return schedule_review(
        case=case(scene), title=MARK, stakeholder="Court", scheduled_at=_in_a_week()
    )


@example("/api/v1/cases/<case_id>/approvals/<pk>/", model="cases.Approval")
def approval(scene: Scene) -> Model:
    from apps.cases.services import request_approval

    return request_approval(case=case(scene), title=MARK, due_at=_in_a_week())


@example("/api/v1/cases/<case_id>/datasets/<pk>/", model="cases.Dataset")
def dataset(scene: Scene) -> Model:
    from apps.cases.services import register_data

    return register_data(case=case(scene), name=MARK, records_count=1)


@example("/api/v1/cases/<case_id>/comments/<pk>/", model="cases.Comment")
def comment(scene: Scene) -> Model:
    from apps.cases.services import add_comment

    return add_comment(case=case(scene), author=scene.alice, body=MARK)


@example(model="cases.WatchMark")
def watch_mark(scene: Scene) -> Model:
    from django.utils import timezone

    from apps.cases.models import WatchMark

    of_case = case(scene)
    return WatchMark.objects.create(
        event_type="CASH_LOW", aggregate_id=of_case.pk, mark="example", marked_at=timezone.now()
    )


@example("/api/v1/process-definitions/<pk>/", model="processes.ProcessDefinition")
def process_definition(scene: Scene) -> Model:
    from apps.processes import services
    from tests.processes.diagrams import machine

    # Several examples stand on one of these, and a tenant has each key once.
    key = f"p_{uuid.uuid4().hex}"
    return services.upload_definition(text=machine().replace('"claim"', f'"{key}"'), name=MARK)


@example("/api/v1/process-versions/<pk>/", model="processes.ProcessVersion")
def process_version(scene: Scene) -> Model:
    version = process_definition(scene).versions.get()
    version.note = MARK
    version.save()
    return version


@example("/api/v1/processes/<pk>/", model="processes.ProcessInstance")
def process(scene: Scene) -> Model:
    from apps.processes import services

    version = process_version(scene)
    services.publish_version(version=version)
    definition = version.definition
    return services.start_process(definition=definition, title=MARK, by=scene.alice)


@example("/api/v1/work-items/<pk>/", model="processes.WorkItem")
def work_item(scene: Scene) -> Model:
    item = process(scene).work_items.get()
    item.activity_name = MARK
    item.save()
    return item


@example("/api/v1/agent-feedback/<pk>/", model="processes.AgentFeedback")
def agent_feedback(scene: Scene) -> Model:
    from apps.processes import services

    doer = services.Doer(scene.alice, "admin")
    item = services.submit_work(item=work_item(scene), by=doer, result={}, confidence=0.9)
    return services.give_feedback(item=item, by=scene.alice, verdict="approved", text=MARK)


@example("/api/v1/agent-knowledge/<pk>/", model="processes.AgentKnowledge")
def agent_knowledge(scene: Scene) -> Model:
    from apps.processes import services

    return services.teach(agent="gpt-4o", summary=MARK, by=scene.alice)


@example("/api/v1/alerts/<pk>/", model="watch.Alert")
def alert(scene: Scene) -> Model:
    from django.utils import timezone

    from apps.watch.matches import Match
    from apps.watch.models import Alert
    from apps.watch.services import raise_alerts
    from apps.watch.severity import Severity

    now = timezone.now()
    match = Match(
        tenant_id=scene.acme.pk, subscription_id=None, severity=Severity.CRITICAL,
        event_type="CASH_LOW", aggregate_type="case", aggregate_id="c1", case_id=None,
        event_id=None, occurred_at=now, message=MARK, facts={"seen": MARK},
    )  # fmt: skip
    raise_alerts([match], now=now)
    return Alert.objects.get()


@example("/api/v1/escalation-steps/<pk>/", model="watch.EscalationStep")
def escalation_step(scene: Scene) -> Model:
    from apps.watch.services.change_policy import save_step

    return save_step(
        severity="HIGH", level=1, after_minutes=5, audience="admin", channels=["email"]
    )


def _datasource() -> None:
    from apps.metadata.models import DataSource

    DataSource.objects.get_or_create(name="example_db", defaults={"engine": "postgresql"})


@example("/api/v1/vision/cubes/<pk>/", model="vision.Cube")
def cube(scene: Scene) -> Model:
    from apps.vision.services import define_cube

    _datasource()
    fact = {"schema_name": "public", "table_name": "sales"}
    definition = {"fact": fact, "measures": [{"name": "Rows", "aggregator": "count"}]}
    return define_cube(
        datasource_name="example_db", name=f"cube-{uuid.uuid4()}", caption=MARK,
        definition=definition,
    )  # fmt: skip


@example("/api/v1/ontology/nodes/<pk>/", model="synapse.OntologyNode")
def ontology_node(scene: Scene) -> Model:
    from apps.synapse.services import add_node

    return add_node(layer="process", name=f"{MARK} {uuid.uuid4()}")


@example("/api/v1/ontology/links/<pk>/", model="synapse.OntologyLink")
def ontology_link(scene: Scene) -> Model:
    from apps.synapse.services import link_node

    _datasource()
    node: Any = ontology_node(scene)
    return link_node(node=node, datasource_name="example_db", schema_name="public", table_name=MARK)


@example("/api/v1/ontology/bindings/<pk>/", model="synapse.EventLogBinding")
def event_log_binding(scene: Scene) -> Model:
    from apps.synapse.services import bind_event_log

    _datasource()
    return bind_event_log(
        name=f"{MARK} {uuid.uuid4()}", datasource_name="example_db", schema_name="public",
        table_name="log", case_column="c", activity_column="a", timestamp_column="t",
    )  # fmt: skip


@example("/api/v1/text2sql/queries/<pk>/", model="oracle.CachedQuery")
def cached_query(scene: Scene) -> Model:
    from apps.oracle.services import cache_query

    _datasource()
    return cache_query(
        datasource_name="example_db", question=f"{MARK} {uuid.uuid4()}", sql="SELECT 1"
    )


@example("/api/v1/chat/rooms/<pk>/", "/api/v1/chat/rooms/<room_id>/", model="chat.Room")
def chat_room(scene: Scene) -> Model:
    from apps.chat.services import open_room

    return open_room(name=MARK, by=scene.alice)


@example("/api/v1/chat/rooms/<room_id>/members/<user_id>/", lookup="user_id")
def chat_room_member(scene: Scene) -> Model:
    return chat_room(scene).members.get()


@example(model="chat.ChatMessage")
def chat_message(scene: Scene) -> Model:
    from django.utils import timezone

    from apps.chat.models import ChatMessage

    return ChatMessage.objects.create(
        id=uuid.uuid4(), room=chat_room(scene), seq=1, sender=scene.alice, client_id="1",
        text=MARK, sent_at=timezone.now(),
    )  # fmt: skip


@example("/api/v1/metadata/data-sources/<pk>/", model="metadata.DataSource")
def data_source(scene: Scene) -> Model:
    from apps.metadata import services

    # Several examples stand on one of these, and a tenant has each name once.
    return services.add_datasource(
        name=f"s_{uuid.uuid4().hex}", title=MARK, engine="postgresql", host="127.0.0.1", port=1,
        database="x",
    )  # fmt: skip


@example("/api/v1/metadata/runs/<pk>/", model="metadata.ExtractionRun")
def extraction_run(scene: Scene) -> Model:
    from apps.metadata import services

    run = services.request_extraction(datasource=data_source(scene))
    run.note = MARK
    run.save()
    return run


@example("/api/v1/metadata/tables/<pk>/", model="metadata.CatalogTable")
def catalog_table(scene: Scene) -> Model:
    from apps.metadata.models import CatalogTable

    return CatalogTable.objects.create(
        datasource=data_source(scene), schema="public", name="orders", kind="BASE TABLE",
        comment=MARK,
    )  # fmt: skip


@example("/api/v1/metadata/columns/<pk>/", model="metadata.CatalogColumn")
def catalog_column(scene: Scene) -> Model:
    from apps.metadata.models import CatalogColumn

    return CatalogColumn.objects.create(
        table=catalog_table(scene), name="id", position=1, dtype="int", nullable=False,
        comment=MARK,
    )  # fmt: skip


@example("/api/v1/metadata/glossary/<pk>/", model="metadata.GlossaryTerm")
def glossary_term(scene: Scene) -> Model:
    from apps.metadata import services

    return services.define_term(datasource=data_source(scene), term="x", definition=MARK)


@example("/api/v1/metadata/snapshots/<pk>/", model="metadata.Snapshot")
def snapshot(scene: Scene) -> Model:
    from apps.metadata import services

    return services.create_snapshot(datasource=data_source(scene), label=MARK)


@example(model="metadata.CatalogChange")
def catalog_change(scene: Scene) -> Model:
    from apps.metadata.models import CatalogChange

    return CatalogChange.objects.create(
        datasource=data_source(scene), kind="table_added", table=MARK, actor="alice"
    )
