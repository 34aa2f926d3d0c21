"""How a case drives a platform: the adapter between a local double and an inbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.domain.ports import Channel, Inbox, Notes
from bot.domain.settings import Settings
from bot.store.database import Store
from tests.fakes.chat_context import MemoryDocuments, document

Client = TestClient[Any, Any]

Receipt = Literal["kept", "refused", "send it again"]
"""What a platform is told of a question: acknowledged, wrong in itself, or not kept."""

Vote = Literal["up", "down"]

By = Literal["asker", "colleague", "guest", "bot"]
"""Who writes: a colleague, another one, somebody from outside the company, a bot."""

File = tuple[str, bytes]
"""Its name, and what is in it."""


class Missing(Exception):
    """The platform, or its double, has no such thing; tests.contract.platforms.gaps says why."""


@dataclass(frozen=True)
class Question:
    """What is typed where; the same ``number`` is the same message, delivered again.

    One that is not ``addressed`` is written where the bot reads along, and not to it. One that is
    ``beside_outsiders`` is written in a channel where people from outside read along.
    """

    text: str
    number: int = 1
    thread: int = 1
    private: bool = False
    addressed: bool = True
    by: By = "asker"
    beside_outsiders: bool = False
    files: tuple[File, ...] = ()

    @property
    def plain(self) -> bool:
        """Tell whether it is only words, of a colleague to the bot."""
        colleagues = self.by == "asker" and not self.beside_outsiders
        return self.addressed and colleagues and not self.files


Expert = Literal["anna", "bob"]
"""Two of the people whom questions go to: Anna Lopez, and Bob."""


class Buttons(Protocol):
    """What an asker can press below the reply to a question."""

    async def why(self, question: Question) -> str:
        """Ask why this was answered; return what is then read."""
        ...

    async def ask_person(self, question: Question) -> None: ...

    async def choose(self, question: Question, option: str) -> None:
        """Choose one of the options that are offered."""
        ...

    async def request_button(self, question: Question, label: str) -> ReadPress:
        """Return what presses a button below the last request to see more of the conversation."""
        ...


ReadPress = Callable[[], Awaitable[str]]
"""Presses a button that was found before; returns what its presser reads then."""


class Card(Protocol):
    """The one question that people were asked, as it stands in their channel."""

    async def shown(self) -> str: ...

    async def claim(self, who: Expert) -> None: ...

    async def reply(self, who: Expert, words: str) -> None: ...

    async def write_below(self, who: Expert, words: str) -> None:
        """Write in the card's thread, without a mention of the bot, and agree to send it."""
        ...

    async def write_late(self, who: Expert, words: str, edited: str) -> None:
        """Write and edit there, of which the edit arrives first, and agree to send it."""
        ...

    async def press(self, who: Expert, label: str) -> None: ...

    async def alone(self, who: Expert) -> str:
        """Return the last that was shown to one of them alone."""
        ...


class Orders(Protocol):
    """What is ordered in words, by an admin or by another colleague.

    ``shelf`` has what can be indexed, and its runs.
    """

    @property
    def shelf(self) -> SlowReindex: ...

    async def give(self, order: str, *, admin: bool) -> None: ...

    def read(self, *, admin: bool) -> str:
        """Return all that the one who ordered was shown of it, as it reads now."""
        ...


class Installing(Protocol):
    """The bot comes to a place where nobody knows it, and is removed from where the asker is."""

    async def install(self) -> None: ...

    def welcomes(self) -> int:
        """Return how often it said hello there."""
        ...

    async def uninstall(self) -> None: ...

    def calls(self) -> int:
        """Return how often the bot tried to show anything, anywhere."""
        ...


class Reviewing(Protocol):
    """Bob, who reviews drafts for the channel of ``channel`` (``platform:channel``)."""

    reviewer: str
    channel: str

    def read(self) -> str:
        """Return all that Bob has in his own chat with the bot."""
        ...

    async def press(self, label: str) -> None:
        """Press a button below the newest draft."""
        ...


@dataclass(frozen=True)
class Hands:
    """What of it a platform has; None is what it does not have."""

    buttons: Buttons | None = None
    card: Card | None = None
    orders: Orders | None = None
    installing: Installing | None = None
    reviewing: Reviewing | None = None


class Platform(Protocol):
    """Where a question is asked and its replies are read. Methods raise Missing.

    ``channel`` is None where replies are fetched, not posted. ``client`` reaches the bot and is
    set before the first question.
    """

    client: Client

    @property
    def channel(self) -> Channel | None: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def hands(self) -> Hands:
        """What can be pressed, ordered and installed."""
        ...

    def another_channel(self) -> Channel | None:
        """Return a channel as another process has it, which saw nothing of what was posted."""
        ...

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None: ...

    async def ask(self, question: Question) -> Receipt:
        """Deliver a question as the platform does."""
        ...

    async def edit(self, question: Question, text: str) -> None:
        """Change a question that was asked."""
        ...

    async def delete(self, question: Question) -> None: ...

    async def vote(self, question: Question, vote: Vote) -> None:
        """Judge the answer to a question; a second judgement replaces the first."""
        ...

    async def unvote(self, question: Question, vote: Vote) -> None:
        """Take a judgement back that was given."""
        ...

    async def can_vote(self, question: Question) -> bool:
        """Tell whether the reply to a question asks to be judged."""
        ...

    async def seen(self, question: Question) -> Sequence[str]:
        """Return what is shown to all in the question's thread, a message each, as it is read."""
        ...

    async def messages(self, question: Question) -> int:
        """Return how many messages of the bot all see in the question's thread."""
        ...

    async def kinds(self, question: Question) -> frozenset[str]:
        """Return which of list, table, code and quotation are elements of their own there."""
        ...

    async def privately(self, question: Question) -> Sequence[str]:
        """Return what only the asker sees in a thread that others read, too."""
        ...

    async def live(self, question: Question) -> Sequence[str]:
        """Return every link, mention or image that works but that code did not write."""
        ...

    async def people(self) -> Sequence[str]:
        """Return what the people's channel shows."""
        ...

    def lose_answer(self) -> None:
        """Let what is posted next get through, and nobody be told so."""
        ...

    async def marked(self, question: Question) -> str:
        """Return how sensitive the reply to a question says that it is, "" if it doesn't."""
        ...


Opens = Callable[[Path, Notes], AbstractAsyncContextManager[Platform]]
"""Starts a platform's double; the bot's own files go into the directory, its notes are kept."""

Platforms = Mapping[str, Opens]


class SlowReindex(MemoryDocuments):
    """Implements Documents and Reindex; a run has read one page of four when it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.kept["IT", "VPN.md"] = document("IT", "VPN.md")

    async def start(self, space: str | None, **how: Any) -> str:  # noqa: ANN401 - as it was ordered
        run_id = await super().start(space, **how)
        self.goes(state="running", ended_at=None, pages=1, total=4)
        return run_id

    def goes(self, **changes: Any) -> None:  # noqa: ANN401 - columns of a run
        """Let the newest run go on."""
        self.runs[0] = replace(self.runs[0], **changes)
