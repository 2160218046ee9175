"""The demo: somebody in every role, loaded once, as new after a reset, never in production."""

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client

from apps.accounts.models import Membership, Tenant, User
from apps.events.context import acting
from apps.notifications.models import Notification
from apps.notifications.services import Notice, notify
from axiom import demo
from axiom.roles import Role

pytestmark = pytest.mark.django_db


def test_every_role_exists_in_both_companies():
    demo.load()
    for tenant in Tenant.objects.all():
        roles = Membership.objects.filter(tenant=tenant).values_list("role", flat=True)
        assert sorted(roles) == sorted(Role.values)
    assert Tenant.objects.count() == 2


def test_the_printed_login_opens_the_console():
    demo.load()
    client = Client()
    client.post("/admin/login/", {"username": demo.LOGIN, "password": demo.PASSWORD})
    assert client.get("/admin/").status_code == 200


def test_loading_again_changes_nothing():
    demo.load()
    User.objects.filter(email=demo.LOGIN).update(name="renamed by hand")
    demo.load()
    assert User.objects.get(email=demo.LOGIN).name == "renamed by hand"
    assert Membership.objects.count() == 12


def test_who_deletes_the_demo_does_not_get_it_back_unasked():
    assert demo.load_once()
    demo.empty_tenants(Tenant.objects.all())
    Tenant.objects.all().delete()
    assert not demo.load_once()
    assert not Tenant.objects.exists()


def test_a_reset_makes_the_demo_new_and_leaves_other_companies_alone():
    demo.load()
    own = Tenant.objects.create(name="Own", slug="own")
    User.objects.filter(email=demo.LOGIN).update(name="renamed by hand")
    call_command("demo", "reset")
    assert User.objects.get(email=demo.LOGIN).name == "김서연"
    assert Membership.objects.count() == 12
    assert Tenant.objects.filter(pk=own.pk).exists()


def test_production_refuses_the_demo(settings):
    settings.PRODUCTION = True
    for action in ("load", "reset"):
        with pytest.raises(CommandError, match="not for production"):
            call_command("demo", action)
    assert not User.objects.exists()


@pytest.fixture
def mended():
    yield
    demo.mend()


@pytest.mark.django_db(transaction=True)
def test_what_the_demo_breaks_fails_until_it_is_mended(acme, alice, mended):
    about = {"event_type": "CASE_CREATED"}
    with acting(tenant_id=acme.pk):
        call_command("demo", "break")
        notify([Notice([alice.pk], "other", "alert", "Something else")])
        with pytest.raises(IntegrityError):
            notify([Notice([alice.pk], "case", "alert", "A new case", facts=about)])
        call_command("demo", "mend")
        notify([Notice([alice.pk], "case", "alert", "A new case", facts=about)])

        assert Notification.objects.count() == 2
