"""Tests of the live event stream: what is sent, when, to whom, and when it ends."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.domain.cases import Actor
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import InteractionId, Stage, Thread
from bot.domain.record_search import InteractionGlance
from bot.domain.settings_loading import load_settings
from bot.store.database import Store, open_store, sqlite_url
from bot.web.auth.security import mount_security
from bot.web.chat.event_stream import MAX_STREAMS, EventStreams, PollIntervals, change_events
from bot.web.chat.exchanges import Exchanges
from bot.web.chat.follow_ups import FollowUps
from tests.fakes.chat_app import Browser, OnePageIndex, VpnDesk, chat_app, exchange_of
from tests.fakes.chat_context import ReadsEverything
from tests.fakes.http_server import TOKEN

ONE, TWO = (InteractionId(str(uuid.UUID(int=number))) for number in (1, 2))
ANNA = Actor("anna-it", "Anna Lopez", "expert")
EVENT_SECONDS = 60.0
"""Seconds in which everything here must have happened."""


@dataclass(frozen=True)
class StreamEvent:
    name: str
    data: dict[str, object]


class Listener:
    """Reads a stream as a browser does."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.comments = 0

    async def next(self) -> StreamEvent | None:
        """Return the next event; None when the stream has ended."""
        name = ""
        async with asyncio.timeout(EVENT_SECONDS):
            while line := await self.response.content.readline():
                text = line.decode().rstrip("\n")
                self.comments += text.startswith(":")
                if text.startswith("event: "):
                    name = text.removeprefix("event: ")
                elif text.startswith("data: "):
                    return StreamEvent(name, json.loads(text.removeprefix("data: ")))
        return None

    async def until(self, name: str) -> StreamEvent:
        while (heard := await self.next()) is not None:
            if heard.name == name:
                return heard
        raise AssertionError(f"the stream ended without {name!r}")

    async def rest(self) -> list[str]:
        names: list[str] = []
        while (heard := await self.next()) is not None:
            names.append(heard.name)
        return names


@asynccontextmanager
async def listening(browser: Browser, conversation: str) -> AsyncIterator[Listener]:
    async with browser.client.get(
        f"/chat/{conversation}/events", headers={"Accept": "text/event-stream"}
    ) as response:
        assert response.status == 200, await response.text()
        yield Listener(response)


def event_names(before: Sequence[InteractionGlance], now: Sequence[InteractionGlance]) -> list[str]:
    lines = b"".join(change_events({each.id: each for each in before}, now)).decode().split("\n")
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


WORKING = InteractionGlance(ONE, "working", Stage.SEARCHING)
DONE = InteractionGlance(ONE, "done", Stage.DONE)
OPEN = InteractionGlance(ONE, "done", Stage.DONE, "open", 1)


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        ([], [WORKING], ["stage"]),
        ([WORKING], [WORKING], []),
        ([WORKING], [replace(WORKING, stage=Stage.READING)], ["stage"]),
        ([WORKING], [replace(WORKING, pages=4)], ["stage"]),
        ([WORKING], [DONE], ["answer"]),
        ([WORKING], [OPEN], ["answer", "case"]),
        ([], [DONE], ["answer"]),
        ([], [OPEN], ["answer", "case"]),
        ([OPEN], [OPEN], []),
        ([OPEN], [replace(OPEN, case_version=2)], ["case"]),
        ([OPEN], [InteractionGlance(ONE, "cancelled")], ["answer"]),
        ([WORKING], [InteractionGlance(ONE, "cancelling")], ["answer"]),
        ([DONE], [DONE, InteractionGlance(TWO, "working")], ["stage"]),
    ],
)
def test_what_changed_is_told_and_nothing_else(
    before: list[InteractionGlance], now: list[InteractionGlance], events: list[str]
) -> None:
    assert event_names(before, now) == events


async def test_a_question_is_followed_to_its_answer(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    asked = exchange_of(await browser.post(f"/chat/{conversation}", question="error 809"))

    async with listening(browser, conversation) as stream:
        while (stage := await stream.until("stage")).data["step"] != "searching":
            pass
        assert stage.data == {
            "id": asked,
            "step": "searching",
            "pages": 0,
            "text": "Searching the wiki \u2026",
        }
        desk.may_answer.set()

        assert (await stream.until("answer")).data == {"id": asked}
        assert await stream.rest() == ["idle"]


async def test_one_who_comes_late_is_told_how_it_stands(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    async with listening(browser, path.split("/")[2]) as stream:
        assert await stream.rest() == ["answer", "present", "idle"]


async def test_what_people_do_is_told(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("a person, please")
    case_id = InteractionId(path.rpartition("/")[2])

    async with listening(browser, path.split("/")[2]) as stream:
        first = await stream.until("case")
        await stream.until("present")
        await store.escalations.act("default", case_id, "claim", ANNA)
        second = await stream.until("case")

    assert first.data["id"] == second.data["id"] == case_id
    assert first.data["version"] != second.data["version"]


async def test_a_conversation_of_another_tells_nothing(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    await browser.post(f"/chat/{conversation}", question="error 809")

    browser.client.session.cookie_jar.clear()

    async with listening(browser, conversation) as stream:
        assert await stream.rest() == ["present", "idle"]
    desk.may_answer.set()


async def test_no_answer_is_kept_or_gathered_on_the_way(browser: Browser) -> None:
    async with listening(browser, await browser.conversation()) as stream:
        headers = stream.response.headers

    assert headers["Content-Type"].startswith("text/event-stream")
    assert "no-store" in headers["Cache-Control"]
    assert headers["X-Accel-Buffering"] == "no"
    assert "Content-Security-Policy" in headers


async def test_more_streams_than_anybody_needs_are_refused(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    await browser.post(f"/chat/{conversation}", question="error 809")
    path = f"/chat/{conversation}/events"
    held = [await browser.client.get(path) for _ in range(MAX_STREAMS)]

    refused = await browser.client.get(path)

    assert refused.status == 429
    assert refused.headers["Retry-After"] == "30"
    assert "open tabs; this one is updated less often" in await refused.text()
    desk.may_answer.set()
    for stream in held:
        assert (await Listener(stream).rest())[-1] == "idle"
    async with listening(browser, conversation) as again:
        assert await again.rest()


async def test_a_stream_ends_at_once_when_the_server_stops(tmp_path: Path, store: Store) -> None:
    desk = VpnDesk()
    desk.may_answer.clear()
    async with chat_app(tmp_path, store, OnePageIndex(), desk) as app:
        client: TestClient = TestClient(TestServer(app))  # type: ignore[type-arg]  # generic only in stubs
        async with client:
            client.session.headers["Accept"] = "text/html"
            browser = Browser(client)
            conversation = await browser.conversation()
            await browser.post(f"/chat/{conversation}", question="error 809")
            async with listening(browser, conversation) as stream:
                await stream.until("present")
                async with asyncio.timeout(EVENT_SECONDS / 2):
                    await client.server.close()
                assert await stream.rest() in ([], ["stage"])
        desk.may_answer.set()


async def test_after_a_restart_in_the_middle_of_a_question_the_rest_is_told(
    tmp_path: Path, store: Store
) -> None:
    desk = VpnDesk()
    desk.may_answer.clear()
    cookies = aiohttp.CookieJar(unsafe=True)
    async with visiting(tmp_path, store, desk, cookies) as browser:
        conversation = await browser.conversation()
        await browser.post(f"/chat/{conversation}", question="error 809")
        async with listening(browser, conversation) as stream:
            await stream.until("present")

    # What is under way is not finished: the desk says nothing while the server stops.
    other = VpnDesk()
    later = await open_store(sqlite_url(tmp_path))
    async with (
        visiting(tmp_path, later, other, cookies) as browser,
        listening(browser, conversation) as stream,
    ):
        assert (await stream.until("answer")).data
        assert (await stream.rest())[-1] == "idle"
    await later.close()


@asynccontextmanager
async def visiting(
    data_dir: Path, store: Store, desk: VpnDesk, cookies: aiohttp.CookieJar
) -> AsyncIterator[Browser]:
    async with (
        chat_app(data_dir, store, OnePageIndex(), desk, drain_seconds=0.1) as app,
        TestClient(TestServer(app), cookie_jar=cookies) as client,
    ):
        client.session.headers["Accept"] = "text/html"
        yield Browser(client)


@dataclass
class FixedConversation:
    """A conversation that is set by the test, and how often it was looked at."""

    now: list[InteractionGlance] = field(default_factory=list)
    looks: int = 0
    away: bool = False

    async def thread(self, thread: Thread, limit: int) -> Sequence[InteractionGlance]:
        self.looks += 1
        if self.away:
            raise StoreUnavailable("The record is away.")
        return list(self.now)


QUICK = PollIntervals(working=0.01, waiting=0.02, answered=0.03, heartbeat=0.05, longest=60)


@asynccontextmanager
async def watching(
    tmp_path: Path, store: Store, looked: FixedConversation, tempo: PollIntervals = QUICK
) -> AsyncIterator[Listener]:
    """Sign in, and listen to a stream over a stand-in for the record's glance."""
    app = web.Application()
    mount_security(
        app,
        load_settings(FRONTDESK_DATA_DIR=tmp_path, FRONTDESK_ADMIN_TOKEN=TOKEN),
        sessions=store.sessions,
    )
    exchanges = Exchanges(
        interactions=store.interactions,
        cases=store.escalations,
        readable=ReadsEverything(),
        follow_ups=FollowUps(OnePageIndex(), "default"),
        tenant="default",
    )
    EventStreams(looked, exchanges, tempo).mount(app)
    async with (
        listened_on(app) as address,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client,
        client.post(f"{address}/session", json={"token": TOKEN}),
        client.get(f"{address}/chat/{uuid.uuid4()}/events") as response,
    ):
        yield Listener(response)


@asynccontextmanager
async def listened_on(app: web.Application) -> AsyncIterator[str]:
    """Serve as the real server does; aiohttp's own for tests cancels what a browser left."""
    runner = web.AppRunner(app, shutdown_timeout=EVENT_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_silent_stream_still_says_that_it_lives(tmp_path: Path, store: Store) -> None:
    looked = FixedConversation([WORKING])
    async with watching(tmp_path, store, looked) as stream:
        await stream.until("present")
        line = b""
        async with asyncio.timeout(EVENT_SECONDS):
            while not line.startswith(b":"):
                line = await stream.response.content.readline()
        looked.now = [DONE]
        assert await stream.rest() == ["answer", "idle"]


async def test_a_stream_ends_after_a_while_so_that_who_listens_is_asked_again(
    tmp_path: Path, store: Store
) -> None:
    tempo = replace(QUICK, longest=0.1)
    async with watching(tmp_path, store, FixedConversation([WORKING]), tempo) as stream:
        assert await stream.rest() == ["stage", "present"]


async def test_a_stream_tells_nothing_once_the_session_was_ended(
    tmp_path: Path, store: Store
) -> None:
    looked = FixedConversation([WORKING])
    async with watching(tmp_path, store, looked) as stream:
        await stream.until("present")
        await store.sessions.end_all("default", "admin", actor="cli:ops")
        looked.now = [DONE]
        assert await stream.rest() == []


async def test_a_record_that_goes_away_ends_the_stream(tmp_path: Path, store: Store) -> None:
    looked = FixedConversation([WORKING])
    async with watching(tmp_path, store, looked) as stream:
        await stream.until("present")
        looked.away = True
        assert await stream.rest() == []


async def test_a_record_that_is_away_is_an_error_that_says_so(tmp_path: Path, store: Store) -> None:
    async with watching(tmp_path, store, FixedConversation(away=True)) as stream:
        assert stream.response.status == 503


async def test_a_browser_that_left_is_not_looked_for_any_more(tmp_path: Path, store: Store) -> None:
    looked = FixedConversation([WORKING])
    silent = replace(QUICK, heartbeat=60)  # nothing is sent that could fail
    async with watching(tmp_path, store, looked, silent) as stream:
        await stream.until("present")
        stream.response.close()
        async with asyncio.timeout(EVENT_SECONDS):
            before = -1
            while before != looked.looks:
                before = looked.looks
                await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("glance", "seconds"),
    [
        (WORKING, 0.25),
        (OPEN, 2.0),
        (replace(OPEN, case_state="claimed"), 2.0),
        (replace(OPEN, case_state="reopened"), 2.0),
        (replace(OPEN, case_state="answered"), 10.0),
        (replace(OPEN, case_state="resolved"), None),
        (replace(OPEN, case_state="declined"), None),
        (DONE, None),
        (InteractionGlance(ONE, "cancelled"), None),
    ],
)
def test_the_record_is_looked_at_as_often_as_something_may_change(
    glance: InteractionGlance, seconds: float | None
) -> None:
    assert PollIntervals().pause([glance]) == seconds
    assert PollIntervals().pause([DONE, glance, DONE]) == seconds
