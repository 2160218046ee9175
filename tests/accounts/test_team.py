"""Admins manage the people of their tenant, and of no other."""

import json
import threading
import uuid

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from apps.accounts import services, tasks
from apps.accounts.errors import AlreadyAMember, EmailTaken, LastAdmin
from apps.accounts.models import Membership, Tenant, User
from apps.events.models import OutboxEvent
from axiom.roles import Role

pytestmark = pytest.mark.django_db

MEMBERS, TENANT = "/api/v1/members/", "/api/v1/tenants/current/"


def member_url(user):
    return f"{MEMBERS}{user.pk}/"


def if_match(api, url):
    return {"If-Match": api.get(url)["ETag"]}


def emails(response):
    return [each["email"] for each in response.json()["results"]]


def test_everyone_sees_the_members_of_their_own_tenant(alice_api, bob_api, charlie_api):
    assert emails(bob_api.get(MEMBERS)) == ["alice@acme.example", "bob@acme.example"]
    assert emails(charlie_api.get(MEMBERS)) == ["charlie@rival.example"]


def test_a_list_of_members_costs_two_queries(alice_api, acme, member_of, django_assert_num_queries):
    for number in range(20):
        member_of(acme, f"person{number}", "analyst")
    with django_assert_num_queries(2):
        assert len(alice_api.get(MEMBERS).json()["results"]) == 21


def test_members_are_filtered_and_sorted(alice_api, bob, acme, member_of):
    member_of(acme, "zoe", "analyst")
    assert emails(alice_api.get(MEMBERS, {"role": "viewer"})) == ["bob@acme.example"]
    assert emails(alice_api.get(MEMBERS, {"q": "ZO"})) == ["zoe@acme.example"]
    assert emails(alice_api.get(MEMBERS, {"ordering": "-name"}))[0] == "zoe@acme.example"


def test_another_tenants_member_does_not_exist(charlie_api, alice):
    for method in ("get", "patch", "delete"):
        response = getattr(charlie_api, method)(member_url(alice), headers={"If-Match": "*"})
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_an_admin_invites_someone_new(alice_api, acme):
    body = {"email": "Dora@Acme.example", "name": "Dora", "role": "attorney"}
    response = alice_api.post(MEMBERS, body)
    dora = User.objects.get(email="dora@acme.example")
    assert response.status_code == 201
    assert response["Location"].endswith(member_url(dora))
    assert response["ETag"] == alice_api.get(member_url(dora))["ETag"]
    assert (dora.memberships.get().role, dora.has_usable_password()) == ("attorney", False)


def test_an_invitation_is_said_as_an_event(alice_api, acme):
    alice_api.post(MEMBERS, {"email": "dora@acme.example", "name": "Dora", "role": "attorney"})
    event = OutboxEvent.objects.get(event_type="USER_CREATED")
    dora = User.objects.get(email="dora@acme.example")
    assert (event.tenant_id, event.actor) == (acme.pk, "alice@acme.example")
    assert json.loads(event.payload) == {
        "user_id": str(dora.pk),
        "email": "dora@acme.example",
        "name": "Dora",
        "role": "attorney",
        "language": "en",
    }


def test_the_invited_get_a_link_by_mail_and_nobody_else_sees_it(
    alice_api, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks() as callbacks:
        response = alice_api.post(MEMBERS, {"email": "dora@acme.example", "role": "attorney"})
    tasks.send_invitation(response.json()["id"], "Acme")
    (message,) = mail.outbox
    assert message.to == ["dora@acme.example"]
    assert "/accounts/password/" in message.body
    assert "password" not in response.content.decode()
    assert any("invitation" in repr(callback) for callback in callbacks)


def test_a_person_of_another_tenant_may_be_invited_too(alice_api, charlie, acme):
    response = alice_api.post(MEMBERS, {"email": charlie.email, "role": "viewer", "name": "X"})
    charlie.refresh_from_db()
    assert (response.status_code, charlie.name) == (201, "Charlie")
    assert set(charlie.memberships.values_list("tenant__slug", "role")) == {
        ("rival", "admin"), ("acme", "viewer"),
    }  # fmt: skip


def test_a_member_cannot_be_invited_again(alice_api, bob):
    response = alice_api.post(MEMBERS, {"email": bob.email, "role": "admin"})
    assert (response.status_code, response.json()["code"]) == (409, "already_a_member")
    assert bob.memberships.get().role == "viewer"


def test_a_changed_role_holds_from_the_next_request(alice_api, bob_api, bob):
    url = member_url(bob)
    assert bob_api.post(MEMBERS, {"email": "x@acme.example", "role": "viewer"}).status_code == 403
    alice_api.patch(url, {"role": "admin"}, headers=if_match(alice_api, url))
    assert bob_api.post(MEMBERS, {"email": "x@acme.example", "role": "viewer"}).status_code == 201


def test_a_removed_member_is_out_at_once(alice_api, bob_api, bob):
    url = member_url(bob)
    assert alice_api.delete(url, headers=if_match(alice_api, url)).status_code == 204
    assert bob_api.get("/api/v1/auth/me/").json()["code"] == "login_ended"
    assert User.objects.filter(pk=bob.pk).exists()


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_admins_manage_people(role, acme, alice, member_of, api_of):
    api = api_of(member_of(acme, "erin", role))
    url = member_url(alice)
    refused = [
        api.post(MEMBERS, {"email": "x@acme.example", "role": "admin"}),
        api.patch(url, {"role": "viewer"}, headers={"If-Match": "*"}),
        api.delete(url, headers={"If-Match": "*"}),
        api.patch(TENANT, {"name": "Mine"}, headers={"If-Match": "*"}),
    ]
    assert [each.status_code for each in refused] == [403] * 4
    assert api.get(url).status_code == 200


def test_the_last_admin_stays(alice_api, alice, bob):
    url = member_url(alice)
    demoted = alice_api.patch(url, {"role": "viewer"}, headers=if_match(alice_api, url))
    removed = alice_api.delete(url, headers=if_match(alice_api, url))
    for response in (demoted, removed):
        assert (response.status_code, response.json()["code"]) == (409, "last_admin")
    assert alice.memberships.get().role == "admin"


def test_a_deactivated_admin_does_not_count_as_one(alice, acme, member_of):
    services.deactivate_user(user=member_of(acme, "erin", "admin"))
    with pytest.raises(LastAdmin):
        services.remove_member(membership=alice.memberships.get())


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_leave_at_the_same_moment_do_not_leave_none(acme, alice, member_of):
    erin = member_of(acme, "erin", "admin")
    outcomes, start = [], threading.Barrier(2)

    def leave(user):
        membership = Membership.objects.get(user=user)
        start.wait()
        try:
            services.remove_member(membership=membership)
            outcomes.append("left")
        except LastAdmin:
            outcomes.append("stayed")
        finally:
            connection.close()

    threads = [threading.Thread(target=leave, args=[user]) for user in (alice, erin)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["left", "stayed"]
    assert Membership.objects.filter(tenant=acme, role="admin").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_invitations_of_the_same_person_make_one(alice, acme):
    outcomes, start = [], threading.Barrier(2)

    def invite():
        tenant = Tenant.objects.get(pk=acme.pk)
        start.wait()
        try:
            with transaction.atomic():
                services.invite(tenant=tenant, email="dora@acme.example", role="viewer")
            outcomes.append(201)
        except (ValidationError, AlreadyAMember, EmailTaken) as error:
            outcomes.append(getattr(error, "status", 400))
        finally:
            connection.close()

    threads = [threading.Thread(target=invite) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 201 in outcomes
    assert set(outcomes) <= {201, 400, 409}
    assert User.objects.filter(email="dora@acme.example").count() == 1


def test_an_admin_renames_the_tenant(alice_api, acme):
    response = alice_api.patch(TENANT, {"name": "Acme Ltd"}, headers=if_match(alice_api, TENANT))
    acme.refresh_from_db()
    assert (response.status_code, acme.name, acme.slug) == (200, "Acme Ltd", "acme")


def test_a_tenant_cannot_be_moved_by_its_short_name(alice_api, acme):
    alice_api.patch(TENANT, {"slug": "rival"}, headers=if_match(alice_api, TENANT))
    acme.refresh_from_db()
    assert acme.slug == "acme"


def test_a_created_person_is_said_as_an_event_or_not_created(acme):
    with pytest.raises(ValueError, match="emperor"):
        services.create_user(tenant=acme, email="nero@acme.example", role="emperor")
    assert not User.objects.filter(email="nero@acme.example").exists()


def test_an_unknown_member_does_not_exist(alice_api):
    assert alice_api.get(f"{MEMBERS}{uuid.uuid4()}/").status_code == 404
    assert alice_api.get(f"{MEMBERS}nonsense/").status_code == 404
