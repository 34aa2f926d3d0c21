"""A small wiki of an invented company, and what is asked of it; drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bot.domain.messages import InteractionId, Message, Person, Thread


@dataclass(frozen=True, slots=True)
class Topic:
    """What is asked about. ``mark`` is a word that only an answer to it shows."""

    title: str
    question: str
    fact: str
    mark: str


TOPICS = (
    Topic(
        "Guest network",
        "What is the name of the guest wifi network?",
        "The guest wifi network is called Heronry and its password changes every Monday.",
        "Heronry",
    ),
    Topic(
        "Travel expenses",
        "Where do I submit travel expenses?",
        "Submit travel expenses in Tallyho within thirty days of the journey.",
        "Tallyho",
    ),
    Topic(
        "Parking",
        "Where can employees park bicycles?",
        "Employees park bicycles in the Malachite garage behind the loading dock.",
        "Malachite",
    ),
    Topic(
        "Payroll",
        "Who runs the payroll?",
        "The payroll is run by the firm Quillfeather on the last working day.",
        "Quillfeather",
    ),
    Topic(
        "Coffee machine",
        "How do I descale the coffee machine?",
        "Descale the coffee machine with the Limewort tablets under the sink.",
        "Limewort",
    ),
    Topic(
        "Laptop encryption",
        "Which tool encrypts laptop disks?",
        "Laptop disks are encrypted with Padlockian before they leave the office.",
        "Padlockian",
    ),
    Topic(
        "Meeting rooms",
        "How do I book the largest meeting room?",
        "Book the largest meeting room, Cormorant Hall, at the reception desk.",
        "Cormorant",
    ),
    Topic(
        "Vaccination",
        "Where are flu vaccinations given?",
        "Flu vaccinations are given in the Saffron clinic every October.",
        "Saffron",
    ),
    Topic(
        "Printer paper",
        "Where is spare printer paper stored?",
        "Spare printer paper is stored in the Juniper cupboard on the third floor.",
        "Juniper",
    ),
    Topic(
        "Build server",
        "Which server compiles the nightly release?",
        "The nightly release is compiled on the server Basilisk in the cellar.",
        "Basilisk",
    ),
)
"""Each question has an answer of one sentence, so that an answer costs little and is known."""

SPACE = "CHAOS"


def write_wiki(folder: Path) -> None:
    """Write the pages as Markdown files, to be indexed like any other folder."""
    folder.mkdir(parents=True)
    for topic in TOPICS:
        name = topic.title.lower().replace(" ", "-")
        (folder / f"{name}.md").write_text(f"# {topic.title}\n\n{topic.fact}\n")


CHANNELS = tuple(f"C0HELP{number:03d}" for number in range(64))

ASKERS = 150
"""A company's people ask again and again; of each Slack is asked who they are."""
PEOPLE = "C0PEOPLE0"
TENANT = "default"

_DIRECT_SHARE = 0.2
_HUMAN_SHARE = 0.08
_GREETING_SHARE = 0.05
_LENGTHS = (1, 2, 3, 4, 5)
_LENGTH_SHARES = (0.55, 0.15, 0.15, 0.1, 0.05)
_HANDED_OVER = "asked the people"
_UNDER_WAY = 12


@dataclass(frozen=True, slots=True)
class Question:
    """One question as a person writes it.

    ``thread`` is the ts of the message that began it. ``mark`` is what its answer shows, and no
    other in the thread; "" when any answer will do. ``card`` is what the people's channel shows
    when the question is for a person, else "".
    """

    number: int
    channel: str
    thread: str
    ts: str
    user: str
    text: str
    mark: str = ""
    card: str = ""

    @property
    def private(self) -> bool:
        """Whether it is asked in a direct message."""
        return self.channel.startswith("D")

    @property
    def interaction_id(self) -> InteractionId:
        """Return the id under which the record keeps it."""
        place = Thread("slack", TENANT, self.channel, self.thread)
        return Message(
            self.ts, place, Person(self.user), self.text, datetime.now(UTC)
        ).interaction_id


@dataclass(slots=True)
class _Conversation:
    """A thread that is being asked in: the topics still to come."""

    channel: str
    user: str
    topics: list[int]
    root: str = ""


def draw_questions(
    count: int, draw: np.random.Generator, *, threads: int = _UNDER_WAY, askers: int = ASKERS
) -> tuple[Question, ...]:
    """Return questions in the order in which they are asked.

    Most threads have one, some up to five, each about another topic. Some ask for a person.
    ``threads`` are talked in at the same time: so far apart a thread's questions come. ``askers``:
    so many people ask.
    """
    under_way: list[_Conversation] = []
    fresh = _conversations(draw, askers)
    questions: list[Question] = []
    while len(questions) < count:
        while len(under_way) < threads:
            under_way.append(next(fresh))
        talked = under_way[int(draw.integers(len(under_way)))]
        questions.append(_next(talked, len(questions), draw))
        if not talked.topics:
            under_way.remove(talked)
    return tuple(questions)


def asker(number: int) -> str:
    """Return the id of one of the people who ask, without what Slack puts before it."""
    return f"ASK{number % ASKERS:05d}"


def _conversations(draw: np.random.Generator, askers: int) -> Iterator[_Conversation]:
    number = 0
    while True:
        number += 1
        who = asker(number % askers)
        direct = draw.random() < _DIRECT_SHARE
        channel = f"D0{who}" if direct else str(draw.choice(CHANNELS))
        length = int(draw.choice(_LENGTHS, p=_LENGTH_SHARES))
        topics = draw.choice(len(TOPICS), size=length, replace=False).tolist()
        yield _Conversation(channel, f"U0{who}", topics)


def _next(talked: _Conversation, number: int, draw: np.random.Generator) -> Question:
    ts = f"17{number:08d}.000100"
    alone = not talked.root and len(talked.topics) == 1
    talked.root = talked.root or ts
    topic = TOPICS[talked.topics.pop()]
    text, mark, card = topic.question, topic.mark, ""
    kind = draw.random()
    if alone and kind < _GREETING_SHARE:
        text, mark = "hello", ""
    elif alone and kind < _GREETING_SHARE + _HUMAN_SHARE and talked.channel in CHANNELS:
        text, mark = f"Can I talk to a human about locker {number}?", _HANDED_OVER
        card = f"locker {number}?"
    return Question(number, talked.channel, talked.root, ts, talked.user, text, mark, card)
