"""A server that is killed and starts again, the script of people, and a help desk under attack."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from bot.observability.logs import set_up_logs
from bot.platforms.slack.payloads import actions
from tests.fakes.applications import slack_settings, take_over_slack
from tests.fakes.hostile_wiki import index_attacks
from tests.fakes.http_server import LOW, Client, serving_application, settings_for, wait_until
from tests.fakes.model_server import KEY, openai_server
from tests.fakes.obeying_model import ObeyingModel
from tests.fakes.slack import names
from tests.fakes.slack.exchange import Json
from tests.fakes.slack.names import HELP, PEOPLE
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import Post, StoredFile
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import Workspace
from tests.fakes.slack.visitor import Visitor
from tests.sweeps.delivery import AskedQuestion, ScheduledEvent, copy_times, serve
from tests.sweeps.sizes import PATIENCE_SECONDS


def serve_until_killed(data_dir: Path, slack_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed."""
    set_up_logs("error")
    take_over_slack()
    settings = settings_for(
        data_dir,
        **slack_settings(slack_url),
        concurrency=64,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
    )
    asyncio.run(serve(settings, port, tells))


CHANNELS = tuple(f"C0ROOM{number:03d}" for number in range(12))
ASKERS = tuple(f"U0ASK{number:04d}" for number in range(28))

_PRIVATE_SHARE = 0.6
_FOLLOWING_SHARE = 0.25
_EDITED_SHARE = 0.12
_DELETED_SHARE = 0.05


@dataclass
class Script:
    """All that happens, to be sent within ``seconds``."""

    slack: Workspace
    draw: random.Random
    seconds: float
    asked: list[AskedQuestion] = field(default_factory=list)
    sendings: list[ScheduledEvent] = field(default_factory=list)
    _threads: dict[str, list[str]] = field(default_factory=dict)

    async def write(self, events: int) -> None:
        """Let so many events happen, or one or two more."""
        for channel in CHANNELS:
            self.slack.channels.add(channel)
        for number, user in enumerate(ASKERS):
            email = f"asker{number}@acme.example"
            self.slack.people[user] = Member(user, f"asker{number}", f"Asker {number}", email)
        while len(self.sendings) < events:
            await self._one()

    async def _one(self) -> None:
        """Let one person ask one thing, and perhaps think better of it."""
        draw, number = self.draw, len(self.asked)
        visitor = Visitor(self.slack, self.slack.sockets, draw.choice(ASKERS))
        visitor.held = []
        private = draw.random() < _PRIVATE_SHARE
        channel = visitor.direct if private else draw.choice(CHANNELS)
        begun = self._threads.setdefault(channel, [])
        root = draw.choice(begun) if begun and draw.random() < _FOLLOWING_SHARE else None
        words = f"Q{number:05d} first"
        ts = await visitor.say(channel, words, root, mention=not private)
        asked = AskedQuestion(number, channel, ts, root or ts)
        if draw.random() < _EDITED_SHARE:
            asked.edited = True
            second = words.replace("first", "second")
            await visitor.edit(ts, second if private else f"<@{names.BOT_USER}> {second}")
        if draw.random() < _DELETED_SHARE:
            asked.deleted = True
            await visitor.delete(ts)
        elif root is None:
            begun.append(ts)
        self._send(asked, visitor.held)

    def _send(self, asked: AskedQuestion, envelopes: Sequence[Json]) -> None:
        at = self.draw.uniform(0, self.seconds)
        self.asked.append(asked)
        for envelope in envelopes:
            edits = envelope["event"].get("subtype") == "message_changed"
            self.sendings.append(
                ScheduledEvent(envelope, copy_times(at, self.draw), asked, edits=edits)
            )


_AT_ONCE = 8
CARRIERS = 9
"""Question, title, section and text of a page, name and text of a file, name, case, model."""
_PRESSED = (actions.WHY, "Ask a person")


@dataclass
class HostileScenario:
    """The desk under attack: each attack comes by every carrier there is."""

    slack: FakeSlack
    client: Client
    attacks: Sequence[str]
    model: ObeyingModel

    async def all(self) -> None:
        """Let every attack come."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def one(number: int) -> None:
            async with few:
                await self._one(number)

        await asyncio.gather(*map(one, range(len(self.attacks))))

    async def _one(self, number: int) -> None:
        attack = self.attacks[number]
        user = f"U0CASE{number:03d}"
        named = " ".join(attack.split())[:80]
        self.slack.people[user] = Member(user, named, named, f"{user.lower()}@acme.example")
        asker = Visitor(self.slack, self.client, user)
        asked = f"What does the locker case{number:03d} cost?"
        log = StoredFile(f"{named[:20].replace('/', '')}.log", f"{asked}\n{attack}\n".encode())
        for text, channel, files in (
            (asked, HELP, (log,)),
            (f"{asked} {attack}", HELP, ()),
            (f"{asked} {attack}", asker.direct, ()),
            (f"{attack}", asker.direct, ()),
            (f"hello {attack}", asker.direct, ()),
            (f"Can I talk to a human about case{number:03d}? {attack}", HELP, ()),
        ):
            ts = await asker.say(channel, text, files=files, mention=channel == HELP)
            await self._press(asker, await self._answer(channel, ts))

    async def _answer(self, channel: str, ts: str) -> Post:
        await wait_until(lambda: self.slack.answers(channel, ts), seconds=PATIENCE_SECONDS)
        return self.slack.answers(channel, ts)[-1]

    async def _press(self, asker: Visitor, post: Post) -> None:
        for name in _PRESSED:
            with suppress(AssertionError):
                await asker.click(post, name)


@asynccontextmanager
async def hostile_scenario(
    attacks: Sequence[str], slack: FakeSlack, folder: Path
) -> AsyncIterator[HostileScenario]:
    """Serve a desk whose index holds a page for every attack, until the block ends."""
    obeying = ObeyingModel([(attack,) for attack in attacks])
    async with openai_server(obeying) as model:
        settings = settings_for(
            folder / "data",
            **slack_settings(slack.url),
            slack_escalation_channel=PEOPLE,
            confidence_threshold=LOW,
            openai_base_url=model.url,
            openai_api_key=KEY,
            openai_model="obeying",
            rate_per_user_per_minute=0,
            rate_per_channel_per_minute=0,
        )
        await index_attacks(settings, attacks, folder / "pages")
        async with serving_application(settings) as client:
            yield HostileScenario(slack, client, attacks, obeying)
