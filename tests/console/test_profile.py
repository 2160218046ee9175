"""Everyone chooses their own language and time zone."""

import pytest
from django.utils import translation

pytestmark = pytest.mark.django_db

PROFILE = {"name": "앨리스", "language": "ko", "timezone": "Asia/Seoul"}


def test_the_console_speaks_the_persons_language_whatever_the_browser_says(alice, console_of):
    alice.language = "ko"
    answer = console_of(alice).get("/admin/", headers={"Accept-Language": "en"})
    assert 'lang="ko"' in answer.content.decode()
    assert answer["Content-Language"] == "ko"
    assert translation.get_language() == "en"


def test_who_is_not_logged_in_is_addressed_in_the_browsers_language(client):
    korean = client.get("/admin/login/", headers={"Accept-Language": "ko-KR,ko;q=0.9"})
    assert "로그인" in korean.content.decode()
    assert (
        "Log in" in client.get("/admin/login/", headers={"Accept-Language": "de"}).content.decode()
    )


def test_times_are_told_in_the_persons_zone(alice, console_of):
    from datetime import UTC, datetime, timedelta

    from apps.accounts.models import LoginSession

    alice.timezone = "Asia/Seoul"
    console = console_of(alice)
    # Ahead of now at any time of the day: what lies behind is brought up to date by the request.
    ahead = datetime.now(UTC).replace(hour=20, minute=7) + timedelta(days=1)
    LoginSession.objects.update(last_seen_at=ahead)
    assert "5:07 a.m." in console.get("/admin/accounts/loginsession/").content.decode()


def test_a_zone_that_does_not_exist_is_utc(alice, console_of):
    alice.timezone = "Mars/Olympus"
    assert console_of(alice).get("/admin/").status_code == 200


def test_a_person_changes_their_profile(alice, console_of):
    console = console_of(alice)
    answer = console.post("/admin/profile/", PROFILE, follow=True)
    alice.refresh_from_db()
    assert (alice.name, alice.language, alice.timezone) == ("앨리스", "ko", "Asia/Seoul")
    assert 'lang="ko"' in answer.content.decode()


@pytest.mark.parametrize("change", [{"language": "xx"}, {"timezone": "Mars/Olympus"}])
def test_a_profile_takes_only_what_exists(alice, console_of, change):
    answer = console_of(alice).post("/admin/profile/", PROFILE | change)
    assert answer.status_code == 200
    alice.refresh_from_db()
    assert alice.language == "en"


def test_the_menu_switches_the_language_and_comes_back(alice, console_of):
    console = console_of(alice)
    answer = console.post(
        "/admin/language/",
        {"language": "ko"},
        headers={"Referer": "http://testserver/admin/tenant/"},
    )
    assert answer["Location"] == "http://testserver/admin/tenant/"
    alice.refresh_from_db()
    assert alice.language == "ko"


def test_the_menu_never_leads_to_another_site(alice, console_of):
    answer = console_of(alice).post(
        "/admin/language/", {"language": "xx"}, headers={"Referer": "https://evil.example/"}
    )
    assert answer["Location"] == "/admin/"
    alice.refresh_from_db()
    assert alice.language == "en"


def test_staff_are_led_to_the_console_and_others_are_told_where_they_are(alice, console_of, client):
    assert console_of(alice).get("/")["Location"] == "/admin/"
    assert console_of(alice, staff=False).get("/").status_code == 200
    assert "/admin/login/" in client.get("/").content.decode()


def test_a_missing_page_is_told_in_the_readers_language(client):
    answer = client.get("/nowhere", headers={"Accept-Language": "ko"})
    assert answer.status_code == 404
    assert 'lang="ko"' in answer.content.decode()


def test_a_program_is_answered_in_the_language_it_names_else_in_its_owners(alice, api_of):
    alice.language = "ko"
    alice.save()
    api = api_of(alice)
    assert api.get("/api/v1/auth/me/").headers["Content-Language"] == "ko"
    named = api.get("/api/v1/auth/me/", headers={"Accept-Language": "en"})
    assert named.headers["Content-Language"] == "en"


def test_a_stale_form_and_a_crash_are_told_on_a_page_of_ours(alice, settings):
    from django.test import Client

    console = Client(enforce_csrf_checks=True, raise_request_exception=False)
    console.force_login(alice)
    stale = console.post("/admin/profile/", PROFILE, headers={"Accept-Language": "ko"})
    assert stale.status_code == 403
    assert "axiom/page.css" in stale.content.decode()
    settings.ROOT_URLCONF = "tests.test_logs"
    crash = console.get("/fail")
    assert crash.status_code == 500
    assert "axiom/page.css" in crash.content.decode()
