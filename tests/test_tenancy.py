"""Rows of a tenant are read and written only through it, whichever way one tries."""

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from apps.events.context import acting, current
from axiom.tenancy import ForeignTenant, TenantMissing
from tests.library.models import Book, Shelf, Tag

pytestmark = pytest.mark.django_db


@pytest.fixture
def theirs(rival):
    """A book of the rival."""
    with acting(tenant_id=rival.pk):
        return Book.objects.create(title="theirs")


@pytest.fixture
def ours(in_acme):
    return Book.objects.create(title="ours")


def titles(books):
    return sorted(book.title for book in books)


@pytest.mark.parametrize(
    "use",
    [
        lambda: Book.objects.all(),
        lambda: Book.objects.count(),
        lambda: Book.objects.create(title="x"),
        lambda: Book(title="x").save(),
        lambda: Book.across_tenants.bulk_create([Book(title="x")]),
        lambda: Book.objects.get_or_create(title="x"),
        lambda: Shelf().book_set,
    ],
)
def test_without_a_tenant_nothing_is_read_or_written(use):
    assert current().tenant_id is None
    with pytest.raises((TenantMissing, ValueError)):
        use().exists()


def test_one_sees_ones_own_rows_only(ours, theirs):
    assert titles(Book.objects.all()) == ["ours"]
    assert not Book.objects.filter(pk=theirs.pk).exists()
    assert titles(Book.across_tenants.all()) == ["ours", "theirs"]


def test_a_new_row_is_the_current_tenants(in_acme):
    assert Book.objects.create(title="x").tenant_id == in_acme.pk
    assert Book.objects.bulk_create([Book(title="y")])[0].tenant_id == in_acme.pk
    assert Book.objects.get_or_create(title="z")[0].tenant_id == in_acme.pk
    Book(title="named", tenant_id=str(in_acme.pk)).save()
    assert Book.objects.filter(title="named").exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda book: book.save(),
        lambda book: book.delete(),
        lambda book: book.full_clean(),
        lambda book: Book.objects.bulk_update([book], ["title"]),
        lambda book: Book.across_tenants.bulk_update([book], ["title"]),
        lambda book: Book.across_tenants.bulk_create([Book(tenant_id=book.tenant_id)]),
        lambda book: Book(tenant_id=str(book.tenant_id)).save(),
        lambda book: Book.objects.create(tenant_id=book.tenant_id),
        lambda book: Book.objects.update(tenant=book.tenant_id),
        lambda book: Book.across_tenants.update(tenant_id=book.tenant_id),
    ],
)
def test_another_tenants_row_cannot_be_written(ours, theirs, write):
    with pytest.raises(ForeignTenant):
        write(Book.across_tenants.get(pk=theirs.pk))
    theirs.refresh_from_db()
    assert (theirs.title, Book.objects.get().title) == ("theirs", "ours")


def test_scoped_updates_and_deletes_touch_ones_own_rows_only(ours, theirs):
    Book.objects.update(title="changed")
    assert titles(Book.across_tenants.all()) == ["changed", "theirs"]
    Book.objects.all().delete()
    assert titles(Book.across_tenants.all()) == ["theirs"]


def test_a_row_cannot_be_taken_over(ours, theirs, acme):
    stolen = Book.across_tenants.get(pk=theirs.pk)
    stolen.tenant_id = acme.pk
    with pytest.raises(ForeignTenant):
        stolen.save()


def test_a_worker_without_a_tenant_cannot_move_a_row_either(theirs, acme):
    stolen = Book.across_tenants.get(pk=theirs.pk)
    stolen.tenant = acme
    with pytest.raises(ForeignTenant):
        stolen.save()


def test_a_worker_without_a_tenant_writes_rows_in_their_own(theirs):
    theirs.title = "changed"
    theirs.save()
    assert Book.across_tenants.get().title == "changed"


@pytest.fixture
def their_shelf(rival):
    with acting(tenant_id=rival.pk):
        return Shelf.objects.create(name="theirs")


@pytest.mark.parametrize(
    "point",
    [
        lambda shelf: Book(title="x", shelf=shelf).save(),
        lambda shelf: Book(title="x", shelf=shelf).full_clean(),
        lambda shelf: Book(title="x", shelf_id=shelf.pk).full_clean(),
        lambda shelf: Book.objects.bulk_create([Book(title="x", shelf=shelf)]),
    ],
)
def test_a_row_cannot_point_to_another_tenants(in_acme, their_shelf, point):
    with pytest.raises(ForeignTenant):
        point(their_shelf)


def test_a_row_points_to_its_own_tenants(in_acme):
    shelf = Shelf.objects.create(name="ours")
    book = Book(title="x", shelf_id=shelf.pk)
    book.full_clean()
    book.save()
    assert titles(shelf.book_set.all()) == ["x"]


def test_a_link_to_another_tenants_row_is_refused(ours, their_shelf, rival):
    with acting(tenant_id=rival.pk):
        tag = Tag.objects.create(name="theirs")
    with pytest.raises(ForeignTenant), transaction.atomic():
        ours.tags.add(tag)
    ours.tags.add(Tag.objects.create(name="ours"))
    assert ours.tags.count() == 1


def test_a_queryset_stays_with_the_tenant_it_was_made_for(ours, theirs, rival):
    books = Book.objects.all()
    with acting(tenant_id=rival.pk):
        assert titles(books) == ["ours"]


def test_full_clean_still_validates(in_acme):
    with pytest.raises(ValidationError):
        Book(title="x" * 51).full_clean()


def test_another_tenants_row_is_told_like_one_that_does_not_exist():
    assert (ForeignTenant.status, ForeignTenant.code) == (404, "not_found")
