"""Runs a coroutine at once, and makes a task of it only when it has to wait."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any


def eagerly(steps: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
    """Run it until it waits; the task that goes on from there, None when it came to its end.

    Nearly all writes to a stream end without waiting, and a task costs as much as such a write.
    Nothing in it may ask for the current task: that is somebody else's until it waits.
    """
    try:
        awaited = steps.send(None)
    except StopIteration:
        return None
    return asyncio.get_running_loop().create_task(_finished(steps, awaited))


async def _finished(steps: Coroutine[Any, Any, None], awaited: Any) -> None:
    await _going_on(steps, awaited)


@types.coroutine
def _going_on(steps: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Hand to the task what was being waited for, then everything that follows."""
    try:
        while True:
            try:
                answer = yield awaited
            except BaseException as error:  # noqa: BLE001  (a cancellation too is for the steps)
                awaited = steps.throw(error)
            else:
                awaited = steps.send(answer)
    except StopIteration:
        return
