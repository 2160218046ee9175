"""Fields in texts: what is found, how sure we are, and patterns that would run for ever."""

import time

import pytest

from apps.documents.extraction import WrongPattern, compiled, extract
from apps.documents.models import ExtractionPattern, Page

PATTERNS = "/api/v1/extraction-patterns/"


def page(text, number=1, confidence=None):
    return Page(number=number, text=text, confidence=confidence)


def pattern(text, field="amount", **facts):
    return ExtractionPattern(field=field, pattern=text, **{"confidence": 0.8, **facts})


def found(text, *patterns, **facts):
    return {each.name: each for each in extract([page(text, **facts)], patterns)}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1,250,000", 1250000),
        ("1250000.50", 1250000.5),
        ("-7", -7),
        ("12억 5,000만원", 1_250_000_000),
        ("3조 2억", 3_000_200_000_000),
        ("１２３", 123),
        ("none", None),
    ],
)
def test_numbers_as_people_write_them(written, value):
    result = found(f"Total: {written}", pattern("Total: (.+)", value_type="number"))
    assert (result["amount"].value if result else None) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-01-05", "2026-01-05"),
        ("2026. 1. 5.", "2026-01-05"),
        ("2026년 1월 5일", "2026-01-05"),
        ("20260105", "2026-01-05"),
        ("5 January 2026", "2026-01-05"),
        ("2026-02-30", None),
        ("soon", None),
    ],
)
def test_dates_as_people_write_them(written, value):
    result = found(f"Filed: {written}", pattern("Filed: (.+)", value_type="date"))
    assert (result["amount"].value if result else None) == value


def test_the_named_group_is_the_value_else_the_first_else_all():
    assert found("a1 b2", pattern(r"(a)(?P<value>\d)"))["amount"].value == "1"
    assert found("a1 b2", pattern(r"b(\d)"))["amount"].value == "2"
    assert found("a1 b2", pattern(r"b\d"))["amount"].value == "b2"


def test_confidence_falls_with_that_of_the_page_and_with_every_other_value():
    assert found("n: 1", pattern(r"n: (\d)"))["amount"].confidence == 0.8
    assert found("n: 1", pattern(r"n: (\d)"), confidence=0.5)["amount"].confidence == 0.4
    assert found("n: 1 n: 2", pattern(r"n: (\d)"))["amount"].confidence == 0.4
    assert found("n: 1 n: 1", pattern(r"n: (\d)"))["amount"].confidence == 0.8


def test_of_several_patterns_for_a_field_the_surest_finding_stands():
    result = found("n: 1", pattern(r"n: (\d)", confidence=0.3), pattern(r"(n)", confidence=0.9))
    assert (result["amount"].value, result["amount"].confidence) == ("n", 0.9)


def test_the_page_is_told():
    pages = [page("nothing", 1), page("n: 1", 2)]
    (result,) = extract(pages, [pattern(r"n: (\d)")])
    assert result.page == 2


@pytest.mark.parametrize(
    "evil", [r"(a+)+$", r"(a|aa)+$", r"(.*a){20}$", r"^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_a_pattern_that_would_run_for_ever_elsewhere_ends_here(evil):
    began = time.perf_counter()
    found("a" * 100_000 + "!", pattern(evil))
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("wrong", ["(", "(?=ahead)", r"(a)\1", "a{5000}", "[z-a]"])
def test_what_the_engine_cannot_do_is_refused(wrong):
    with pytest.raises(WrongPattern):
        compiled(wrong)


@pytest.mark.django_db
class TestThroughTheApi:
    def test_a_pattern_is_made_changed_and_removed(self, alice_api):
        made = alice_api.post(PATTERNS, {"field": "total", "pattern": "[0-9]+"})
        assert made.status_code == 201, made.content
        url = f"{PATTERNS}{made.json()['id']}/"
        changed = alice_api.patch(url, {"confidence": 0.5}, headers={"If-Match": made["ETag"]})
        assert changed.json()["confidence"] == 0.5
        assert (
            alice_api.patch(url, {"field": "x"}, headers={"If-Match": made["ETag"]}).status_code
            == 412
        )
        assert alice_api.delete(url, headers={"If-Match": changed["ETag"]}).status_code == 204

    @pytest.mark.parametrize(
        ("facts", "pointer"),
        [
            ({"pattern": "("}, "#/pattern"),
            ({"pattern": "(?=a)"}, "#/pattern"),
            ({"pattern": "a" * 501}, "#/pattern"),
            ({"field": "Total Amount"}, "#/field"),
            ({"confidence": 1.5}, "#/confidence"),
            ({"value_type": "money"}, "#/value_type"),
        ],
    )
    def test_a_wrong_one_says_where(self, alice_api, facts, pointer):
        answer = alice_api.post(PATTERNS, {"field": "total", "pattern": "x", **facts})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == pointer
        assert not ExtractionPattern.across_tenants.exists()

    def test_the_same_one_twice_is_refused(self, alice_api):
        for status in (201, 400):
            answer = alice_api.post(PATTERNS, {"field": "total", "pattern": "x"})
            assert answer.status_code == status

    def test_viewers_see_and_do_not_write(self, bob_api):
        assert bob_api.get(PATTERNS).status_code == 200
        assert bob_api.post(PATTERNS, {"field": "total", "pattern": "x"}).status_code == 403
