"""Hands messages to Redis: what comes while others are under way goes together."""

import asyncio
from typing import Any

from redis.exceptions import RedisError

from apps.chat.accepting import ACCEPT, Saying
from apps.chat.errors import ChatAway

Waiting = tuple[Saying, "asyncio.Future[list[int]]"]


class Acceptance:
    """One round trip at a time, however many speak: under load each carries more."""

    def __init__(self, redis: Any) -> None:
        self._redis = redis
        self._waiting: list[Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def of(self, saying: Saying) -> list[int]:
        """What the script answers for this message."""
        answer: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append((saying, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._hand_over())
        return await answer

    async def _hand_over(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                _answer(batch, await self._answers(batch))
        finally:
            self._task = None

    async def _answers(self, batch: list[Waiting]) -> list[Any]:
        pipe = self._redis.pipeline(transaction=False)
        for saying, _ in batch:
            keys = saying.keys()
            # Not by its digest: a pipeline would first ask whether the script is known.
            pipe.eval(ACCEPT, len(keys), *keys, *saying.args())
        try:
            return list(await pipe.execute(raise_on_error=False))
        except (RedisError, OSError) as error:
            return [error] * len(batch)


def _answer(batch: list[Waiting], answers: list[Any]) -> None:
    for (_, waiting), answer in zip(batch, answers, strict=True):
        if waiting.done():
            continue
        if isinstance(answer, Exception):
            waiting.set_exception(ChatAway(retry_after=2))
        else:
            waiting.set_result(answer)
