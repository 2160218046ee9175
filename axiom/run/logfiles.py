"""Log files that do not grow for ever: one of the present, one of the past."""

import shutil
from pathlib import Path
from typing import BinaryIO

LARGEST = 10_000_000


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to; programs keep writing where they were after a cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def cut_long_ones(directory: Path, largest: int = LARGEST) -> None:
    """Keep what a long log said in `.1` and let it begin again.

    The file stays the same one: the programs that write to it hold it open.
    """
    for path in directory.glob("*.log"):
        if path.stat().st_size > largest:
            shutil.copyfile(path, path.with_suffix(".log.1"))
            with path.open("r+b") as log:
                log.truncate(0)


def last_line(path: Path) -> str:
    """The last words of a log, for a sentence that tells why."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 4096))
        lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
