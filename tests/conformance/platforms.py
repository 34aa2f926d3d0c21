"""Each platform as an asker sees it: the real adapter between a local double and an inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.config import Settings
from bot.ports import Channel, Inbox
from bot.store import Store

Client = TestClient[Any, Any]

Receipt = Literal["kept", "refused", "send it again"]
"""What a platform is told of a question: acknowledged, wrong in itself, or not kept."""

Vote = Literal["up", "down"]


class Missing(Exception):
    """The platform, or its double, has no such thing; tests.conformance.missing says why."""


@dataclass(frozen=True)
class Question:
    """What is typed where; the same ``number`` is the same message, delivered again."""

    text: str
    number: int = 1
    thread: int = 1
    private: bool = False


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

    async def privately(self, question: Question) -> Sequence[str]:
        """Return what only the asker sees in a thread that others read, too."""
        ...

    async def live(self, question: Question) -> Sequence[str]:
        """Return every link, mention or image that works but that code did not write."""
        ...

    async def people(self) -> Sequence[str]:
        """Return what the people's channel shows."""
        ...


Opens = Callable[[Path], AbstractAsyncContextManager[Platform]]
"""Starts a platform's double; the bot's own files go into the directory."""

Platforms = Mapping[str, Opens]
