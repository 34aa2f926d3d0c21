"""Scenarios of long runs: the server process, the script of people, and hostile content."""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
import pytest

from bot.observability.logs import set_up_logs
from bot.platforms import teams as adapter
from bot.platforms.teams.messages import replies
from bot.platforms.teams.messages.intake import Files
from tests.fakes.applications import LocalCloud, teams_settings
from tests.fakes.hostile_wiki import WIKI, index_attacks
from tests.fakes.http_server import LOW, Client, serving_application, settings_for, wait_until
from tests.fakes.model_server import KEY, openai_server
from tests.fakes.obeying_model import ObeyingModel
from tests.fakes.teams import names
from tests.fakes.teams.cards import CARD_TYPE
from tests.fakes.teams.file_host import FileHost
from tests.fakes.teams.people import Conversation, Human
from tests.fakes.teams.posts import Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor, is_waiting
from tests.sweeps.delivery import AskedQuestion, ScheduledEvent, copy_times, serve


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


Json = Mapping[str, Any]

_ADDRESSES = (WIKI, "https://teams.microsoft.com/l/message/", "https://desk.example.com/")
_LABEL = r"(?<![!\\])\[(?:\\.|[^\[\]\\])*\]"
_OURS = re.compile(rf"{_LABEL}\((?:{'|'.join(map(re.escape, _ADDRESSES))})[^\s()<>]*\)")
_SAID = re.compile(r"\[(https://(?:\\.|[^\[\]\\\s])*)\]\((https://[^\s()<>]*)\)")
"""An address that a colleague wrote in a reply: it leads to where it says."""

_AT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_TIME = re.compile(rf"\{{\{{DATE\({_AT}, SHORT\)\}}\}} \{{\{{TIME\({_AT}\)\}}\}}")
"""A time as code writes it, alone."""

_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_BARE = r"://|(?<![^\W\u02cb])(?<!@)(?:www\.)?evil\.example(?![^\W\u02cb])"
_LIVE = re.compile(
    rf"(?<!\\)\]\(|(?<!\\)!\[|^ *\[[^\]]+\]:|<|{_BARE}", re.IGNORECASE | re.MULTILINE
)
_LIVE_ON_CARD = re.compile(rf"{_LIVE.pattern}|\{{\{{", re.IGNORECASE | re.MULTILINE)
_TOLD = re.compile(r"\*\*Anna Lopez\*\* (?:answered|can't take your question):")
_TAG = re.compile(r"<\s*/?\s*(?:at|attachment|quoted)\b", re.IGNORECASE)

_KEYS = frozenset(
    "type id channelId conversation from recipient replyToId serviceUrl locale text textFormat "
    "summary entities attachments channelData".split()
)
"""What an activity may have; no suggested action, no value, no speech."""

_ENTITIES = {"https://schema.org/Message", "streaminfo"}
_ACTS_BY_ITSELF = {
    "selectAction",
    "backgroundImage",
    "iconUrl",
    "poster",
    "refresh",
    "inlineAction",
}
_LOADS = {"Image", "ImageSet", "Media", "Data.Query", "Action.OpenUrl"}


def wrong_in(sent: Iterable[Json]) -> list[str]:
    """Return what works in any activity though code did not build it."""
    return [one for activity in sent for one in _wrong_in_activity(activity)]


def wrong_in_answers(answers: Iterable[Json]) -> list[str]:
    """Return the same of what presses were answered with: cards, dialogs, and words."""
    return [one for answer in answers for one in _wrong_in_answer(answer)]


def joined_text(sent: Iterable[Json]) -> str:
    """Return all of it, as one text."""
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in sent)


def _wrong_in_activity(activity: Json) -> Iterator[str]:
    for key in activity.keys() - _KEYS:
        yield f"a field {key!r}"
    text = str(activity.get("text") or "")
    if activity.get("textFormat", "markdown") not in {"plain", "markdown"}:
        yield f"textFormat {activity['textFormat']!r}"
    yield from (f"text {each!r} in {text!r:.300}" for each in _live_markdown(text))
    yield from _computed("summary", activity.get("summary"))
    for key in (activity.get("channelData") or {}).keys() - {"feedbackLoop", "tenant"}:
        yield f"channelData {key!r}"
    for entity in activity.get("entities") or []:
        yield from _wrong_in_entity(entity)
    for attached in activity.get("attachments") or []:
        yield from _wrong_in_attachment(attached)


def _wrong_in_answer(answer: Json) -> Iterator[str]:
    task = answer.get("task") or {}
    shown: Any = task.get("value") if task else answer.get("value")
    if isinstance(shown, str):
        yield from (f"words {each!r} in {shown!r:.300}" for each in _LIVE.findall(shown))
    elif task:
        yield from (f"a dialog's {key!r}" for key in shown.keys() - _DIALOG)
        yield from _computed("title", shown.get("title"))
        yield from _wrong_in_attachment(shown["card"])
    elif shown:
        yield from _wrong_on_card(shown)


_DIALOG = {"title", "height", "width", "card"}


def _live_markdown(text: str) -> list[str]:
    prose = _OURS.sub("", _CODE.sub(" ", text))
    own = _SAID.sub(_unless_honest, prose) if _TOLD.match(text) else prose
    return _LIVE.findall(own) + _TAG.findall(text)


def _unless_honest(link: re.Match[str]) -> str:
    """Return nothing of a link that leads to the host that it shows."""
    shown = re.sub(r"\\(.)", r"\1", link[1])
    same = _host(shown) == _host(link[2])
    return "" if same else link[0]


def _host(address: str) -> str:
    return unquote(urlsplit(address).netloc).casefold()


def _wrong_in_entity(entity: Json) -> Iterator[str]:
    if entity.get("type") not in _ENTITIES:
        yield f"an entity {entity.get('type')!r}"
    for claim in entity.get("citation", []):
        shown = claim["appearance"]
        if not str(shown.get("url", WIKI)).startswith(WIKI):
            yield f"a citation's url {shown['url']!r}"
    for key, value in _fields(entity):
        if key in {"url", "image", "icon", "encodingFormat"} and not value.startswith(WIKI):
            yield f"{key} {value!r}"


def _wrong_in_attachment(attached: Json) -> Iterator[str]:
    if attached.get("contentType") != CARD_TYPE or set(attached) - {"contentType", "content"}:
        yield f"an attachment {attached!r:.200}"
    yield from _wrong_on_card(attached["content"])


def _wrong_on_card(card: Json) -> Iterator[str]:
    for part in _card_parts(card):
        kind = part.get("type", "")
        if kind in _LOADS or part.keys() & _ACTS_BY_ITSELF or part.get("url"):
            yield f"{kind} {dict(part)!r:.200}"
        if kind == "TextBlock" and not _TIME.fullmatch(part["text"]):
            shown = _OURS.sub("", part["text"])
            yield from (f"{each!r} in {shown!r:.300}" for each in _LIVE_ON_CARD.findall(shown))
            yield from _computed(kind, part["text"])
        elif kind not in {"TextBlock", "CodeBlock"}:
            for key in ("text", "title", "label", "placeholder", "errorMessage"):
                yield from _computed(f"{kind}.{key}", part.get(key))
        if kind == "FactSet":
            facts = [fact[key] for fact in part["facts"] for key in ("title", "value")]
            yield from (
                f"a fact {each!r}" for fact in facts for each in _LIVE_ON_CARD.findall(fact)
            )
        if (part.get("msteams") or {}).keys() - {"width", "type"}:
            yield f"msteams {part['msteams']!r}"


def _computed(key: str, text: object) -> Iterator[str]:
    """Yield what steers a card or names somebody in words that are plain to Teams."""
    if isinstance(text, str) and "{{" in text:
        yield f"{key} {text!r:.200}"


def _card_parts(payload: object) -> Iterator[Json]:
    """Yield every object of a card, also below fallbacks and in what buttons unfold."""
    if isinstance(payload, Mapping):
        yield payload
        for key, value in payload.items():
            if key != "data":
                yield from _card_parts(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from _card_parts(value)


def _fields(payload: object) -> Iterator[tuple[str, str]]:
    if isinstance(payload, Mapping):
        for key, value in payload.items():
            if isinstance(value, str):
                yield str(key), value
            yield from _fields(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from _fields(value)


_AT_ONCE = 4
_LONG = 60.0
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
            await wait_until(lambda: self._below(post), seconds=_LONG)
        except TimeoutError as error:
            raise AssertionError(f"{post.typed!r} in {post.place} was not answered") from error
        return self._below(post)

    async def _carded(self, post: Written) -> tuple[Sequence[Sent], Sent]:
        """Wait until an answer has its buttons."""
        await wait_until(lambda: any(each.labels for each in self._below(post)), seconds=_LONG)
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
        await wait_until(lambda: "Claim" in self.siege.teams.post(card.id).labels, seconds=_LONG)
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

        await wait_until(come, seconds=_LONG)
        return found[0]

    async def _told(self, channel: str, before: set[str], label: str) -> Sent:
        def found() -> list[Sent]:
            new = [each for each in self._in(channel) if each.id not in before]
            return [each for each in new if label in each.labels]

        await wait_until(found, seconds=_LONG)
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
    obeying = ObeyingModel(attacks)
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
