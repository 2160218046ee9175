"""Pictures of pages, kept to be looked at: in `artifacts/pages/`."""

import re
from pathlib import Path

ALL = Path(__file__).resolve().parents[2] / "artifacts" / "pages"


def keep(window, name: str) -> None:
    """The whole page as it stands now."""
    width = window.page.viewport_size["width"]
    dark = window.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    file = re.sub(r"\W+", "-", name).strip("-") or "home"
    path = ALL / f"{file}-{width}-{'dark' if dark else 'light'}.png"
    window.page.screenshot(path=path, full_page=True)
