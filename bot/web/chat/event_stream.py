"""Stream a conversation's changes to the browser with server-sent events.

All state is in the store. A browser that connects, for the first time or again, gets the whole
state, so no event can be missed and none needs an id.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from aiohttp import web

from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Activity, InteractionId, Stage, Thread
from bot.domain.record_search import InteractionGlance, Watches
from bot.domain.texts import ENGLISH, Language, tr
from bot.web.auth.identity import is_session_open, person_of
from bot.web.chat.answer_view import stage_text
from bot.web.chat.exchanges import Exchanges
from bot.web.languages import language_of
from bot.web.problems import problem

log = structlog.get_logger(__name__)

MAX_STREAMS = 20
"""Maximum number of open streams per person; each visible tab has one."""

MAX_WATCHED = 50
_HEARTBEAT = b": still here\n\n"
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    # nginx would buffer the stream otherwise.
    "X-Accel-Buffering": "no",
}


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """How often the store is polled, in seconds; more often when a change is likely soon.

    After ``longest`` a stream ends and the browser reconnects, so that a person who may no longer
    see the conversation stops seeing it.
    """

    working: float = 0.25
    waiting: float = 2.0
    answered: float = 10.0
    heartbeat: float = 15.0
    longest: float = 600.0

    def pause(self, now: Sequence[InteractionGlance]) -> float | None:
        """Return the seconds until the next poll; None when nothing can change any more."""
        if any(each.status == "working" for each in now):
            return self.working
        states = {each.case_state for each in now}
        if states & {"open", "claimed", "reopened"}:
            return self.waiting
        return self.answered if "answered" in states else None


class EventStreams:
    """Handler of the streams; limits them per person, and ends them at shutdown."""

    def __init__(
        self,
        watches: Watches,
        exchanges: Exchanges,
        tempo: PollIntervals = PollIntervals(),
    ) -> None:
        self._watches = watches
        self._exchanges = exchanges
        self._tempo = tempo
        self._open: Counter[str] = Counter()
        self._ending = asyncio.Event()

    def mount(self, app: web.Application) -> None:
        """Add the route; at shutdown, the server ends the streams first instead of waiting."""
        app.router.add_get("/chat/{conversation}/events", self.events)
        app.on_shutdown.append(self._end)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send the changes of a conversation until nothing can change any more."""
        thread = self._exchanges.thread(request, request.match_info["conversation"])
        with self._counted(person_of(request).id):
            first = await self._watches.thread(thread, MAX_WATCHED)
            stream = web.StreamResponse(headers=_HEADERS)
            await stream.prepare(request)
            try:
                await self._tell(request, stream, thread, first)
            except ConnectionError:
                pass
            except StoreUnavailable as error:
                log.warning("live.ended", why=str(error))
        return stream

    async def _tell(
        self,
        request: web.Request,
        stream: web.StreamResponse,
        thread: Thread,
        now: Sequence[InteractionGlance],
    ) -> None:
        """Poll the store and send the differences. Raises StoreUnavailable."""
        started = told = time.monotonic()
        language = language_of(request)
        await stream.write(
            # The browser reconnects after 1,000 ms.
            b"".join([b"retry: 1000\n\n", *change_events({}, now, language), sse_event("present")])
        )
        while (pause := self._tempo.pause(now)) is not None:
            await self._wait(pause)
            if self._ending.is_set() or _is_disconnected(request):
                return
            before, now = now, await self._watches.thread(thread, MAX_WATCHED)
            changed = b"".join(change_events({each.id: each for each in before}, now, language))
            clock = time.monotonic()
            if changed or clock - told >= self._tempo.heartbeat:
                if not await is_session_open(request):
                    return
                await stream.write(changed or _HEARTBEAT)
                told = clock
            if clock - started >= self._tempo.longest:
                return
        await stream.write(sse_event("idle"))

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            return

    async def _end(self, _: web.Application) -> None:
        self._ending.set()

    @contextmanager
    def _counted(self, person_id: str) -> Iterator[None]:
        if self._open[person_id] >= MAX_STREAMS:
            raise problem(
                429,
                tr(
                    "You have {count} open tabs; this one is updated less often.", count=MAX_STREAMS
                ),
                cure=tr("Close some of them."),
                headers={"Retry-After": "30"},
            )
        self._open[person_id] += 1
        try:
            yield
        finally:
            self._open[person_id] -= 1
            if not self._open[person_id]:
                del self._open[person_id]


def change_events(
    before: Mapping[InteractionId, InteractionGlance],
    now: Sequence[InteractionGlance],
    language: Language = ENGLISH,
) -> Iterator[bytes]:
    """Yield an event for each difference; ``before`` is empty for a new connection."""
    for glance in now:
        old = before.get(glance.id)
        if old == glance:
            continue
        if glance.status == "working":
            if old is None or _activity(old) != _activity(glance):
                yield _stage_event(glance, language)
            continue
        if old is None or old.status != glance.status:
            yield sse_event("answer", id=glance.id)
        if glance.case_state is not None and (
            old is None or (old.case_state, old.case_version) != _case_state(glance)
        ):
            yield sse_event("case", id=glance.id, version=glance.case_version)


def sse_event(name: str, **data: str | int) -> bytes:
    """Return a server-sent event; its JSON has no line break, which would end the event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _stage_event(glance: InteractionGlance, language: Language) -> bytes:
    now = _activity(glance)
    step = now.stage.value
    text = language.text(stage_text(now))
    return sse_event("stage", id=glance.id, step=step, pages=now.pages, text=text)


def _activity(glance: InteractionGlance) -> Activity:
    return Activity(glance.stage or Stage.RECEIVED, glance.pages)


def _case_state(glance: InteractionGlance) -> tuple[str | None, int]:
    return glance.case_state, glance.case_version


def _is_disconnected(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()
