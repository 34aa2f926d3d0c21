"""Working stand-ins for the desk and the platforms around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.errors import DeliveryFailed
from bot.ports import ReportStage
from bot.types import (
    Audience,
    Delivery,
    Inquiry,
    Intent,
    Message,
    Outcome,
    Platform,
    PostedRef,
    Reply,
    Route,
    Stage,
    Trace,
)


def replied(text: str) -> Outcome:
    """A generic reply."""
    route = Route(intent=Intent.GENERIC, score=1.0, decided_by="rule", question=text)
    return Outcome(response=Reply(text=text, tone="generic"), trace=Trace(route=route))


class OpenAdmission:
    """Admits everybody to what they may read."""

    async def admit(self, message: Message) -> Inquiry:
        return Inquiry(message, (), Audience("private", message.author.principals))


Answers = Callable[[Message], Awaitable[Outcome]]


class EchoDesk:
    """Replies with the question, or with what a function makes of it; remembers what it saw."""

    def __init__(self, answers: Answers | None = None) -> None:
        self._answers = answers
        self.handled: list[str] = []
        self.finished: list[str] = []
        self.busy = 0
        self.most_busy = 0

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        message = inquiry.message
        self.handled.append(message.text)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            await report(Stage.ROUTING)
            return await self._answer(message)
        finally:
            self.busy -= 1
            self.finished.append(message.text)

    async def _answer(self, message: Message) -> Outcome:
        if self._answers is None:
            return replied(f"You said: {message.text}")
        return await self._answers(message)


class Gate:
    """Holds answers back until it is opened."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.reached = asyncio.Event()

    def open(self) -> None:
        self._open.set()

    async def __call__(self, message: Message) -> Outcome:
        self.reached.set()
        await self._open.wait()
        return replied(f"You said: {message.text}")


class Board:
    """A platform that keeps what is posted on it; fails and forgets to say so as told.

    ``lost`` posts get through while the sender sees an error; ``refused`` ones do not.
    """

    platform: Platform = "slack"

    def __init__(self, *, refused: int = 0, lost: int = 0) -> None:
        self._refused = refused
        self._lost = lost
        self.posts: dict[str, str] = {}
        self.posted = 0
        self.stages: list[Stage] = []

    async def progress(self, message: Message, stage: Stage) -> None:
        self.stages.append(stage)

    async def deliver(self, delivery: Delivery) -> PostedRef:
        if self._refused:
            self._refused -= 1
            raise DeliveryFailed("The board is full.")
        self.posted += 1
        self.posts[delivery.id] = delivery.outcome.response.text
        if self._lost:
            self._lost -= 1
            raise DeliveryFailed("The connection broke.")
        return PostedRef("board", delivery.id)

    async def find(self, delivery_id: str) -> PostedRef | None:
        return PostedRef("board", delivery_id) if delivery_id in self.posts else None

    async def withdraw(self, ref: PostedRef) -> None:
        self.posts.pop(ref.id, None)
