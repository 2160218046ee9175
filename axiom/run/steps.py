"""Shows what a start is doing, and how long it took."""

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console

console = Console(highlight=False, soft_wrap=True)


@contextlib.contextmanager
def step(doing: str, done: str) -> Iterator[None]:
    """A turning wheel while it goes on, one line when it is over."""
    began = time.monotonic()
    with console.status(f"{doing} …"):
        yield
    console.print(f"[green]✓[/] {done} [dim]({time.monotonic() - began:.1f} s)[/]")


def say(sentence: str) -> None:
    console.print(sentence, markup=False)
