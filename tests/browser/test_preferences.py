"""Dark or light as the system says, Korean or English as the person says."""

import re

import pytest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_console_is_as_dark_as_the_system(visit, scheme):
    window = visit(color_scheme=scheme)
    window.open("/admin/login/")
    assert ("dark" in window.page.get_attribute("html", "class").split()) is (scheme == "dark")


def test_the_front_door_is_as_dark_as_the_system(visit):
    def paper(scheme):
        window = visit(color_scheme=scheme)
        window.open("/")
        return window.page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert paper("light") == "rgb(249, 250, 251)"
    assert paper("dark") == "rgb(11, 16, 23)"


def test_the_menu_changes_theme_and_language_and_both_stay(visit, root):
    window = visit(color_scheme="light")
    window.log_in(root)
    page = window.page
    menu = page.locator("#nav-sidebar-inner > div").last
    menu.locator("> div").click()
    menu.get_by_text("Dark", exact=True).click()
    page.wait_for_function("document.documentElement.classList.contains('dark')")
    menu.get_by_role("button", name=re.compile("한국어")).click()
    page.wait_for_function("document.documentElement.lang == 'ko'")
    window.open("/admin/profile/")
    assert page.get_attribute("html", "lang") == "ko"
    assert "dark" in page.get_attribute("html", "class").split()
    assert window.complaints == []
