"""Pages for all kinds of readers in two spaces, each with a mark that stands nowhere else."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def shown(text: str) -> frozenset[int]:
    """Return the pages of which anything stands in a text."""
    return frozenset(page.number for page in PAGES if page.mark in text)


def readable(principal: str, spaces: Sequence[str] = SPACES) -> frozenset[int]:
    """Return the pages of some spaces that somebody may read."""
    among = [page for page in PAGES if page.space in spaces]
    return frozenset(page.number for page in among if page.may_read(principal))


def cases(
    count: int, seed: int, *, persons: Sequence[str], rooms: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield who asks, where, and what."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(count):
        page = draw.choice(PAGES)
        text = draw.choice(FORMS).format(topic=page.topic, bait=page.bait)
        yield draw.choice(persons), draw.choice(rooms), text


def each_page(persons: Sequence[str], room: str) -> Iterator[tuple[str, str, str]]:
    """Yield a question of each person about each page, also about those they may not read."""
    for person, page in itertools.product(persons, PAGES):
        yield person, room, f"who is told about the {page.topic} of {page.bait}?"


def write(folder: Path) -> None:
    """Write each space's pages into a folder of its name."""
    for space in SPACES:
        (folder / space).mkdir(parents=True)
    for page in PAGES:
        (folder / page.space / f"{page.mark}.md").write_text(page.text, encoding="utf-8")
