"""Pages for all kinds of readers, each with a mark of its own, and the application over them."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp.test_utils import TestClient, TestServer

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.app.build import build
from bot.app.components import Components
from bot.domain.handoff import HandoffWording
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from ingestion.sync.sync import Folder, sync_folder
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import fingerprint_of, open_index
from rag.pipeline import Pipeline
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.http_server import Client
from tests.fakes.rag_ports import WordEmbedder

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
SPACES = ("IT", "FAQ")
TOPICS = ("printer toner", "door badge", "parking permit", "backup tape", "travel booking")
FORMS = (
    "{topic}",
    "How do I get a {topic}?",
    "who is told about the {topic} of {bait}?",
    "{bait}",
    "Can I talk to a human about {bait}?",
)


@dataclass(frozen=True)
class Page:
    """A page; ``bait`` is what is asked for, the mark stands nowhere but on it."""

    number: int
    topic: str
    readers: str

    @property
    def space(self) -> str:
        """Return the space that it is in; each space has pages for all kinds of readers."""
        return SPACES[TOPICS.index(self.topic) % len(SPACES)]

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

    def may_read(self, principal: str) -> bool:
        """Tell who may, "" being everybody at once; only Alice and Bob have an address here."""
        match self.readers:
            case "everyone":
                return True
            case one if one in {ALICES, BOBS}:
                return principal == one
            case either if either == f"[{ALICES}, {BOBS}]":
                return principal in {ALICES, BOBS}
            case _:
                return False


PAGES = [
    Page(number, topic, readers)
    for number, (topic, readers) in enumerate(itertools.product(TOPICS, READERS))
]


def pages_in(text: str) -> frozenset[int]:
    """Return the pages of which anything stands in a text."""
    return frozenset(page.number for page in PAGES if page.mark in text)


def pages_for(principal: str, spaces: Sequence[str] = SPACES) -> frozenset[int]:
    """Return the pages of some spaces that somebody may read."""
    among = [page for page in PAGES if page.space in spaces]
    return frozenset(page.number for page in among if page.may_read(principal))


def random_questions(
    count: int, seed: int, *, persons: Sequence[str], rooms: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield who asks, where, and what."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(count):
        page = draw.choice(PAGES)
        text = draw.choice(FORMS).format(topic=page.topic, bait=page.bait)
        yield draw.choice(persons), draw.choice(rooms), text


def questions_about_each_page(persons: Sequence[str], room: str) -> Iterator[tuple[str, str, str]]:
    """Yield a question of each person about each page, also about those they may not read."""
    for person, page in itertools.product(persons, PAGES):
        yield person, room, f"who is told about the {page.topic} of {page.bait}?"


def write(folder: Path) -> None:
    """Write each space's pages into a folder of its name."""
    for space in SPACES:
        (folder / space).mkdir(parents=True)
    for page in PAGES:
        (folder / page.space / f"{page.mark}.md").write_text(page.text, encoding="utf-8")


@asynccontextmanager
async def marked_pages_app(settings: Settings) -> AsyncIterator[Client]:
    """Serve until the block ends; every question that finds something is answered."""
    embedder, folder = WordEmbedder(), settings.data_dir
    write(folder / "pages")
    index = await open_index(folder / "index.sqlite", fingerprint_of(embedder))
    for space in SPACES:
        url = f"https://wiki.example.com/{space}/"
        wiki = Folder(folder / "pages" / space, space, base_url=url)
        await sync_folder(wiki, index, embedder, tenant="default", data_dir=folder)
    pipeline = Pipeline(index, embedder, ExtractiveComposer(embedder))
    desk = Desk(
        ModelProfile(
            route=Router(embedder, None, None).route,
            reply_generically=GenericAnswers(None).reply,
            pipeline=pipeline,
        ),
        gate=load_gate(0.0).judge,
        wording=HandoffWording(not_found="Not found.", uncertain="Not sure."),
    )
    store = await open_store(sqlite_url(folder))
    parts = Components(index, None, "", {}, pipeline, desk, load_gate())
    app = build(settings, parts, store, MemoryEngine())
    async with TestClient(TestServer(app, host="127.0.0.1")) as served:
        yield served
    await store.close()
    await index.close()
