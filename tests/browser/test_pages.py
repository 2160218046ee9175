"""Every page in a real browser: no policy is broken, nothing is loaded from elsewhere."""

import pytest
from django.contrib import admin
from django.urls import reverse

from . import pictures, reading

pytestmark = pytest.mark.django_db(transaction=True)

OWN_PAGES = [
    "/admin/",
    "/admin/profile/",
    "/admin/tenant/",
    "/admin/password_change/",
    "/admin/event-types/",
    "/admin/journey/",
    "/admin/dead-letters/",
    "/admin/streams/",
    "/admin/streams/axiom:events/",
    "/admin/event-types/metadata.column.modified/",
    "/admin/catalog/browse/",
    "/admin/catalog/browse/?q=x",
    "/admin/catalog/compare/",
    "/admin/catalog/impact/",
]
OUTSIDE = ["/api/docs/", "/admin/login/?next=/admin/"]


def console_pages() -> list[str]:
    """All pages that the console has: each list, each form, one row of each."""
    found = list(OWN_PAGES)
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        found.append(reverse(f"{name}_changelist"))
        manager = getattr(model, "across_tenants", model._default_manager)
        if row := manager.first():
            found.append(reverse(f"{name}_change", args=[row.pk]))
            found.append(reverse(f"{name}_history", args=[row.pk]))
    return found


@pytest.fixture
def staff(alice):
    alice.is_staff = True
    alice.save()
    return alice


@pytest.mark.timeout(600)  # it opens every page there is
@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(1280, "light", "en-US"), (390, "dark", "ko-KR")]
)
def test_no_page_complains_or_is_wider_than_the_window(
    visit, root, staff, bob, width, scheme, locale
):
    window = visit(width=width, color_scheme=scheme, locale=locale)
    window.log_in(root)
    wide, unreadable = [], {}
    for path in [*console_pages(), *OUTSIDE]:
        assert window.open(path) == 200, path
        wide += [path] if window.is_wider_than_the_window() else []
        unreadable |= {path: found} if (found := reading.obstacles(window)) else {}
        pictures.keep(window, path)
        assert window.complaints == [], path
    assert wide == []
    assert unreadable == {}


@pytest.mark.parametrize("path", ["/", "/api/docs/", "/nowhere"])
def test_pages_outside_the_console_have_no_script_in_them(visit, path):
    window = visit()
    window.open(path)
    written = "scripts => scripts.filter(each => each.textContent.trim()).length"
    assert window.page.eval_on_selector_all("script:not([src])", written) == 0


def test_a_member_finds_every_entry_of_the_sidebar_open(visit, staff):
    window = visit()
    window.log_in(staff)
    links = window.page.eval_on_selector_all(
        "#nav-sidebar-apps a", "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(links) > 3
    assert {link: window.open(link) for link in links} == dict.fromkeys(links, 200)
    assert window.complaints == []


def test_the_front_door_and_a_missing_page_complain_of_nothing(visit):
    window = visit(width=390)
    assert window.open("/") == 200
    assert not window.is_wider_than_the_window()
    assert window.complaints == []
    assert window.open("/nowhere") == 404
    assert not window.is_wider_than_the_window()
    # The browser reports the 404 itself; anything else would be ours.
    assert all("404" in complaint for complaint in window.complaints)


def test_the_documentation_of_the_api_works_under_the_strict_policy(visit):
    window = visit()
    window.open("/api/docs/")
    # Swagger shows what is in view: the first of the document.
    window.page.click("text=/api/v1/agent-feedback/ >> nth=0")
    window.page.click("text=Try it out")
    window.page.click("text=Execute")
    window.page.wait_for_selector(".responses-table.live-responses-table")
    assert [text for text in window.complaints if "policy" in text or "crash" in text] == []


INLINE = """() => {
  const script = document.createElement('script');
  script.textContent = 'window.injected = true';
  document.body.append(script);
  return window.injected === true;
}"""
EVALUATED = "() => { try { return Function('return true')() } catch { return false } }"


@pytest.mark.parametrize("path", ["/admin/login/", "/", "/api/docs/"])
def test_an_injected_script_does_not_run_and_is_noticed(visit, path):
    window = visit()
    window.open(path)
    with window.page.expect_console_message(lambda message: "policy: script" in message.text):
        assert window.page.evaluate(INLINE) is False


def test_only_the_console_may_evaluate_text(visit):
    window = visit(bypass_csp=False)
    window.open("/admin/login/")
    assert window.page.evaluate(f"({EVALUATED})()") is True
    window.open("/")
    assert evaluates_in_page(window) is False


def evaluates_in_page(window) -> bool:
    """Asked by a timer, because the driver's own calls are exempt from the policy."""
    return window.page.evaluate(
        "() => new Promise(done => setTimeout(() => done((" + EVALUATED + ")()), 0))"
    )
