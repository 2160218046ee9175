"""Every error of the API is a problem+json, whoever made it."""

import json
import logging

import pytest
from django.test import Client

pytestmark = [pytest.mark.urls("tests.urls.failing"), pytest.mark.django_db]


@pytest.fixture
def client():
    return Client(raise_request_exception=False, headers={"X-Request-ID": "request-0001"})


def problem(response):
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:axiom:problem:{body['code']}"
    assert body["request_id"] == response["X-Request-ID"] == "request-0001"
    assert body["instance"] == response.wsgi_request.path
    assert body["title"]
    assert body["detail"]
    assert "secret" not in response.content.decode()
    return body


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("axiom", 409, "case_already_closed"),
        ("404", 404, "not_found"),
        ("denied", 403, "permission_denied"),
        ("throttled", 429, "throttled"),
        ("login", 401, "not_authenticated"),
        ("model", 400, "invalid"),
        ("bug", 500, "internal_error"),
    ],
)
def test_an_exception_becomes_a_problem_with_its_code(client, how, status, code):
    told = problem(client.get(f"/api/v1/failing/{how}/"))
    assert (told["status"], told["code"]) == (status, code)


def test_an_axiom_error_tells_its_docstring_and_its_facts(client):
    told = problem(client.get("/api/v1/failing/axiom/"))
    assert told["title"] == told["detail"] == "This case is already closed."
    assert told["closed_by"] == "bob@acme.example"


def test_an_axiom_error_speaks_the_readers_language(client):
    told = problem(client.get("/api/v1/failing/korean/", headers={"Accept-Language": "ko"}))
    assert "필수 항목" in told["title"]
    assert "필수 항목" in told["detail"]


@pytest.mark.parametrize(("how", "seconds"), [("throttled", "8"), ("busy", "1")])
def test_who_must_wait_is_told_how_long(client, how, seconds):
    assert client.get(f"/api/v1/failing/{how}/")["Retry-After"] == seconds


def test_who_must_log_in_is_told_how(client):
    assert client.get("/api/v1/failing/login/")["WWW-Authenticate"] == 'Bearer realm="api"'


def test_validation_names_every_value_by_pointer(client):
    body = {"age": "old", "addresses": [{"city": "Ulm"}, {"city": "Seoul"}]}
    told = problem(client.post("/api/v1/failing/x/", body, content_type="application/json"))
    assert [(each["pointer"], each["code"]) for each in told["errors"]] == [
        ("#/age", "invalid"),
        ("#/addresses/1/city", "max_length"),
    ]


def test_a_fault_in_the_query_names_the_parameter(client):
    told = problem(client.get("/api/v1/failing/filter/"))
    assert told["errors"] == [{"parameter": "status", "code": "invalid", "detail": "Unknown."}]


@pytest.mark.parametrize(
    ("request_with", "status", "code"),
    [
        ({"data": "{", "content_type": "application/json"}, 400, "parse_error"),
        ({"data": "<a/>", "content_type": "text/xml"}, 415, "unsupported_media_type"),
        ({"headers": {"Accept": "image/png"}}, 406, "not_acceptable"),
    ],
)
def test_a_request_we_cannot_read_is_a_problem(client, request_with, status, code):
    told = problem(client.post("/api/v1/failing/x/", **request_with))
    assert (told["status"], told["code"]) == (status, code)


def test_another_method_is_a_problem_that_names_the_allowed_ones(client):
    response = client.delete("/api/v1/failing/x/")
    told = problem(response)
    assert (told["code"], told["title"]) == (
        "method_not_allowed",
        "This method is not allowed here.",
    )
    assert response["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_an_unmatched_url_is_a_problem_below_api_and_a_page_elsewhere(client):
    assert problem(client.get("/api/v1/nowhere/"))["code"] == "not_found"
    assert client.get("/nowhere/")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("axiom", 409, "case_already_closed"),
        ("bug", 500, "internal_error"),
        ("405", 405, "method_not_allowed"),
        ("413", 413, "too_large"),
        ("418", 418, "i_m_a_teapot"),
        ("503", 503, "service_unavailable"),
        ("599", 599, "error"),
    ],
)
def test_a_plain_view_below_api_answers_problems_too(client, how, status, code):
    told = problem(client.get(f"/api/plain/{how}/"))
    assert (told["status"], told["code"]) == (status, code)


def test_a_plain_view_keeps_its_allow_header(client):
    assert client.get("/api/plain/405/")["Allow"] == "PUT"


def test_a_csrf_failure_is_a_problem_below_api_and_a_page_elsewhere():
    client = Client(enforce_csrf_checks=True, headers={"X-Request-ID": "request-0001"})
    assert problem(client.post("/api/plain/protected/"))["code"] == "csrf_failed"
    assert client.post("/plain/protected/")["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/api/v1/failing/bug/", "/api/plain/bug/"])
def test_a_bug_is_logged_once_with_its_traceback(client, path, caplog):
    with caplog.at_level(logging.ERROR):
        client.get(path)
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert record.exc_info[0] is ZeroDivisionError


def test_a_bug_leaks_nothing_even_while_debugging(client, settings):
    settings.DEBUG = True
    assert problem(client.get("/api/v1/failing/bug/"))["code"] == "internal_error"


def test_an_unknown_host_is_a_problem(client):
    assert (
        problem(client.get("/api/v1/nowhere/", headers={"Host": "evil.example"}))["status"] == 400
    )


def test_a_post_without_the_slash_stays_a_post(client):
    assert client.post("/api/v1/failing/x", {}, content_type="application/json").status_code == 308
    assert client.get("/api/v1/failing/404").status_code == 301
