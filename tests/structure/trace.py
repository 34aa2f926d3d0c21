"""Trace which of our files and functions every answered question passes, platform by platform.

The whole application answers a warm-up question and then three traced ones; what is traced ends
when its outcome is recorded. Threads that the application starts are traced too, its background
tasks are not: on a slow machine each question meets a beat of all of them. The way is what all
questions pass. No stage is recorded on the way, as none is on a fast machine. The platforms are the
doubles of the tests.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import FrameType

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.domain.interactions import Reply
from bot.domain.outcomes import is_unfinished
from bot.domain.settings import Settings
from bot.inbox import in_flight
from bot.platforms import teams as adapter
from bot.store.database import Store
from tests.contract.platforms.driver import Question
from tests.contract.platforms.web_driver import OnWeb
from tests.fakes.applications import UNLIMITED, LocalCloud, teams_settings
from tests.fakes.http_server import serving_application, settings_for, write_index
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import HELP, TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor as SlackVisitor
from tests.fakes.teams.names import HELP as TEAMS_CHANNEL
from tests.fakes.teams.people import Human
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor as TeamsVisitor
from tests.structure.source import PRODUCT, ROOT
from tests.sweeps.web_comparison import opened, recorded

QUESTIONS = (
    "vpn says error 809, what now",
    "how many days of annual leave do we have",
    "how long does a voucher for the guest Wi-Fi last",
    "what does VPN error 809 mean",
)

NO_STAGE_SECONDS = 600.0
"""The pause before stages are recorded: longer than a question takes on a slow machine."""

Ask = Callable[[str], Awaitable[object]]


class Way:
    """The functions of ours that were called, in the order of their first call, by file."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, int]] = {}
        self._now: dict[str, dict[str, int]] | None = None
        self._background: frozenset[asyncio.Task[object]] = frozenset()

    @property
    def count(self) -> int:
        """How many different functions were called."""
        return sum(len(names) for names in self.functions.values())

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the threads that begin in the block; nothing is noted yet."""
        threading.setprofile(self._note)
        try:
            yield
        finally:
            threading.setprofile(None)

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Note what is called in the block; keep the files that every block has passed."""
        now = self._now = {}
        self._background = frozenset(each for each in asyncio.all_tasks() if not _is_way(each))
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            self._now = None
        before = self.functions or now
        self.functions = {path: names for path, names in before.items() if path in now}

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        now = self._now
        if now is None or event != "call":
            return
        path = frame.f_code.co_filename
        if not path.startswith(_OURS) or _task() in self._background:
            return
        names = now.setdefault(path.removeprefix(f"{ROOT}/"), {})
        names[frame.f_code.co_qualname] = names.get(frame.f_code.co_qualname, 0) + 1


def _is_way(task: asyncio.Task[object]) -> bool:
    """Return whether a task that runs before a question is on its way: a connection, who asks."""
    if task is asyncio.current_task():
        return True
    return getattr(task.get_coro(), "__qualname__", "") == "RequestHandler.start"


def _task() -> asyncio.Task[object] | None:
    """Return the running task; None in a thread without a loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


_OURS = tuple(f"{ROOT}/{top}/" for top in PRODUCT)


async def on_web(folder: Path) -> Way:
    """Trace a question in the browser's chat."""
    settings = settings_for(folder, **UNLIMITED)
    return await _traced(settings, lambda client: _web(folder, client))


async def on_slack(folder: Path) -> Way:
    """Trace a mention in a channel of Slack, signed as Slack signs."""
    async with FakeSlack().serving() as slack:
        settings = settings_for(
            folder,
            slack_bot_token=TOKEN,
            slack_signing_secret=SECRET,
            slack_api_url=slack.url,
            slack_team_id=TEAM,
            **UNLIMITED,
        )

        def ask(client: object) -> Ask:
            alice = SlackVisitor(slack, client)  # type: ignore[arg-type]
            return lambda text: alice.say(HELP, text, mention=True)

        return await _traced(settings, ask)


async def on_teams_chat(folder: Path) -> Way:
    """Trace a message in a personal chat of Teams, with a token as Microsoft's."""
    key = generate_private_key(public_exponent=65537, key_size=2048)
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        teams = await stack.enter_async_context(FakeTeams(keys={"k1": key}).serving())
        patch.setattr(adapter, "connect", LocalCloud(teams.url).connect)
        address = "asker@acme.example"
        teams.add(Human("asker-object-id", "29:asker", "Asker", address, address), TEAMS_CHANNEL)
        settings = settings_for(folder, **teams_settings(teams.url))

        def ask(client: object) -> Ask:
            asker = TeamsVisitor(teams, client, "asker-object-id")  # type: ignore[arg-type]
            return lambda text: asker.say(asker.chat, text)

        return await _traced(settings, ask)


def _web(folder: Path, client: object) -> Ask:
    web = OnWeb(folder)
    web.client = client  # type: ignore[assignment]
    numbers = iter(range(len(QUESTIONS)))

    async def ask(text: str) -> object:
        number = next(numbers)
        return await web.ask(Question(text, number, number, private=True))

    return ask


async def _traced(settings: Settings, platform: Callable[[object], Ask]) -> Way:
    await write_index(settings, settings.data_dir / "wiki")
    way = Way()
    with pytest.MonkeyPatch.context() as patch, way.watching():
        patch.setattr(in_flight, "WRITE_PAUSE_SECONDS", NO_STAGE_SECONDS)
        async with serving_application(settings) as client, opened(settings) as store:
            ask = platform(client)
            await ask(QUESTIONS[0])
            await _finished(store, 1)
            for count, question in enumerate(QUESTIONS[1:], start=2):
                with way.tracing():
                    await ask(question)
                    await _finished(store, count)
    return way


async def _finished(store: Store, count: int) -> None:
    """Wait until so many questions are answered from pages and their replies posted."""
    async with asyncio.timeout(60):
        while any(map(is_unfinished, await recorded(store, count))):  # noqa: ASYNC110 - a record
            await asyncio.sleep(0.05)
    for each in await recorded(store, count):
        response = each.outcome and each.outcome.response
        assert isinstance(response, Reply)
        assert response.sources


WAYS: Mapping[str, Callable[[Path], Coroutine[object, object, Way]]] = {
    "the web": on_web,
    "Slack": on_slack,
    "Teams": on_teams_chat,
}
"""How to trace one question, by where it is asked; each in a folder of its own."""
