"""A help desk whose pages, people, files and model all want the same bad thing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bot.platforms.slack.payloads import actions
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.files import StoredFile
from tests.bot.adapters.slack.workspace.names import HELP, PEOPLE, TEAM, TOKEN
from tests.bot.adapters.slack.workspace.people import Member
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.house import LOW, Client, house, until
from tests.bot.server import settings_for
from tests.rag.models.openai_server import KEY, openai_server
from tests.whole.hostile_pages import index_attacks
from tests.whole.obeying import ObeyingModel

_AT_ONCE = 8
CARRIERS = 9
"""Question, title, section and text of a page, name and text of a file, name, case, model."""
_PRESSED = (actions.WHY, "Ask a person")


@dataclass
class Siege:
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
        await until(lambda: self.slack.answers(channel, ts), seconds=60)
        return self.slack.answers(channel, ts)[-1]

    async def _press(self, asker: Visitor, post: Post) -> None:
        for name in _PRESSED:
            with suppress(AssertionError):
                await asker.click(post, name)


@asynccontextmanager
async def besieged(attacks: Sequence[str], folder: Path) -> AsyncIterator[Siege]:
    """Serve a desk whose index holds a page for every attack, until the block ends."""
    obeying = ObeyingModel(attacks)
    async with FakeSlack().serving() as slack, openai_server(obeying) as model:
        settings = settings_for(
            folder / "data",
            slack_bot_token=TOKEN,
            slack_signing_secret=events.SECRET,
            slack_api_url=slack.url,
            slack_team_id=TEAM,
            slack_escalation_channel=PEOPLE,
            confidence_threshold=LOW,
            openai_base_url=model.url,
            openai_api_key=KEY,
            openai_model="obeying",
            rate_per_user_per_minute=0,
            rate_per_channel_per_minute=0,
        )
        await index_attacks(settings, attacks, folder / "pages")
        async with house(settings) as client:
            yield Siege(slack, client, attacks, obeying)
