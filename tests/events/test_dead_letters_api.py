"""Dead letters as programs find them and act on them; who may, and who may not."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from apps.events import services
from apps.events.ids import first_id_of, uuid7
from apps.events.models import DeadLetter, InboxEntry, OutboxEvent, Redrive, Retry
from apps.events.selectors import kinds_of_letters, letters_of

URL = "/api/v1/dead-letters/"
GROUP = "notification_group"

pytestmark = pytest.mark.django_db


@pytest.fixture
def letter_of(thing_happened):
    """Makes a dead letter of a tenant, as a consumer would."""

    def make(tenant, number=1, **changes):
        event_id, tenant_id = uuid7(), getattr(tenant, "pk", tenant)
        fields = {
            "event_id": str(event_id), "event_type": "TEST_THING_HAPPENED", "schema_version": "1",
            "aggregate_type": "thing", "aggregate_id": "t1", "tenant_id": str(tenant_id),
            "actor": "alice@acme.example", "trace_id": "a" * 32,
            "occurred_at": "2026-01-05T09:00:00+00:00",
            "payload": f'{{"thing_id":"t1","number":{number},"note":""}}',
        }  # fmt: skip
        given = {
            "group": GROUP, "stream": "axiom:events", "entry_id": f"{number}-0",
            "position": number << 20, "event_id": event_id, "event_type": "TEST_THING_HAPPENED",
            "aggregate_type": "thing", "aggregate_id": "t1", "tenant_id": tenant_id,
            "trace_id": "a" * 32, "fields": fields, "error_type": "GiveUp", "error": "no such case",
            "stack": "Traceback ...", "attempts": 1, "fingerprint": "f1",
        } | changes  # fmt: skip
        InboxEntry.objects.create(event_id=event_id, group=GROUP, outcome="dead")
        return DeadLetter.objects.create(**given)

    return make


@pytest.fixture
def unreadable(db):
    return DeadLetter.objects.create(
        group=GROUP, stream="axiom:events", entry_id="9-0", position=9 << 20, raw=b"what=\xff",
        error_type="Unreadable", error="KeyError", attempts=1, fingerprint="f2",
    )  # fmt: skip


@pytest.fixture
def letter(acme, letter_of):
    return letter_of(acme)


@pytest.fixture
def foreign(rival, letter_of):
    return letter_of(rival)


@pytest.fixture(autouse=True)
def handled(handle, thing_happened):
    seen = []
    handle(seen.append, thing_happened, group=GROUP)
    return seen


@pytest.fixture
def root_api(db, django_user_model, api_of):
    """Runs the platform, and is in no tenant."""
    root = django_user_model.objects.create_superuser("root@axiom.example", "correct horse")
    return api_of(root)


def at(letter, *more):
    return URL + "/".join([str(letter.pk), *more, ""])


def listed(api, **query):
    return [row["id"] for row in api.get(URL, query).json()["results"]]


class TestLooking:
    def test_a_viewer_sees_the_letters_of_their_tenant_and_no_others(
        self, bob_api, letter, foreign, unreadable
    ):
        assert listed(bob_api) == [str(letter.pk)]
        assert bob_api.get(at(letter)).status_code == 200
        for other in (foreign, unreadable):
            assert bob_api.get(at(other)).status_code == 404

    def test_who_runs_the_platform_sees_all(self, root_api, letter, foreign, unreadable, rival):
        assert set(listed(root_api)) == {str(each.pk) for each in (letter, foreign, unreadable)}
        assert listed(root_api, tenant_id=rival.pk) == [str(foreign.pk)]

    def test_a_stranger_is_asked_to_log_in(self, api, letter):
        assert api.get(URL).status_code == 401
        assert api.post(at(letter, "redrive")).status_code == 401

    def test_it_is_told_in_full(self, bob_api, letter, alice):
        services.discard(letter, by=alice.email, reason="a duplicate")
        told = bob_api.get(at(letter)).json()

        assert told["payload"] == {"thing_id": "t1", "number": 1, "note": ""}
        assert (told["error"], told["stack"]) == ("no such case", "Traceback ...")
        assert [(act["kind"], act["actor"], act["reason"]) for act in told["acts"]] == [
            ("discarded", "alice@acme.example", "a duplicate")
        ]
        assert [each["id"] for each in told["history"]] == [str(letter.pk)]

    def test_an_unreadable_one_shows_its_bytes(self, root_api, unreadable):
        told = root_api.get(at(unreadable)).json()

        assert (told["payload"], told["raw"], told["draft"]) == (None, "what=\\xff", {})

    @pytest.mark.parametrize("payload", ["{not json", "[1, 2]"])
    def test_a_payload_that_is_none_is_shown_as_it_is(self, acme, letter_of, bob_api, payload):
        letter = letter_of(acme)
        letter.fields["payload"] = payload
        letter.save()
        told = bob_api.get(at(letter)).json()

        assert (told["payload"], told["raw"], told["draft"]) == (None, payload, {})

    def test_what_became_of_it_is_told(self, alice_api, letter):
        assert alice_api.get(at(letter)).json()["outcome"] == ""
        services.redrive(letter, by="alice")
        assert alice_api.get(at(letter)).json()["outcome"] == "waiting"
        InboxEntry.objects.create(event_id=letter.event_id, group=GROUP)
        assert alice_api.get(at(letter)).json()["outcome"] == "done"

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ({"status": "open"}, 1), ({"status": "discarded"}, 0),
            ({"group": GROUP}, 1), ({"group": "other"}, 0),
            ({"stream": "axiom:events"}, 1), ({"stream": "axiom:chat"}, 0),
            ({"fingerprint": "f1"}, 1), ({"fingerprint": "f2"}, 0),
            ({"event_type": "TEST_THING_HAPPENED"}, 1), ({"event_type": "case.created"}, 0),
            ({"event_type": "NO_LONGER_DECLARED"}, 0),
            ({"trace_id": "a" * 32}, 1), ({"trace_id": "b" * 32}, 0),
            ({"aggregate_id": "t1"}, 1), ({"aggregate_id": "t2"}, 0),
            ({"event_id": "018f2d1c-0000-7000-8000-000000000001"}, 0),
            ({"since": "2020-01-01T00:00:00Z"}, 1), ({"until": "2020-01-01T00:00:00Z"}, 0),
        ],
    )  # fmt: skip
    def test_it_is_found_by_every_filter(self, bob_api, letter, query, count):
        assert len(listed(bob_api, **query)) == count

    def test_a_wrong_filter_is_told(self, bob_api):
        answer = bob_api.get(URL, {"status": "gone", "since": "yesterday"})
        assert answer.status_code == 400
        assert {fault["parameter"] for fault in answer.json()["errors"]} == {"status", "since"}

    def test_pages_neither_skip_nor_repeat(self, bob_api, acme, letter_of):
        letters = {str(letter_of(acme, number).pk) for number in range(1, 6)}
        page = bob_api.get(URL, {"page_size": 2}).json()
        seen = [row["id"] for row in page["results"]]
        while page["next"]:
            page = bob_api.get(page["next"]).json()
            seen += [row["id"] for row in page["results"]]

        assert len(seen) == 5
        assert set(seen) == letters


class TestKinds:
    def test_letters_of_one_kind_are_one_row(self, bob_api, acme, letter_of, foreign):
        # Ids of one millisecond have no order.
        moments = [datetime(2026, 3, 1, second=number, tzinfo=UTC) for number in (1, 2, 3)]
        newest = [letter_of(acme, n, id=first_id_of(at)) for n, at in enumerate(moments, 1)][-1]
        letter_of(acme, 4, fingerprint="f2")
        first, second = bob_api.get(f"{URL}groups/").json()["results"]

        assert (first["fingerprint"], first["count"], first["tenants"]) == ("f1", 3, 1)
        assert first["sample"]["id"] == str(newest.pk)
        assert (second["fingerprint"], second["count"]) == ("f2", 1)

    def test_who_runs_the_platform_sees_how_many_tenants_are_hit(self, root_api, letter, foreign):
        (kind,) = root_api.get(f"{URL}groups/").json()["results"]
        assert (kind["count"], kind["tenants"]) == (2, 2)

    def test_settled_ones_count_only_when_asked_for(self, bob_api, letter):
        services.discard(letter, by="alice", reason="noise")
        assert bob_api.get(f"{URL}groups/").json()["results"] == []
        assert len(bob_api.get(f"{URL}groups/", {"status": "discarded"}).json()["results"]) == 1

    def test_each_hour_has_its_count(self, acme, letter_of):
        now = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
        for number, minutes in enumerate((0, 29, 31, 23 * 60, 25 * 60), start=1):
            letter_of(acme, number, created_at=now - timedelta(minutes=minutes))
        (kind,) = kinds_of_letters(letters_of(acme.pk), now=now)

        assert (kind.hours[-1], kind.hours[-2], kind.hours[0]) == (2, 1, 1)
        assert (sum(kind.hours), kind.count) == (4, 5)

    def test_many_kinds_cost_three_queries(self, acme, letter_of, django_assert_num_queries):
        for number in range(1, 11):
            letter_of(acme, number, fingerprint=f"f{number}")
        with django_assert_num_queries(3):
            assert len(kinds_of_letters(letters_of(acme.pk))) == 10


class TestActing:
    @pytest.mark.parametrize(
        ("act", "body"),
        [
            ("redrive", {}),
            ("edit", {"payload": {"thing_id": "t1"}, "reason": "typo"}),
            ("dry-run", {}),
            ("discard", {"reason": "noise"}),
        ],
    )
    def test_is_for_operators_of_the_tenant_only(
        self, alice_api, bob_api, charlie_api, letter, act, body
    ):
        assert bob_api.post(at(letter, act), body).status_code == 403
        assert charlie_api.post(at(letter, act), body).status_code == 404
        letter.refresh_from_db()
        assert (letter.status, letter.acts.count()) == ("open", 0)

        assert alice_api.post(at(letter, act), body).status_code == 200
        assert letter.acts.get().actor == "alice@acme.example"

    def test_redriving_puts_it_on_its_way(self, alice_api, letter):
        answer = alice_api.post(at(letter, "redrive"), {"reason": "fixed"})

        assert answer.json()["status"] == "redriven"
        assert Retry.objects.get().event_id == letter.event_id

    def test_a_settled_letter_is_a_conflict(self, alice_api, letter):
        alice_api.post(at(letter, "redrive"))
        answer = alice_api.post(at(letter, "redrive"))

        assert (answer.status_code, answer.json()["code"]) == (409, "dead_letter_not_open")

    def test_a_repeated_request_with_a_key_is_answered_again_and_not_done_again(
        self, alice_api, letter
    ):
        for _ in range(2):
            answer = alice_api.post(at(letter, "redrive"), headers={"Idempotency-Key": "once"})
            assert answer.json()["status"] == "redriven"
        assert letter.acts.count() == 1

    def test_an_edit_is_shown_as_a_difference(self, alice_api, letter):
        body = {"payload": {"thing_id": "t1", "number": 7}, "reason": "typo"}
        told = alice_api.post(at(letter, "edit"), body).json()

        assert told["status"] == "replaced"
        assert UUID(told["replaced_by"]) == OutboxEvent.objects.get().event_id
        assert '+  "number": 7,' in told["acts"][0]["diff"]

    def test_an_edit_that_does_not_fit_says_where(self, alice_api, letter):
        body = {"payload": {"thing_id": "t1", "number": "many"}, "reason": "typo"}
        answer = alice_api.post(at(letter, "edit"), body)

        assert (answer.status_code, answer.json()["code"]) == (422, "payload_does_not_fit")
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["#/payload/number"]

    def test_an_edit_and_a_discard_need_a_reason(self, alice_api, letter):
        assert alice_api.post(at(letter, "edit"), {"payload": {}}).status_code == 400
        for reason in ({}, {"reason": " "}):
            assert alice_api.post(at(letter, "discard"), reason).status_code == 400

    def test_an_operator_cannot_give_an_edit_to_another_tenant(
        self, alice_api, letter, rival, acme
    ):
        body = {"payload": {"thing_id": "t1"}, "reason": "typo", "tenant_id": str(rival.pk)}
        alice_api.post(at(letter, "edit"), body)

        assert OutboxEvent.objects.get().tenant_id == acme.pk

    def test_a_dry_run_tells_what_would_happen(self, alice_api, letter, handled):
        told = alice_api.post(
            at(letter, "dry-run"), {"payload": {"thing_id": "t1", "number": 7}}
        ).json()

        assert (told["outcome"], told["published"]) == ("ok", [])
        assert '+  "number": 7,' in told["diff"]
        assert [message.event.number for message in handled] == [7]
        letter.refresh_from_db()
        assert letter.status == "open"

    def test_an_unreadable_one_can_be_edited_or_discarded_by_the_platform(
        self, root_api, alice_api, unreadable, acme
    ):
        assert alice_api.post(at(unreadable, "discard"), {"reason": "noise"}).status_code == 404
        assert root_api.post(at(unreadable, "redrive")).json()["code"] == "dead_letter_unreadable"
        body = {"payload": {"thing_id": "t1"}, "event_type": "TEST_THING_HAPPENED",
                "reason": "mended"}  # fmt: skip
        assert root_api.post(at(unreadable, "edit"), body).json()["code"] == "event_without_tenant"
        answer = root_api.post(at(unreadable, "edit"), body | {"tenant_id": str(acme.pk)})
        assert answer.status_code == 200
        assert OutboxEvent.objects.get().tenant_id == acme.pk


class TestRedrives:
    URL = f"{URL}redrives/"

    def test_selected_letters_are_sent_again_and_progress_is_told(
        self, alice_api, acme, letter_of, foreign
    ):
        first, second, third = (letter_of(acme, number) for number in (1, 2, 3))
        wanted = [str(each.pk) for each in (first, second, foreign)]
        made = alice_api.post(self.URL, {"ids": wanted, "rate": 100, "reason": "fixed"})
        assert made.status_code == 201
        assert (made.json()["total"], made.json()["status"]) == (2, "running")

        services.advance_redrives(Redrive.objects.get().created_at + timedelta(seconds=1))
        InboxEntry.objects.create(event_id=first.event_id, group=GROUP)
        told = alice_api.get(made["Location"]).json()
        assert (told["sent"], told["status"]) == (2, "done")
        assert told["progress"] == {"done": 1, "failed_again": 0, "waiting": 1}
        assert set(letters_of(None).filter(status="open")) == {foreign, third}

    def test_all_that_match_are_sent_again(self, alice_api, acme, letter_of):
        letter_of(acme, 1)
        letter_of(acme, 2, fingerprint="f2")
        made = alice_api.post(self.URL, {"fingerprint": "f2"}).json()

        assert (made["total"], made["filters"]) == (1, {"fingerprint": "f2"})
        assert made["actor"] == "alice@acme.example"

    def test_everything_has_to_be_said(self, alice_api, letter):
        assert alice_api.post(self.URL, {}).status_code == 400
        assert alice_api.post(self.URL, {"everything": True}).json()["total"] == 1

    def test_a_tenant_cannot_redrive_anothers(self, alice_api, letter, foreign, rival):
        made = alice_api.post(self.URL, {"tenant_id": str(rival.pk)}).json()
        assert made["total"] == 0

    def test_who_runs_the_platform_redrives_everybodys(self, root_api, letter, foreign):
        assert root_api.post(self.URL, {"everything": True}).json()["total"] == 2

    def test_it_is_stopped(self, alice_api, letter):
        made = alice_api.post(self.URL, {"everything": True}).json()
        stopped = alice_api.post(f"{self.URL}{made['id']}/stop/")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "stopped")
        assert stopped.json()["stopped_by"] == "alice@acme.example"
        again = alice_api.post(f"{self.URL}{made['id']}/stop/")
        assert (again.status_code, again.json()["code"]) == (409, "redrive_not_running")

    def test_viewers_look_and_others_see_nothing(self, alice_api, bob_api, charlie_api, letter):
        made = alice_api.post(self.URL, {"everything": True}).json()
        assert bob_api.post(self.URL, {"everything": True}).status_code == 403
        assert bob_api.post(f"{self.URL}{made['id']}/stop/").status_code == 403
        assert [row["id"] for row in bob_api.get(self.URL).json()["results"]] == [made["id"]]
        assert charlie_api.get(self.URL).json()["results"] == []
        assert charlie_api.get(f"{self.URL}{made['id']}/").status_code == 404
        assert charlie_api.post(f"{self.URL}{made['id']}/stop/").status_code == 404

    @pytest.mark.parametrize("rate", [0, -1, 1001, "fast"])
    def test_a_senseless_rate_is_refused(self, alice_api, rate):
        answer = alice_api.post(self.URL, {"everything": True, "rate": rate})
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["#/rate"]

    def test_too_many_selected_are_refused(self, alice_api):
        ids = [str(uuid4()) for _ in range(1001)]
        assert alice_api.post(self.URL, {"ids": ids}).status_code == 400
