"""Work on an event that goes on when Slack no longer waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine

from bot.adapters.slack.wire.events import Event, text_at, ts_at

ACCEPT_SECONDS = 2.5
"""Slack takes an answer within 3 s; after this it had better try again."""


_REMEMBERED = 1_000
"""Slack sends an event again for some minutes."""

_Key = tuple[str, ...]


class Ongoing:
    """Lets Slack try again without beginning anew.

    On a server under load an edit or a deletion takes several turns at the record, each of which
    may be waited for. Work that ended with Slack's patience would never be done, however often the
    event is sent, and would cost every turn that it had. What was done meanwhile is acknowledged at
    once when it is sent again.
    """

    def __init__(self) -> None:
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._late: deque[_Key] = deque(maxlen=_REMEMBERED)

    async def take(
        self, body: Event, event: Event, work: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        """Do the work on an event, or wait for what is at it already.

        Raises TimeoutError when Slack's patience ends, while the work goes on.
        """
        key = (
            text_at(body, "event_id"),
            text_at(event, "type"),
            text_at(event, "channel"),
            text_at(event, "subtype"),
            ts_at(event, "ts"),
            ts_at(event, "event_ts"),
        )
        if key in self._late:
            return
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._ended(key, done))
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await asyncio.shield(task)
        except TimeoutError:
            task.add_done_callback(lambda done: self._ended_late(key, done))
            raise

    def _ended(self, key: _Key, task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # Whoever still waits is told; nobody has to.

    def _ended_late(self, key: _Key, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is None and key not in self._late:
            self._late.append(key)
