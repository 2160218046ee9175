"""What browsers are told about our pages, and what production insists on."""

import os
import secrets
import subprocess
import sys

import pytest
from django.core.cache import cache
from django.test import Client, override_settings

from tests.programs import ROOT

PRODUCTION = {
    "AXIOM_PRODUCTION": "1",
    "SECRET_KEY": secrets.token_urlsafe(50),
    "ALLOWED_HOSTS": "axiom.example",
}


def in_production(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | PRODUCTION | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def policy(answer) -> dict[str, list[str]]:
    parts = (part.split() for part in answer["Content-Security-Policy"].split(";"))
    return {name: values for name, *values in parts}


def test_production_settings_pass_every_deployment_check():
    answer = in_production("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr
    assert "no issues" in answer.stdout


def test_production_insists_on_a_secret_key():
    answer = in_production("manage.py", "check", SECRET_KEY="")
    assert answer.returncode != 0
    assert "SECRET_KEY" in answer.stderr


def test_production_serves_hashed_and_compressed_files(tmp_path):
    """collectstatic works on everything we ship, and a page names the hashed file."""
    collect = in_production("manage.py", "collectstatic", "--no-input", STATIC_ROOT=str(tmp_path))
    assert collect.returncode == 0, collect.stderr
    script = (
        "import django; django.setup();"
        "from django.test import Client; c = Client(HTTP_HOST='axiom.example');"
        "from django.templatetags.static import static; url = static('unfold/css/styles.css');"
        "a = c.get(url, secure=True, headers={'Accept-Encoding': 'gzip'});"
        "print(url, a.status_code, a['Content-Encoding'], a['Cache-Control'])"
    )
    served = in_production(
        "-c", script, STATIC_ROOT=str(tmp_path), DJANGO_SETTINGS_MODULE="axiom.settings"
    )
    assert served.returncode == 0, served.stderr
    url, status, encoding, caching = served.stdout.strip().split(" ", 3)
    assert url != "/static/unfold/css/styles.css"
    assert (status, encoding) == ("200", "gzip")
    assert "immutable" in caching


def test_production_cookies_and_transport_are_locked_down():
    script = (
        "import django; django.setup();"
        "from django.test import Client; c = Client(HTTP_HOST='axiom.example');"
        "a = c.get('/admin/login/', secure=True);"
        "print(a['Strict-Transport-Security']); print(a.cookies.output());"
        "print(c.get('/admin/login/')['Location'])"
    )
    # The page names static files, which only exist after collectstatic: use the plain storage.
    answer = in_production("-c", PLAIN_STATIC + script, DJANGO_SETTINGS_MODULE="axiom.settings")
    assert answer.returncode == 0, answer.stderr
    assert "max-age=31536000; includeSubDomains; preload" in answer.stdout
    assert "Secure" in answer.stdout
    assert "SameSite=Lax" in answer.stdout
    assert "https://axiom.example/admin/login/" in answer.stdout


PLAIN_STATIC = (
    "from django.conf import settings;"
    "settings.STORAGES['staticfiles']['BACKEND'] ="
    " 'django.contrib.staticfiles.storage.StaticFilesStorage';"
)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/admin/login/", "/nowhere", "/metrics", "/static/missing.css"])
def test_every_answer_carries_the_policies(client, path):
    answer = client.get(path)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    assert policy(answer)["object-src"] == ["'none'"]
    assert policy(answer)["frame-ancestors"] == ["'none'"]


@pytest.mark.django_db
def test_only_the_console_may_evaluate_and_style_in_place(client):
    assert policy(client.get("/admin/login/"))["script-src"] == ["'self'", "'unsafe-eval'"]
    outside = policy(client.get("/metrics"))
    assert outside["script-src"] == ["'self'"]
    assert outside["style-src"] == ["'self'"]


@pytest.fixture
def redis_away(settings):
    """The cache's server refuses every connection."""
    away = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    with override_settings(CACHES={"default": away}):
        yield


@pytest.mark.django_db
@pytest.mark.usefixtures("redis_away")
def test_people_stay_logged_in_and_pages_open_while_redis_is_away(django_user_model):
    root = django_user_model.objects.create_superuser("root@axiom.example", "a long password 1")
    client = Client()
    client.force_login(root)
    assert client.get("/admin/").status_code == 200
    client.post("/admin/logout/")
    assert client.get("/admin/").status_code == 302


@pytest.mark.usefixtures("redis_away")
def test_a_cache_that_is_away_forgets_instead_of_failing():
    cache.set("colour", "red")
    assert cache.get("colour", "none") == "none"


def test_the_cache_is_redis(redis_client):
    cache.set("colour", "red")
    assert cache.get("colour") == "red"
    assert [key for key in redis_client.scan_iter() if b"colour" in key]
