"""People who use the console."""

import pytest


@pytest.fixture
def root(db, django_user_model):
    """Runs the platform."""
    return django_user_model.objects.create_superuser("root@axiom.example", "correct horse battery")


@pytest.fixture
def books(acme, rival):
    """One book of each tenant."""
    from tests.library.models import Book

    ours = Book.across_tenants.create(tenant=acme, title="Ours")
    theirs = Book.across_tenants.create(tenant=rival, title="Theirs")
    return ours, theirs
