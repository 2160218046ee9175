"""What keeps people from reading a page or working with it, as axe-core sees it."""

from axe_playwright_python.sync_playwright import Axe

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
GRAVE = {"serious", "critical"}
_axe = Axe()


def obstacles(window) -> list[str]:
    """The serious findings on the page that is open: what, and where first."""
    found = _axe.run(window.page, options=RULES).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['target']} {each['nodes'][0]['html'][:160]}"
        for each in found
        if each["impact"] in GRAVE
    ]
