"""Scenarios of long runs: the server process, the script of people, and hostile content."""

from __future__ import annotations

import asyncio
import html
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.observability.logs import set_up_logs
from bot.platforms import teams as adapter
from bot.platforms.teams.messages import replies
from bot.platforms.teams.messages.intake import Files
from tests.fakes.applications import LocalCloud, teams_settings
from tests.fakes.hostile_wiki import index_attacks
from tests.fakes.http_server import LOW, Client, serving_application, settings_for, wait_until
from tests.fakes.model_server import KEY, openai_server
from tests.fakes.obeying_model import ObeyingModel
from tests.fakes.teams import names
from tests.fakes.teams.file_host import FileHost
from tests.fakes.teams.people import Conversation, Human
from tests.fakes.teams.posts import Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor, is_waiting
from tests.sweeps.delivery import AskedQuestion, ScheduledEvent, copy_times, serve
from tests.sweeps.sizes import PATIENCE_SECONDS


def serve_until_killed(data_dir: Path, teams_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed."""
    set_up_logs("error")
    LocalCloud(teams_url).take_over()
    settings = settings_for(data_dir, concurrency=64, **teams_settings(teams_url))
    asyncio.run(serve(settings, port, tells))


def serve_without_repeat_notes(
    data_dir: Path, teams_url: str, port: int, tells: Connection
) -> None:
    """Be a server until killed, that says of no answer that it may stand there twice."""
    setattr(replies, "marked_as_repeated", dict)  # noqa: B010 - this process is for nothing else
    serve_until_killed(data_dir, teams_url, port, tells)


CHANNELS = tuple(f"19:room{number:03d}@thread.tacv2" for number in range(12))
ASKERS = tuple(f"asker{number:02d}-object-id" for number in range(28))

_PRIVATE_SHARE = 0.6
_FOLLOWING_SHARE = 0.25
_EDITED_SHARE = 0.12
_DELETED_SHARE = 0.05


@dataclass
class Script:
    """All that happens, to be sent within ``seconds``."""

    teams: FakeTeams
    session: aiohttp.ClientSession
    draw: random.Random
    seconds: float
    asked: list[AskedQuestion] = field(default_factory=list)
    sendings: list[ScheduledEvent] = field(default_factory=list)
    _threads: dict[str, list[Written]] = field(default_factory=dict)

    async def write(self, events: int) -> None:
        """Let so many events happen, or one or two more."""
        add_people(self.teams)
        while len(self.sendings) < events:
            await self._one()

    async def _one(self) -> None:
        """Let one person ask one thing, and perhaps think better of it."""
        draw, number = self.draw, len(self.asked)
        visitor = Visitor(self.teams, self.session, draw.choice(ASKERS))
        visitor.held = []
        words = f"Q{number:05d} first"
        post = await visitor.say(self._where(visitor), words)
        asked = AskedQuestion(number, post.place, post.id, post.thread)
        if draw.random() < _EDITED_SHARE:
            asked.edited = True
            await visitor.edit(post, words.replace("first", "second"))
        if draw.random() < _DELETED_SHARE:
            asked.deleted = True
            await visitor.delete(post)
        elif post.thread == post.id:
            self._threads.setdefault(post.place, []).append(post)
        self._send(asked, visitor.held)

    def _where(self, visitor: Visitor) -> str | Written:
        """Choose a chat, a channel, or a thread that somebody began there."""
        if self.draw.random() < _PRIVATE_SHARE:
            return visitor.chat
        channel = self.draw.choice(CHANNELS)
        begun = self._threads.get(channel)
        return (
            self.draw.choice(begun) if begun and self.draw.random() < _FOLLOWING_SHARE else channel
        )

    def _send(self, asked: AskedQuestion, activities: Sequence[Mapping[str, Any]]) -> None:
        at = self.draw.uniform(0, self.seconds)
        self.asked.append(asked)
        for activity in activities:
            edits = activity["type"] == "messageUpdate"
            self.sendings.append(
                ScheduledEvent(activity, copy_times(at, self.draw), asked, edits=edits)
            )


def add_people(teams: FakeTeams) -> None:
    """Let a company be there: everybody in every channel, and the app in everybody's chat."""
    for channel in CHANNELS:
        place = Conversation(channel, "channel", name=channel[3:10], team=names.TEAM)
        teams.conversations[channel] = place
    for number, asker in enumerate(ASKERS):
        address = f"asker{number}@acme.example"
        human = Human(asker, f"29:asker{number:02d}", f"Asker {number}", address, address)
        teams.add(human, *CHANNELS)


_AT_ONCE = 4
_FORWARDED = (
    '<blockquote itemscope itemtype="http://schema.skype.com/Forward">'
    '<strong itemprop="mri" itemid="29:x">{author}</strong><p>{words}</p></blockquote><p>{own}</p>'
)
JsonObject = dict[str, Any]


@dataclass
class HostileScenario:
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
    def told(self) -> list[JsonObject]:
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

    siege: HostileScenario
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

    def _file(self) -> JsonObject:
        name = f"{self.line[:60].replace('/', ' ')}.log"
        return self.siege.files.share(name, f"{self.question}\n{self.words}\n".encode())

    def _forward(self) -> JsonObject:
        """Return a message of somebody who is called so, forwarded."""
        shown = _FORWARDED.format(
            author=html.escape(self.line), words=html.escape(self.words), own=self.question
        )
        return {"contentType": "text/html", "content": shown}

    async def _asked(
        self, asker: Visitor, where: str, text: str, files: Sequence[JsonObject]
    ) -> None:
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
            await wait_until(lambda: self._below(post), seconds=PATIENCE_SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{post.typed!r} in {post.place} was not answered") from error
        return self._below(post)

    async def _carded(self, post: Written) -> tuple[Sequence[Sent], Sent]:
        """Wait until an answer has its buttons."""
        await wait_until(
            lambda: any(each.labels for each in self._below(post)), seconds=PATIENCE_SECONDS
        )
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
        await wait_until(
            lambda: "Claim" in self.siege.teams.post(card.id).labels, seconds=PATIENCE_SECONDS
        )
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

        await wait_until(come, seconds=PATIENCE_SECONDS)
        return found[0]

    async def _told(self, channel: str, before: set[str], label: str) -> Sent:
        def found() -> list[Sent]:
            new = [each for each in self._in(channel) if each.id not in before]
            return [each for each in new if label in each.labels]

        await wait_until(found, seconds=PATIENCE_SECONDS)
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
async def hostile_scenario(
    attacks: Sequence[str], folder: Path, teams: FakeTeams, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HostileScenario]:
    """Serve a desk whose index holds a page for every attack, until the block ends."""
    obeying = ObeyingModel([(attack,) for attack in attacks])
    async with FileHost().serving() as files, openai_server(obeying) as model:
        here = LocalCloud(teams.url, hurried=True)
        fetching = partial(here.connect, files=Files(files.connector))
        monkeypatch.setattr(adapter, "connect", fetching)
        settings = settings_for(
            folder / "data",
            **teams_settings(teams.url),
            teams_admins=(names.ANNA,),
            public_url="https://desk.example.com",
            confidence_threshold=LOW,
            openai_base_url=model.url,
            openai_api_key=KEY,
            openai_model="obeying",
        )
        await index_attacks(settings, attacks, folder / "pages")
        async with serving_application(settings) as client:
            yield HostileScenario(teams, files, client, attacks, obeying)
