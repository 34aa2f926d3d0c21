"""A help desk in Teams whose pages, people, places, files and model all want the same bad thing."""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.platforms import teams as adapter
from bot.platforms.teams.messages.files import Files
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import Conversation
from tests.bot.adapters.teams.tenant.file_host import FileHost
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.posts import Sent, Written
from tests.bot.adapters.teams.visitor import Visitor
from tests.bot.house import LOW, Client, house, until
from tests.bot.server import settings_for
from tests.rag.models.openai_server import KEY, openai_server
from tests.teams.reading import is_waiting
from tests.teams.tenant import Local, on_teams
from tests.whole.hostile_pages import index_attacks
from tests.whole.obeying import ObeyingModel

_AT_ONCE = 4
_LONG = 30.0
_FORWARDED = (
    '<blockquote itemscope itemtype="http://schema.skype.com/Forward">'
    '<strong itemprop="mri" itemid="29:x">{author}</strong><p>{words}</p></blockquote><p>{own}</p>'
)
Json = dict[str, Any]


@dataclass
class Siege:
    """The desk under attack: each attack comes by every carrier there is.

    ``tried`` counts what was pressed, sent or opened, by name.
    """

    teams: FakeTeams
    files: FileHost
    client: Client
    attacks: Sequence[str]
    model: ObeyingModel
    visitors: list[Visitor] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[Json]:
        """What presses were answered with."""
        return [each.body for visitor in self.visitors for each in visitor.answers]

    async def all(self) -> None:
        """Let every attack come."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def one(number: int) -> None:
            async with few:
                await _Attack(self, number, self.attacks[number]).come()

        await asyncio.gather(*map(one, range(len(self.attacks))))

    def visitor(self, person: str) -> Visitor:
        visitor = Visitor(self.teams, self.client, person)
        self.visitors.append(visitor)
        return visitor


@dataclass
class _Attack:
    """One attack on all its ways, by a person and in places that are called so."""

    siege: Siege
    number: int
    words: str

    @property
    def line(self) -> str:
        return " ".join(self.words.split())

    @property
    def question(self) -> str:
        return f"What does the locker case{self.number:03d} cost?"

    async def come(self) -> None:
        asker, anna = self._asker(), self.siege.visitor(names.ANNA)
        channel, group = self._places(asker, anna)
        for where, text, files in (
            (channel, f"{self.question} {self.words}", ()),
            (group, f"{self.question} {self.words}", ()),
            (asker.chat, self.question, (self._file(),)),
            (asker.chat, f"{self.question} {self.words}", (self._forward(),)),
        ):
            await self._asked(asker, where, text, files)
        await self._answered(await asker.say(asker.chat, self.words))
        await self._person(asker, anna, channel)
        await self._orders(anna, channel)

    def _asker(self) -> Visitor:
        person = f"case{self.number:03d}-object-id"
        address = f"case{self.number:03d}@acme.example"
        named = self.line[:80]
        self.siege.teams.add(Human(person, f"29:case{self.number:03d}", named, address, address))
        return self.siege.visitor(person)

    def _places(self, *visitors: Visitor) -> tuple[str, str]:
        """Return a channel and a group chat that are called so."""
        members = {each.id for each in visitors}
        channel = Conversation(
            f"19:case{self.number:03d}@thread.tacv2", "channel", members, self.line, names.TEAM
        )
        group = Conversation(
            f"19:case{self.number:03d}@thread.v2", "groupChat", set(members), self.line
        )
        for each in (channel, group):
            self.siege.teams.conversations[each.id] = each
        return channel.id, group.id

    def _file(self) -> Json:
        name = f"{self.line[:60].replace('/', ' ')}.log"
        return self.siege.files.share(name, f"{self.question}\n{self.words}\n".encode())

    def _forward(self) -> Json:
        """Return a message of somebody who is called so, forwarded."""
        shown = _FORWARDED.format(
            author=html.escape(self.line), words=html.escape(self.words), own=self.question
        )
        return {"contentType": "text/html", "content": shown}

    async def _asked(self, asker: Visitor, where: str, text: str, files: Sequence[Json]) -> None:
        """Ask, judge the answer with words, ask why, and ask for a person."""
        (first, *_), carded = await self._carded(await asker.say(where, text, files=files))
        dialog = await asker.open(carded, self._label(carded, "Why"))
        self._tried("why")
        if dialog.labels:
            await asker.submit(dialog, "Send", comment=self.words)
            self._tried("reason")
        if (first.activity.get("channelData") or {}).get("feedbackLoop"):
            await asker.feedback(first, "dislike", self.words)
            self._tried("feedback")
        if "Ask a person" in carded.labels:
            await asker.press(carded, "Ask a person")
            self._tried("person")

    async def _answered(self, post: Written) -> Sequence[Sent]:
        try:
            await until(lambda: self._below(post), seconds=_LONG)
        except TimeoutError as error:
            raise AssertionError(f"{post.typed!r} in {post.place} was not answered") from error
        return self._below(post)

    async def _carded(self, post: Written) -> tuple[Sequence[Sent], Sent]:
        """Wait until an answer has its buttons."""
        await until(lambda: any(each.labels for each in self._below(post)), seconds=_LONG)
        below = self._below(post)
        return below, next(each for each in below if each.labels)

    def _below(self, post: Written) -> list[Sent]:
        there = self.siege.teams.visible.values()
        return [each for each in there if each.reply_to == post.id and not is_waiting(each)]

    async def _person(self, asker: Visitor, anna: Visitor, channel: str) -> None:
        """Ask for a person, who writes into the card's fields; then ask again."""
        there = {post.id for post in self._in(channel)}
        await asker.say(channel, f"Can I talk to a human about case{self.number:03d}? {self.words}")
        card = await self._card()
        await anna.press(card, "Claim")
        await anna.press(card, "Reply > Send", reply_words=self.words)
        self._tried("reply")
        told = await self._told(channel, there, "Ask again")
        await asker.press(told, "Ask again")
        await until(lambda: "Claim" in self.siege.teams.post(card.id).labels, seconds=_LONG)
        await anna.press(card, "Not for us > Send", decline_words=self.words)
        self._tried("decline")

    async def _card(self) -> Sent:
        """Wait for the card of this attack; each is read once."""
        named, read = f"human about case{self.number:03d}?", set[str]()
        found: list[Sent] = []

        def come() -> list[Sent]:
            new = [each for each in self._in(names.PEOPLE) if each.id not in read]
            read.update(each.id for each in new)
            found.extend(each for each in new if each.cards and named in each.shown)
            return found

        await until(come, seconds=_LONG)
        return found[0]

    async def _told(self, channel: str, before: set[str], label: str) -> Sent:
        def found() -> list[Sent]:
            new = [each for each in self._in(channel) if each.id not in before]
            return [each for each in new if label in each.labels]

        await until(found, seconds=_LONG)
        return found()[-1]

    def _in(self, place: str) -> list[Sent]:
        return [each for each in self.siege.teams.visible.values() if each.place == place]

    async def _orders(self, anna: Visitor, channel: str) -> None:
        """Order what is written so, and put it into the settings of a place."""
        for order in (f"reindex {self.line}", "status"):
            await self._answered(await anna.say(channel, order))
        asked = await anna.say(channel, "settings")
        _, carded = await self._carded(asked)
        dialog = await anna.open(carded, "Settings")
        for given in (self.line, names.PEOPLE):
            await anna.submit(dialog, "Save", people=given[:900])
        self._tried("settings")

    def _label(self, post: Sent, begins: str) -> str:
        return next(label for label in post.labels if label.startswith(begins))

    def _tried(self, what: str) -> None:
        self.siege.tried.append(what)


@asynccontextmanager
async def besieged(
    attacks: Sequence[str], folder: Path, teams: FakeTeams, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Siege]:
    """Serve a desk whose index holds a page for every attack, until the block ends."""
    obeying = ObeyingModel(attacks)
    async with FileHost().serving() as files, openai_server(obeying) as model:
        fetching = partial(Local(teams.url).connect, files=Files(files.connector))
        monkeypatch.setattr(adapter, "connect", fetching)
        settings = settings_for(
            folder / "data",
            **on_teams(teams.url),
            teams_admins=(names.ANNA,),
            public_url="https://desk.example.com",
            confidence_threshold=LOW,
            openai_base_url=model.url,
            openai_api_key=KEY,
            openai_model="obeying",
        )
        await index_attacks(settings, attacks, folder / "pages")
        async with house(settings) as client:
            yield Siege(teams, files, client, attacks, obeying)
