"""The timeline of a case: what happened in it, from every app, in one order."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.cases import services
from apps.cases.models import CaseStep, Comment
from apps.cases.selectors import timeline
from apps.cases.services.scan import scan
from apps.documents import services as documents
from apps.events.context import acting
from apps.processes import services as processes
from apps.watch.services import acknowledge
from tests.alerts.conftest import happens, match, subscribe, watcher  # noqa: F401  (fixtures)
from tests.documents import files
from tests.processes import diagrams

pytestmark = pytest.mark.django_db

PAGE = "/admin/cases/case/{}/timeline/"


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path / "documents"


@pytest.fixture
def eventful(case, alice, happens):  # noqa: F811
    """A case in which everything happens that a timeline tells of; returns the alert."""
    services.assign(case=case, manager_id=alice.pk, member_ids=[alice.pk])
    comment = services.add_comment(case=case, author=alice, body="Please check the list.")
    services.add_comment(case=case, author=alice, body="Done.")
    services.delete_comment(comment=comment, by=alice)
    due = timezone.now() + timedelta(days=3)
    deadline = services.add_deadline(case=case, title="Plan", due_at=due)
    scan(timezone.now())
    services.settle(item=deadline, status="met")
    services.register_data(case=case, name="claims.csv", records_count=10, issues_count=1)
    upload = files.incoming(files.pdf())
    documents.upload_document(case_id=case.pk, incoming=upload, file_name="claims.pdf")
    _run_a_process(case, alice)
    alert = happens(case_id=case.pk, aggregate_id=str(case.pk))
    acknowledge(alert=alert, by=alice, note="I look at it.")
    services.close_case(case=case, reason="All is paid.")


def _run_a_process(case, alice):
    definition = processes.upload_definition(text=diagrams.one_task())
    processes.publish_version(version=definition.versions.get())
    run = processes.start_process(definition=definition, case_id=case.pk, title="Claims", by=alice)
    doer = processes.Doer(alice, "admin")
    processes.complete_work(item=run.work_items.get(), by=doer, result={})
    processes.advance(run.pk)


def told(case, **asked):
    """Topic and title of each entry, the first first."""
    page = timeline.page(case.pk, **asked)
    return [(each.topic.name, str(each.entry.title)) for each in reversed(page.told)]


def test_everything_that_happened_is_told_once_and_in_its_order(case, eventful):
    recent = [each for each in told(case) if each[0] != "alerts"]
    assert recent == [
        ("case", "Opened"),
        ("case", "Assigned"),
        ("comments", "Comment"),
        ("comments", "Comment deleted"),
        ("plan", "Deadline added"),
        ("events", "Deadline approaching"),
        ("plan", "Deadline: Met"),
        ("data", "Data registered"),
        ("documents", "Document uploaded"),
        ("processes", "Process started"),
        ("work", "Check: Created"),
        ("work", "Check: Completed"),
        ("processes", "Process completed"),
        ("case", "Status changed"),
    ]
    moments = [each.entry.at for each in timeline.page(case.pk).told]
    assert moments == sorted(moments, reverse=True)


def test_each_topic_can_be_read_alone(case, eventful):
    assert told(case, only="comments") == [("comments", "Comment"), ("comments", "Comment deleted")]
    assert [topic for topic, _title in told(case, only="alerts")] == ["alerts", "alerts"]
    assert told(case, only="nonsense") == []


def test_an_entry_says_who_what_and_why(case, eventful, alice):
    entries = {str(each.entry.title): each.entry for each in timeline.page(case.pk).told}
    moved = entries["Status changed"]
    assert (moved.text, moved.who) == ("Open → Closed. All is paid.", "alice@acme.example")
    assert entries["Assigned"].text == "manager: Alice, joined: Alice"
    assert entries["Comment"].text == "Done."
    assert "Please check" not in str(entries), "a comment that was taken back is read"
    assert entries["Deadline approaching"].text == "Plan: 3 days left"
    assert entries["Data registered"].text == "claims.csv: 10 records, 1 with issues"
    assert entries["Process started"].link.endswith("/diagram/")
    assert entries["Alert: Urgent"].severity == "HIGH"
    assert "I look at it." in entries["Alert: Acknowledged"].text


@pytest.fixture
def crowded(case, alice):
    """A hundred things at three moments: most of them happen at the same time."""
    moments = [datetime(2026, 3, 4, 12, minute, tzinfo=UTC) for minute in range(3)]
    for number in range(50):
        at = moments[number % 3]
        Comment.objects.create(case=case, author=alice, body=str(number), created_at=at)
        CaseStep.objects.create(case=case, kind="moved", actor=str(number), created_at=at)
    return case


@pytest.mark.parametrize("size", [1, 7, 50])
def test_page_after_page_shows_everything_once_even_of_one_moment(crowded, size):
    every = [each.place for each in timeline.page(crowded.pk, size=1000).told]
    assert len(set(every)) == len(every) == 101
    found, before = [], ""
    while True:
        page = timeline.page(crowded.pk, before=before, size=size)
        found += [each.place for each in page.told]
        assert len(page.told) <= size
        if not page.next:
            break
        before = page.next
    assert found == every


def test_it_costs_the_same_however_much_happened(case, alice):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            timeline.page(case.pk)
        return len(queries)

    few = asked()
    for number in range(30):
        services.add_comment(case=case, author=alice, body=str(number))
        services.assign(case=case, member_ids=[alice.pk] if number % 2 else [])
        services.add_deadline(case=case, title="x", due_at=timezone.now() + timedelta(days=9))
    for _ in range(2):
        services.change_status(case=case, status="on_hold")
        services.change_status(case=case, status="in_progress")
    assert len(timeline.page(case.pk).told) == 50
    assert asked() <= few + 1  # the names of people, once there are people to name


@pytest.mark.parametrize(
    "place",
    ["x", "~~", "2026-01-01~case.0~x", "2026-13-01T00:00:00Z~case.0~5",
     "9999-12-31T23:59:59-12:00~work.0~5", "2026-01-01T00:00:00Z~work.0~" + str(UUID(int=7)),
     "2026-01-01T00:00:00Z~comments.0~5", "2026-01-01T00:00:00Z~\0~5"],
)  # fmt: skip
def test_a_place_that_is_none_breaks_nothing(case, place):
    assert timeline.page(case.pk, before=place).told is not None


def test_it_keeps_what_the_events_forget(case, alice):
    from apps.events.models import OutboxEvent

    services.close_case(case=case, reason="over")
    OutboxEvent.objects.all().delete()
    assert told(case) == [("case", "Opened"), ("case", "Status changed")]


def test_cases_from_before_the_timeline_have_their_beginning_and_end(case, alice):
    services.close_case(case=case)
    CaseStep.objects.all().delete()
    migration = import_module("apps.cases.migrations.0003_tell_of_cases_that_were_there")
    with connection.cursor() as cursor:
        for statement in (migration.OPENED, migration.CLOSED):
            cursor.execute(statement)
    first, last = reversed(timeline.page(case.pk).told)
    assert (first.entry.title, first.entry.who) == ("Opened", alice.email)
    assert (last.entry.title, last.entry.text) == ("Status changed", "… → Closed")


def test_of_another_tenants_case_nothing_is_told(case, eventful, rival):
    with acting(tenant_id=rival.pk):
        assert timeline.page(case.pk).told == []


class TestThePage:
    @pytest.fixture
    def url(self, case):
        return PAGE.format(case.pk)

    @pytest.fixture
    def console(self, alice, console_of):
        return console_of(alice)

    def test_shows_the_case_and_what_happened(self, console, url, eventful):
        page = console.get(url).content.decode()
        for words in (
            "Hanbit Textile",
            "All is paid.",
            "Please check",
            "claims.pdf",
            "Alert: Urgent",
        ):
            assert (words in page) is (words != "Please check"), words

    def test_leads_to_what_was_before(self, console, url, crowded):
        first = console.get(url)
        assert first.context["page"].next
        older = console.get(url, {"before": first.context["page"].next})
        assert len(older.context["page"].told) == 50
        assert "data-follow" not in older.content.decode()

    def test_a_comment_is_written(self, console, url, case, alice):
        answer = console.post(url, {"deed": "comment", "body": "Looks fine."}, follow=True)
        assert "Looks fine." in answer.content.decode()
        assert Comment.objects.get().author == alice

    def test_an_empty_comment_is_refused_in_words(self, console, url):
        answer = console.post(url, {"deed": "comment", "body": " "}, follow=True)
        (said,) = answer.context["messages"]
        assert "This field is required." in str(said)
        assert not Comment.objects.exists()

    def test_the_status_is_changed_with_its_reason(self, console, url, case):
        console.post(url, {"deed": "move", "status": "in_review", "reason": "filed"})
        case.refresh_from_db()
        assert case.status == "in_review"
        assert CaseStep.objects.latest("created_at").note == "filed"

    def test_what_is_not_possible_any_more_is_told(self, console, url, case):
        services.close_case(case=case)
        answer = console.post(url, {"deed": "move", "status": "on_hold"}, follow=True)
        (said,) = answer.context["messages"]
        assert "cannot go" in str(said)
        case.refresh_from_db()
        assert case.status == "closed"

    def test_a_viewer_reads_and_does_nothing(self, bob, console_of, url, case):
        console = console_of(bob)
        page = console.get(url)
        assert page.status_code == 200
        assert "<textarea" not in page.content.decode()
        for body in ({"deed": "comment", "body": "x"}, {"deed": "move", "status": "closed"}):
            assert console.post(url, body).status_code == 403
        assert not Comment.objects.exists()

    def test_another_tenants_staff_find_no_such_case(self, charlie, console_of, url):
        assert console_of(charlie).get(url).status_code == 404

    def test_who_runs_the_platform_looks_at_any_case(
        self, django_user_model, client, url, eventful
    ):
        client.force_login(django_user_model.objects.create_superuser("root@x.example", "x"))
        page = client.get(url)
        assert page.status_code == 200
        assert "All is paid." in page.content.decode()
        assert client.post(url, {"deed": "comment", "body": "x"}).status_code == 403

    def test_the_part_that_changes_is_sent_only_when_it_did(self, console, url, case, alice):
        first = console.get(url, {"part": "1"})
        assert "<html" not in first.content.decode()
        tag = {"If-None-Match": first["ETag"]}
        assert console.get(url, {"part": "1"}, headers=tag).status_code == 304
        services.add_comment(case=case, author=alice, body="New")
        again = console.get(url, {"part": "1"}, headers=tag)
        assert (again.status_code, b"New" in again.content) == (200, True)
