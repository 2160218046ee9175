"""People are managed in the console through the same services as in the API."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail

from apps.accounts.models import LoginSession, Membership, Tenant, User

MEMBERS = "/admin/accounts/membership/"
PEOPLE = "/admin/accounts/user/"
LOGINS = "/admin/accounts/loginsession/"
TENANTS = "/admin/accounts/tenant/"
pytestmark = pytest.mark.django_db


def said(answer):
    return [str(message) for message in answer.context["messages"]]


def test_an_admin_invites_a_person_and_the_log_says_so(alice, console_of, acme):
    answer = console_of(alice).post(
        f"{MEMBERS}add/", {"email": "Dora@Acme.example", "role": "analyst"}, follow=True
    )
    assert answer.status_code == 200
    dora = Membership.objects.get(tenant=acme, user__email="dora@acme.example")
    assert dora.role == "analyst"
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id, entry.is_addition()) == (alice, str(dora.pk), True)


def test_inviting_a_member_again_is_refused_in_words(alice, bob, console_of):
    answer = console_of(alice).post(
        f"{MEMBERS}add/", {"email": bob.email, "role": "admin"}, follow=True
    )
    assert said(answer) == ["This person is a member already."]
    assert bob.memberships.get().role == "viewer"
    assert not LogEntry.objects.exists()


def test_an_admin_changes_a_role(alice, bob, console_of):
    membership = bob.memberships.get()
    console_of(alice).post(f"{MEMBERS}{membership.pk}/change/", {"role": "manager"})
    membership.refresh_from_db()
    assert membership.role == "manager"
    assert LogEntry.objects.get().is_change()


def test_the_last_admin_stays(alice, console_of):
    membership = alice.memberships.get()
    console = console_of(alice)
    change = console.post(f"{MEMBERS}{membership.pk}/change/", {"role": "viewer"}, follow=True)
    assert said(change) == ["A tenant needs an admin: name another one first."]
    delete = console.post(f"{MEMBERS}{membership.pk}/delete/", {"post": "yes"}, follow=True)
    assert said(delete) == ["A tenant needs an admin: name another one first."]
    membership.refresh_from_db()
    assert membership.role == "admin"


def test_who_leaves_a_tenant_is_logged_out_of_it(alice, bob, console_of):
    bobs = console_of(bob)
    console_of(alice).post(f"{MEMBERS}{bob.memberships.get().pk}/delete/", {"post": "yes"})
    assert bobs.get("/admin/").status_code == 302
    assert LogEntry.objects.get().is_deletion()


def test_only_admins_see_users_and_logins(bob, console_of):
    console = console_of(bob)
    assert console.get(MEMBERS).status_code == 200
    for page in (PEOPLE, LOGINS, TENANTS):
        assert console.get(page).status_code == 403


def test_an_admin_sees_the_people_of_the_own_tenant_only(alice, charlie, console_of):
    console = console_of(alice)
    assert charlie.email not in console.get(PEOPLE).content.decode()
    assert charlie.email not in console.get(MEMBERS).content.decode()
    assert console.get(f"{PEOPLE}{charlie.pk}/change/").status_code == 302
    assert console.get(f"{PEOPLE}{charlie.pk}/password/").status_code in {302, 403, 404}


def test_an_admin_of_a_tenant_does_not_touch_accounts_or_tenants(alice, bob, console_of, acme):
    """A person may belong to other tenants as well."""
    console = console_of(alice)
    assert console.post(f"{PEOPLE}{bob.pk}/change/", {"name": "x"}).status_code == 403
    assert console.get(f"{PEOPLE}{bob.pk}/password/").status_code == 403
    assert console.post(f"{TENANTS}{acme.pk}/change/", {"name": "x"}).status_code == 403
    assert console.get(f"{TENANTS}add/").status_code == 403
    assert console.get(f"{PEOPLE}{bob.pk}/change/").status_code == 200


def test_the_memberships_elsewhere_of_a_person_are_not_shown(alice, bob, console_of, rival):
    Membership.objects.create(tenant=rival, user=bob, role="admin")
    assert "Rival" not in console_of(alice).get(f"{PEOPLE}{bob.pk}/change/").content.decode()


def test_who_runs_the_platform_creates_tenants_and_people(root, console_of):
    console = console_of(root)
    console.post(f"{TENANTS}add/", {"name": "Harbor", "slug": "harbor", "timezone": "Asia/Seoul"})
    assert Tenant.objects.get(slug="harbor").is_active
    person = {
        "email": "dora@harbor.example", "name": "Dora", "language": "ko",
        "usable_password": "true", "password1": "correct horse 9", "password2": "correct horse 9",
    }  # fmt: skip
    made = console.post(f"{PEOPLE}add/", person)
    assert made.status_code == 302, made.context["errors"]
    assert User.objects.get(email="dora@harbor.example").check_password("correct horse 9")
    assert LogEntry.objects.count() == 2


def test_who_is_deactivated_is_out_at_once(root, alice, console_of):
    alices = console_of(alice)
    answer = console_of(root).post(
        f"{PEOPLE}{alice.pk}/change/",
        {
            "email": alice.email, "name": "Alice", "language": "en", "timezone": "UTC",
            "is_staff": "on", "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0,
        },
    )  # fmt: skip
    assert answer.status_code == 302
    assert alices.get("/admin/").status_code == 302
    assert not LoginSession.objects.filter(user=alice, revoked_at=None).exists()


def test_a_new_password_set_by_the_platform_ends_the_old_logins(root, alice, console_of):
    alices = console_of(alice)
    console_of(root).post(
        f"{PEOPLE}{alice.pk}/password/",
        {"usable_password": "true", "password1": "another horse 7", "password2": "another horse 7"},
    )
    alice.refresh_from_db()
    assert alice.check_password("another horse 7")
    assert alices.get("/admin/").status_code == 302


def test_an_admin_ends_logins(alice, bob, console_of):
    bobs, console = console_of(bob), console_of(alice)
    login = LoginSession.objects.get(user=bob)
    answer = console.post(LOGINS, {"action": "end", "_selected_action": str(login.pk)}, follow=True)
    assert said(answer) == ["1 login was ended."]
    assert bobs.get("/admin/").status_code == 302
    assert LogEntry.objects.get().object_id == str(login.pk)


def test_logins_are_history_and_tell_no_secret(alice, console_of):
    console = console_of(alice)
    login = LoginSession.objects.get(user=alice)
    page = console.get(f"{LOGINS}{login.pk}/change/")
    assert login.password_stamp not in page.content.decode()
    assert console.post(f"{LOGINS}{login.pk}/change/", {"kind": "token"}).status_code == 403
    assert console.get(f"{LOGINS}add/").status_code == 403


def test_a_lock_is_lifted_by_the_platform(root, alice, console_of, client, settings):
    from axes.models import AccessAttempt

    for _ in range(settings.AXES_FAILURE_LIMIT):
        client.post("/admin/login/", {"username": alice.email, "password": "wrong"})
    locked = client.post("/admin/login/", {"username": alice.email, "password": "wrong"})
    assert locked.status_code == 429
    attempt = AccessAttempt.objects.get()
    console_of(root).post(
        "/admin/axes/accessattempt/",
        {"action": "let_them_try_again", "_selected_action": str(attempt.pk)},
    )
    again = client.post("/admin/login/", {"username": alice.email, "password": "wrong"})
    assert again.status_code == 200
    assert console_of(alice).get("/admin/axes/accessattempt/").status_code == 403


def test_nothing_is_mailed_by_looking(alice, console_of):
    console_of(alice).get(MEMBERS)
    assert mail.outbox == []
