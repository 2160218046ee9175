"""Real processes for tests: started, listened to, always stopped."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Found = TypeVar("Found")
ROOT = Path(__file__).resolve().parent.parent
DEADLINE = 60.0


class Started:
    """A process of ours and what it has written so far."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process, self.output = process, output

    def text(self) -> str:
        return self.output.read_text()

    def log(self) -> list[dict[str, Any]]:
        """The JSON lines among its output."""
        whole = [line for line in self.text().splitlines() if line.endswith("}")]
        return [json.loads(line) for line in whole if line.startswith("{")]

    def wait_for(self, look: Callable[[], Found | None]) -> Found:
        """What `look` finds, as soon as it finds it; the output when it never does."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if found := look():
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"not seen in time:\n{self.text()}")


@contextlib.contextmanager
def started(*command: str, **environment: str) -> Iterator[Started]:
    """Run `python -m <command>` until the block ends."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Started(process, Path(output.name))
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def eventually(check: Callable[[], Any], seconds: float = 30) -> Any:
    """What the check gives once it gives something; other processes need their time."""
    deadline = time.monotonic() + seconds
    while not (result := check()):
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        time.sleep(0.05)
    return result
