"""A thousand generated questions on Slack: nothing shows to those who may not read it."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bot.adapters.slack.wire import actions
from bot.app import build
from bot.desk import Desk
from bot.escalations.handover import EscalationWording
from bot.gating.gate import load_gate
from bot.parts import Parts
from bot.routing.generic import GenericAnswers
from bot.routing.router import Router
from bot.store import open_store, sqlite_url
from ingestion.run import Folder, sync_folder
from rag.extractive import ExtractiveComposer
from rag.index.embedded import fingerprint_of, open_index
from rag.pipeline import Pipeline
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.server import TEAM, TOKEN, FakeSlack, Post
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.fakes import MemoryEngine
from tests.bot.house import Client, until
from tests.bot.server import settings_for
from tests.fakes import WordEmbedder

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unpaced")]

CASES = 1_000
AT_ONCE = 16
SEED = 20261122
CURIOUS_EACH = 5
_GLANCE_SECONDS = 0.05

ALICES, BOBS = "user:alice@acme.example", "user:bob@acme.example"
READERS = (
    "everyone",
    ALICES,
    BOBS,
    f"[{ALICES}, {BOBS}]",
    f"[[{ALICES}], [{BOBS}]]",
    "user:gil@elsewhere.example",
    "user:olga@other.example",
    "group:admins",
    "[]",
    "???",
)
PERSONS = (names.ALICE, names.BOB, names.ANNA, names.GUEST, names.STRANGER)
ROOMS = (names.HELP, names.SECRET_ROOM, names.SHARED, "direct")
TOPICS = ("printer toner", "door badge", "parking permit", "backup tape", "travel booking")
FORMS = (
    "{topic}",
    "How do I get a {topic}?",
    "who is told about the {topic} of {bait}?",
    "{bait}",
    "Can I talk to a human about {bait}?",
)
_OWN = {names.ALICE: ALICES, names.BOB: BOBS}
"""The only two who may read more than everyone: a guest's or stranger's address opens nothing."""


@dataclass(frozen=True)
class Page:
    """A page; ``bait`` is what is asked for, the mark stands nowhere but on it."""

    number: int
    topic: str
    readers: str

    @property
    def bait(self) -> str:
        return f"bait{self.number:03d}"

    @property
    def mark(self) -> str:
        return f"z{self.number:03d}q"

    @property
    def text(self) -> str:
        top = f"---\nreaders: {self.readers}\n---\n# {self.topic} {self.mark}title\n\n"
        said = f"The {self.topic} of {self.bait} is told to {self.mark}text at the desk."
        return f"{top}## {self.mark}head\n\n{said}\n\nAsk {self.mark}text for a {self.topic}.\n"

    def may_read(self, person: str) -> bool:
        """Tell who may, "" being everybody at once."""
        match self.readers:
            case "everyone":
                return True
            case one if one in {ALICES, BOBS}:
                return _OWN.get(person) == one
            case either if either == f"[{ALICES}, {BOBS}]":
                return person in _OWN
            case _:
                return False


PAGES = [
    Page(number, topic, readers)
    for number, (topic, readers) in enumerate(itertools.product(TOPICS, READERS))
]


def shown(text: str) -> frozenset[int]:
    """Return the pages of which anything stands in a text."""
    return frozenset(page.number for page in PAGES if page.mark in text)


def readable(person: str) -> frozenset[int]:
    return frozenset(page.number for page in PAGES if page.may_read(person))


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield who asks, where, and what."""
    draw = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    for _ in range(CASES):
        page = draw.choice(PAGES)
        text = draw.choice(FORMS).format(topic=page.topic, bait=page.bait)
        yield draw.choice(PERSONS), draw.choice(ROOMS), text


@pytest.fixture
async def client(slack: FakeSlack, tmp_path: Path) -> AsyncIterator[Client]:
    """The whole application with a fast embedder, over an index of the pages."""
    embedder = WordEmbedder()
    write(tmp_path / "pages")
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(embedder))
    folder = Folder(tmp_path / "pages", "IT", base_url="https://wiki.example.com/IT/")
    await sync_folder(folder, index, embedder, tenant="default", data_dir=tmp_path)
    pipeline = Pipeline(index, embedder, ExtractiveComposer(embedder))
    desk = Desk(
        router=Router(embedder, None, None),
        generic=GenericAnswers(None),
        pipeline=pipeline,
        gate=load_gate(0.0),
        wording=EscalationWording(not_found="Not found.", uncertain="Not sure."),
    )
    settings = settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_escalation_channel=names.PEOPLE,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
    )
    store = await open_store(sqlite_url(tmp_path))
    parts = Parts(index, None, "", None, pipeline, desk)
    app = build(settings, parts, store, MemoryEngine())
    async with TestClient(TestServer(app, host="127.0.0.1")) as served:
        yield served
    await store.close()
    await index.close()


def write(folder: Path) -> None:
    folder.mkdir()
    for page in PAGES:
        (folder / f"{page.mark}.md").write_text(page.text, encoding="utf-8")


async def ask(
    slack: FakeSlack, client: Client, case: tuple[str, str, str], *, curious: bool
) -> None:
    """Ask; who is ``curious`` asks why as well, and so does a guest who reads along."""
    person, room, text = case
    asker = Visitor(slack, client, person)
    channel = asker.direct if room == "direct" else room
    ts = await asker.say(channel, text, mention=room != "direct")
    async with asyncio.timeout(30):
        while not (said := slack.answers(channel, ts)):  # noqa: ASYNC110 - as until, but seldom
            await asyncio.sleep(_GLANCE_SECONDS)
    if not curious:
        return
    answer = said[-1]
    await pressed(asker, answer, actions.WHY)
    if room != "direct":
        await pressed(Visitor(slack, client, names.GUEST), answer, actions.WHY)


async def pressed(by: Visitor, post: Post, name: str) -> None:
    with suppress(AssertionError):
        await by.click(post, name)


async def test_nothing_shows_to_those_who_may_not_read_it(slack: FakeSlack, client: Client) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, case: tuple[str, str, str]) -> None:
        async with few:
            await ask(slack, client, case, curious=number % CURIOUS_EACH == 0)

    await asyncio.gather(*itertools.starmap(one, enumerate(cases())))
    offers = [post for post in slack.posts if post.only_for and "more that you" in post.shown]
    for offer in offers:
        assert offer.only_for is not None
        await pressed(Visitor(slack, client, offer.only_for), offer, actions.MORE)
    fuller = len(offers)
    await until(lambda: sum(bool(p.only_for) for p in slack.posts) >= 2 * fuller, seconds=30)

    seen: dict[str, set[int]] = {}
    for post in slack.posts:
        if post.by_bot:
            person = audience(post)
            told = shown(json.dumps(post.payload))
            assert told <= readable(person), (person, post.payload)
            seen.setdefault(person, set()).update(told)
    for view in slack.open_views:
        assert shown(json.dumps(view.payload)) <= readable(view.user)
    assert fuller > 20
    assert seen[""] == readable("")
    assert seen[names.ALICE] == readable(names.ALICE), "each may read all that is theirs"
    assert seen[names.BOB] == readable(names.BOB)
    assert Counter(view.user for view in slack.open_views)[names.GUEST] > 20


def audience(post: Post) -> str:
    """Return who alone sees a message, "" for a whole channel."""
    if post.only_for:
        return post.only_for
    if post.channel.startswith("D"):
        return f"U{post.channel[1:]}"
    return ""
