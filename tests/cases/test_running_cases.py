"""A case is opened, assigned, moved and closed; each is said once, and nothing else is possible."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from apps.cases import selectors, services
from apps.cases.errors import (
    CaseAlreadyClosed,
    CaseIsClosed,
    CaseNotClosed,
    ImpossibleTransition,
    ManagerOnlyWatches,
    NotAColleague,
)
from apps.cases.models import Case
from apps.cases.transitions import TRANSITIONS
from apps.events.context import acting
from apps.events.models import OutboxEvent
from axiom.tenancy import ForeignTenant

pytestmark = pytest.mark.django_db


def test_an_opened_case_says_so(in_acme, alice, dana, said):
    case = services.open_case(
        title="Hanbit", kind="litigation", opened_by=alice, manager_id=dana.pk
    )
    assert said() == [
        (
            "CASE_CREATED",
            {
                "case_id": str(case.pk),
                "title": "Hanbit",
                "kind": "litigation",
                "status": "open",
                "manager_id": str(dana.pk),
            },
        )
    ]
    assert OutboxEvent.objects.get().tenant_id == in_acme.pk


@pytest.mark.parametrize("bad", [{"title": ""}, {"title": "x" * 201}, {"kind": "nonsense"}])
def test_a_case_that_cannot_be_is_not_half_stored(in_acme, said, bad):
    with pytest.raises(ValidationError):
        services.open_case(**{"title": "Hanbit"} | bad)
    assert (Case.objects.count(), said()) == (0, [])


def test_a_reference_is_taken_once_per_tenant(case, rival):
    services.revise_case(case=case, reference="2026-1")
    with pytest.raises(ValidationError, match="reference"):
        services.open_case(title="other", reference="2026-1")
    with acting(tenant_id=rival.pk):
        services.open_case(title="theirs", reference="2026-1")


def test_people_are_assigned_and_the_difference_is_told(case, alice, bob, dana, said):
    services.assign(case=case, manager_id=dana.pk, member_ids=[alice.pk, bob.pk])
    services.assign(case=case, member_ids=[bob.pk])
    first, second = said("CASE_ASSIGNED")
    assert set(first["members_added"]) == {str(alice.pk), str(bob.pk)}
    assert (first["old_manager_id"], first["manager_id"]) == (None, str(dana.pk))
    assert (second["members_removed"], second["manager_id"]) == ([str(alice.pk)], str(dana.pk))


def test_assigning_whom_it_has_already_says_nothing(case, dana, said):
    services.assign(case=case, manager_id=dana.pk, member_ids=[dana.pk])
    services.assign(case=case, manager_id=dana.pk, member_ids=[dana.pk])
    assert len(said("CASE_ASSIGNED")) == 1


def test_strangers_and_viewers_cannot_manage(case, charlie, bob, said):
    with pytest.raises(NotAColleague):
        services.assign(case=case, manager_id=charlie.pk)
    with pytest.raises(NotAColleague):
        services.assign(case=case, member_ids=[charlie.pk])
    with pytest.raises(ManagerOnlyWatches):
        services.assign(case=case, manager_id=bob.pk)
    assert said("CASE_ASSIGNED") == []


@pytest.mark.parametrize("before", Case.Status.values)
@pytest.mark.parametrize("after", Case.Status.values)
def test_only_what_the_table_has_is_possible(case, said, before, after):
    closed_at = case.opened_at if before == "closed" else None
    Case.objects.update(status=before, closed_at=closed_at)
    if after in TRANSITIONS[Case][before]:
        services.change_status(case=case, status=after, reason="because")
        (told,) = said("CASE_STATUS_CHANGED")
        assert (told["old_status"], told["new_status"], told["reason"]) == (
            before, after, "because",
        )  # fmt: skip
    else:
        with pytest.raises(ImpossibleTransition):
            services.change_status(case=case, status=after)
        assert said("CASE_STATUS_CHANGED") == []
    expected = after if after in TRANSITIONS[Case][before] else before
    assert Case.objects.get().status == expected


def test_a_case_is_closed_and_reopened_once(case):
    assert services.close_case(case=case).closed_at
    with pytest.raises(CaseAlreadyClosed):
        services.close_case(case=case)
    with pytest.raises(CaseIsClosed):
        services.assign(case=case, member_ids=[])
    assert services.reopen_case(case=case).closed_at is None
    with pytest.raises(CaseNotClosed):
        services.reopen_case(case=case)


def test_the_database_keeps_a_closed_case_dated(case):
    with pytest.raises(IntegrityError), transaction.atomic():
        Case.objects.update(status="closed")


def test_a_case_is_found_in_its_own_tenant_only(case, rival):
    assert selectors.case_by_id(case.pk) == case
    with acting(tenant_id=rival.pk):
        assert selectors.find_case(case.pk) is None
        for use in (selectors.case_by_id, selectors.open_case_by_id):
            with pytest.raises(ForeignTenant):
                use(case.pk)
        with pytest.raises(ForeignTenant):
            services.close_case(case=case)
