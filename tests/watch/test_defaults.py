"""What people in each role are told of, unless they say otherwise."""

from dataclasses import replace

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils.translation import gettext, override

from apps.accounts.services import create_user
from apps.events.catalog import canonical
from apps.events.context import acting
from apps.watch import defaults, services
from apps.watch.models import SeededDefault, Subscription
from apps.watch.rules import parse
from axiom.roles import Role
from tests.watch.stories import at, happened, message

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", Role.values)
def test_every_default_can_be_watched(role):
    for default in defaults.defaults_of(role):
        parse(default.rule)
        assert services.watchable(default.event_types) == sorted(default.event_types)
        assert all(canonical(name) == name for name in default.event_types)


@pytest.mark.parametrize(
    ("role", "about"),
    [
        ("admin", {"DEADLINE_APPROACHING", "ANOMALY_INDICATOR"}),
        ("manager", {"DEADLINE_APPROACHING", "PAYMENT_DUE", "APPROVAL_DEADLINE_MISSED",
                     "ALERT_ESCALATED"}),
        ("attorney", {"REVIEW_SCHEDULED", "WORKITEM_CREATED"}),
        ("analyst", {"DATA_REGISTERED", "BOTTLENECK_DETECTED"}),
        ("engineer", {"DATA_REGISTERED", "metadata.table.removed", "ANOMALY_INDICATOR"}),
        ("viewer", set()),
    ],
)  # fmt: skip
def test_new_people_are_given_what_their_role_wants_to_know(acme, role, about):
    user = new_person(acme, role)
    types = {t for s in Subscription.across_tenants.filter(user=user) for t in s.event_types}
    assert about <= types
    assert bool(types) is bool(about)


def new_person(tenant, role, language="en"):
    """Somebody who was created, and whose creation the watch has seen."""
    user = create_user(tenant=tenant, email=f"{role}@new.example", role=role, language=language)
    event = happened(event_type="USER_CREATED", user_id=str(user.pk), role=role)
    with transaction.atomic():
        services.watch_events([message(event, tenant.pk)], now=at("13:00"))
    return user


def test_their_subscriptions_have_names_in_their_language(acme):
    user = new_person(acme, "attorney", "ko")
    with override("ko"):
        expected = {gettext(default.name) for default in defaults.defaults_of("attorney")}
    assert {row.name for row in Subscription.across_tenants.filter(user=user)} == expected


def seeded(tenant, user, role):
    with acting(tenant_id=tenant.pk):
        return services.seed_defaults(user=user, role=role)


def test_seeding_again_changes_nothing(acme):
    user = new_person(acme, "manager")
    before = _rows()
    assert seeded(acme, user, "manager") == 0
    assert _rows() == before


def _rows():
    columns = ("pk", "name", "rule", "revision", "rule_since", "severity")
    return list(Subscription.across_tenants.order_by("pk").values_list(*columns))


@pytest.fixture
def new_defaults(monkeypatch):
    """The next release has other defaults."""

    def release(**changes):
        newer = replace(defaults.APPROVALS, **changes)
        monkeypatch.setitem(defaults._BY_ROLE, Role.MANAGER, (newer,))

    return release


def test_what_nobody_touched_follows_the_defaults(acme, new_defaults):
    user = new_person(acme, "manager")
    new_defaults(severity="CRITICAL")
    assert seeded(acme, user, "manager") == 1
    row = Subscription.across_tenants.get(user=user, event_types=["APPROVAL_DEADLINE_MISSED"])
    assert row.severity == "CRITICAL"


def test_what_its_owner_changed_is_left_alone(acme, new_defaults):
    user = new_person(acme, "manager")
    row = Subscription.across_tenants.get(user=user, event_types=["APPROVAL_DEADLINE_MISSED"])
    with acting(tenant_id=acme.pk):
        services.change_subscription(subscription=row, channels=["email"])
    new_defaults(severity="CRITICAL")
    assert seeded(acme, user, "manager") == 0
    row.refresh_from_db()
    assert (row.channels, row.severity) == (["email"], "HIGH")


def test_what_was_given_to_somebody_else_is_left_alone(acme, alice, new_defaults):
    user = new_person(acme, "manager")
    row = Subscription.across_tenants.get(user=user, event_types=["APPROVAL_DEADLINE_MISSED"])
    with acting(tenant_id=acme.pk):
        services.change_subscription(subscription=row, user=alice)
    new_defaults(severity="CRITICAL")
    assert seeded(acme, user, "manager") == 0
    row.refresh_from_db()
    assert row.severity == "HIGH"


def test_a_snooze_makes_it_nobodys_own(acme, new_defaults):
    user = new_person(acme, "manager")
    row = Subscription.across_tenants.get(user=user, event_types=["APPROVAL_DEADLINE_MISSED"])
    services.snooze(subscription=row, until=at("23:00"), now=at("13:00"))
    new_defaults(severity="CRITICAL")
    assert seeded(acme, user, "manager") == 1


def test_what_its_owner_deleted_stays_deleted(acme):
    user = new_person(acme, "manager")
    row = Subscription.across_tenants.get(user=user, event_types=["ALERT_ESCALATED"])
    with acting(tenant_id=acme.pk):
        services.unsubscribe(subscription=row)
    assert seeded(acme, user, "manager") == 0
    assert not Subscription.across_tenants.filter(event_types=["ALERT_ESCALATED"]).exists()
    assert SeededDefault.across_tenants.get(key="escalations").subscription is None


def test_somebody_who_left_before_we_looked_is_given_nothing(acme):
    event = happened(
        event_type="USER_CREATED", user_id="018f2d1c-0000-7000-8000-0000000000a1", role="admin"
    )
    with transaction.atomic():
        services.watch_events([message(event, acme.pk)], now=at("13:00"))
    assert not Subscription.across_tenants.exists()


def test_everybody_is_seeded_by_a_command(acme, member_of):
    member_of(acme, "dora", "analyst")
    call_command("watch", "seed")
    assert Subscription.across_tenants.count() == len(defaults.defaults_of("analyst"))
