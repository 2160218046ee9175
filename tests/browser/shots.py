"""Pictures of pages for people to look at: kept where SCREENSHOTS says, if it says so."""

import os
from pathlib import Path


def keep(window, name: str) -> None:
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        window.page.screenshot(path=f"{folder}/{name}.png", full_page=True)
