"""Fixtures that every test may use."""

import pytest
from django.conf import settings

from tests.databases import django_db_setup  # noqa: F401

PASSWORD = "correct horse battery"


def pytest_terminal_summary(terminalreporter):
    from tests.faults.story import tell

    tell(terminalreporter)


def pytest_xdist_make_scheduler(config, log):
    from tests.distribution import Scheduling

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Under pytest 9.2 all operations of Schemathesis have one id, and of one id one test runs."""
    for item in items:
        operation = getattr(item, "operation_label", None)
        if operation and operation not in item.nodeid:
            item._id = type(item.id).parse(f"{item.nodeid}[{operation}]")
    yield  # pytest-django has an order of its own.
    # Minutes long: begun last, it would keep one worker busy while the others have nothing to do.
    items.sort(key=lambda item: "test_benchmarks.py" not in item.nodeid)


@pytest.fixture
def redis_client():
    """An empty Redis database of this test worker's own."""
    import redis

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client


@pytest.fixture
def streams(redis_client, db):
    """The streams and groups, as the relay makes them."""
    from apps.events import bus, handlers, healing

    healing.heal(bus.connect(), handlers.readers())
    return redis_client


@pytest.fixture
def acme(db):
    """The tenant of Alice and Bob."""
    from apps.accounts.models import Tenant

    return Tenant.objects.create(name="Acme", slug="acme")


@pytest.fixture
def rival(db):
    """Charlie's tenant."""
    from apps.accounts.models import Tenant

    return Tenant.objects.create(name="Rival", slug="rival")


@pytest.fixture
def member_of():
    """Makes a person of a tenant, quietly: no event is published."""
    from apps.accounts.models import Membership, User

    def make(tenant, name, role):
        user = User.objects.create_user(
            f"{name}@{tenant.slug}.example", PASSWORD, name=name.title()
        )
        Membership.objects.create(tenant=tenant, user=user, role=role)
        return user

    return make


@pytest.fixture
def alice(acme, member_of):
    """Owns: an admin of Acme."""
    return member_of(acme, "alice", "admin")


@pytest.fixture
def bob(acme, member_of):
    """May see: a viewer of Acme."""
    return member_of(acme, "bob", "viewer")


@pytest.fixture
def charlie(rival, member_of):
    """May not: an admin, but of another tenant."""
    return member_of(rival, "charlie", "admin")


@pytest.fixture
def console_of():
    """Makes the browser of a person who may use the console, logged in."""

    from django.test import Client

    def make(user, *, staff=True):
        user.is_staff = staff
        user.save()
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def api_of():
    """Makes the API client of a person, logged in with a token."""
    from django.test import RequestFactory
    from rest_framework.test import APIClient

    from apps.accounts import services
    from apps.accounts.models import LoginSession

    def make(user, tenant=None):
        memberships = user.memberships.filter(tenant=tenant) if tenant else user.memberships
        login = services.open_login(
            user=user,
            membership=memberships.first(),
            kind=LoginSession.Kind.TOKEN,
            request=RequestFactory().get("/"),
        )
        client = APIClient(raise_request_exception=False)
        client.login_session = login
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {services.issue_tokens(login=login).access}")
        return client

    return make


@pytest.fixture
def alice_api(alice, api_of):
    return api_of(alice)


@pytest.fixture
def bob_api(bob, api_of):
    return api_of(bob)


@pytest.fixture
def charlie_api(charlie, api_of):
    return api_of(charlie)


@pytest.fixture
def api():
    """The API client of nobody."""
    from rest_framework.test import APIClient

    return APIClient(raise_request_exception=False)


@pytest.fixture
def in_acme(acme):
    """The test acts for Acme."""
    from apps.events.context import acting

    with acting(tenant_id=acme.pk, actor="alice@acme.example"):
        yield acme
