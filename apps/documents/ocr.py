"""Whether text recognition is at hand: Tesseract, with the languages that are wanted."""

import shutil
import subprocess
import time

from django.conf import settings

_LOOK_AGAIN_SECONDS = 60
_seen: dict[tuple[str, str], tuple[float, list[str]]] = {}


def missing(*, look_again: bool = False) -> list[str]:
    """What has to be installed before pages can be recognised; empty when all is there."""
    engine, languages = settings.DOCUMENTS_TESSERACT, settings.DOCUMENTS_OCR_LANGUAGES
    seen_at, found = _seen.get((engine, languages), (0.0, []))
    if look_again or time.monotonic() - seen_at > _LOOK_AGAIN_SECONDS or not seen_at:
        found = _look(engine, languages)
        _seen[engine, languages] = time.monotonic(), found
    return found


def is_available() -> bool:
    return not missing()


def _look(engine: str, languages: str) -> list[str]:
    if shutil.which(engine) is None:
        return ["tesseract-ocr"]
    answer = subprocess.run(
        [engine, "--list-langs"], capture_output=True, text=True, timeout=10, check=False
    )
    installed = set((answer.stdout + answer.stderr).split())
    wanted = languages.split("+")
    return [f"tesseract-ocr-{language}" for language in wanted if language not in installed]
