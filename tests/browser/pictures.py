"""Pictures of pages, kept where AXIOM_PICTURES says, to be looked at."""

import os
import re
from pathlib import Path


def keep(window, name: str) -> None:
    """The whole page as it stands now; nothing when nobody asked for pictures."""
    if directory := os.environ.get("AXIOM_PICTURES"):
        size = window.page.viewport_size or {}
        scheme = window.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        shade = "dark" if scheme else "light"
        file = re.sub(r"\W+", "-", name).strip("-")
        path = Path(directory) / f"{file}-{size.get('width')}-{shade}.png"
        window.page.screenshot(path=path, full_page=True)
