"""Fake the desk, the chat platforms, their files and the engines that an inbox works with."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from bot.answering.attachments import NotText
from bot.domain.errors import DeliveryFailed, InboxUnavailable
from bot.domain.interactions import Delivery, Outcome, PostedRef, Reply, Route, Trace
from bot.domain.messages import (
    Activity,
    Attachment,
    Audience,
    Inquiry,
    Intent,
    InteractionId,
    Message,
    Platform,
    Stage,
)
from bot.domain.ports import ReportStage
from tests.fakes.builders import message


def generic_outcome(text: str) -> Outcome:
    """A generic reply."""
    route = Route(intent=Intent.GENERIC, score=1.0, decided_by="rule", question=text)
    return Outcome(response=Reply(text=text, tone="generic"), trace=Trace(route=route))


Run = Callable[[InteractionId], Coroutine[Any, Any, float | None]]


class OpenAdmission:
    """Admits everybody to what they may read."""

    async def admit(self, message: Message) -> Inquiry:
        return Inquiry(message, (), Audience("private", message.author.principals))


AnswerFunction = Callable[[Message], Awaitable[Outcome]]


class EchoDesk:
    """Replies with the question, or with what a function makes of it; remembers what it saw."""

    def __init__(self, answers: AnswerFunction | None = None) -> None:
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
            return generic_outcome(f"You said: {message.text}")
        return await self._answers(message)


class AnswerBarrier:
    """Holds answers back until it is opened."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.reached = asyncio.Event()

    def open(self) -> None:
        self._open.set()

    async def __call__(self, message: Message) -> Outcome:
        self.reached.set()
        await self._open.wait()
        return generic_outcome(f"You said: {message.text}")


class FakePlatform:
    """A platform that keeps what is posted on it; fails and forgets to say so as told.

    ``lost`` posts get through while the sender sees an error; ``refused`` ones do not.
    """

    platform: Platform = "slack"

    def __init__(self, *, refused: int = 0, lost: int = 0) -> None:
        self._refused = refused
        self._lost = lost
        self.posts: dict[str, str] = {}
        self.posted = 0
        self.activities: list[Activity] = []

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        self.activities.append(activity)

    @property
    def stages(self) -> list[Stage]:
        return [activity.stage for activity in self.activities]

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

    async def find(self, delivery: Delivery) -> PostedRef | None:
        return PostedRef("board", delivery.id) if delivery.id in self.posts else None

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        self.posts.pop(f"{message.interaction_id}:reply", None)


class MemoryEngine:
    """An engine that forgets all when it is stopped; what it ran is then adopted anew."""

    def __init__(self, executor: str = "") -> None:
        self.executor = executor or str(uuid.uuid4())
        self._run: Run | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()

    @property
    def idle(self) -> bool:
        """Whether all that was begun has ended."""
        return all(task.done() for task in self._tasks.values())

    async def start(self, run: Run) -> None:
        self._run = run

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        if self._run is None:
            raise InboxUnavailable("The engine is not running.")
        if work_id not in self._begun:
            self._begun.add(work_id)
            self._tasks[work_id] = asyncio.create_task(self._work(self._run, interaction_id))

    async def abandon(self, executors: Sequence[str]) -> frozenset[InteractionId]:
        return frozenset()

    async def forget(self) -> None: ...

    async def forget_work(self, ids: Sequence[InteractionId]) -> None: ...

    async def stop(self) -> None:
        self._run = None
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _work(self, run: Run, interaction_id: InteractionId) -> None:
        while (pause := await run(interaction_id)) is not None:  # noqa: ASYNC110 - a pause, no poll
            await asyncio.sleep(pause)


PostEvent = Exception | Callable[[], Awaitable[object]] | None


class ScriptedPlatform(FakePlatform):
    """Takes what happens at each post in turn; then nothing more happens.

    An error is raised instead of posting, a function is awaited before it.
    """

    def __init__(self, *happens: PostEvent, lost: int = 0) -> None:
        super().__init__(lost=lost)
        self._happens = list(happens)
        self.tried = 0
        self.found = 0

    async def deliver(self, delivery: Delivery) -> PostedRef:
        self.tried += 1
        happening = self._happens.pop(0) if self._happens else None
        if isinstance(happening, Exception):
            raise happening
        if happening is not None:
            await happening()
        return await super().deliver(delivery)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        self.found += 1
        return await super().find(delivery)


class IdleEngine:
    """Notes what is begun and runs nothing: the test does, and sees every pause.

    ``of_the_dead`` is what a dead process had begun.
    """

    def __init__(self, executor: str = "", of_the_dead: Iterable[InteractionId] = ()) -> None:
        self.executor = executor or str(uuid.uuid4())
        self.begun: list[str] = []
        self._of_the_dead = frozenset(of_the_dead)

    async def start(self, run: Run) -> None: ...

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        self.begun.append(work_id)

    async def abandon(self, executors: object) -> frozenset[InteractionId]:
        return self._of_the_dead

    async def forget(self) -> None: ...

    async def forget_work(self, ids: Sequence[InteractionId]) -> None: ...

    async def stop(self) -> None: ...


class QueueingPlatform(ScriptedPlatform):
    """Takes one reply at a time, those of one place in the order in which they came to it."""

    def __init__(self, *happens: PostEvent, lost: int = 0) -> None:
        super().__init__(*happens, lost=lost)
        self.place = asyncio.Lock()
        self.queue: list[str] = []
        self.turns = 0
        self._moved = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, message: Message) -> AsyncIterator[None]:
        await self._move(self.queue.append, message.text)
        try:
            async with self.place:
                self.turns += 1
                yield
        finally:
            await self._move(self.queue.remove, message.text)

    async def lines_up(self, *texts: str) -> None:
        """Wait until those and no others have a turn or wait for it."""
        async with asyncio.timeout(60), self._moved:
            await self._moved.wait_for(lambda: self.queue == list(texts))

    async def _move(self, change: Callable[[str], None], text: str) -> None:
        change(text)
        async with self._moved:
            self._moved.notify_all()


@dataclass
class Drive:
    """Hands out what it has, within the limit; remembers what was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        self.fetched.append(attachment.name)
        content = self.files.get(attachment.place)
        if content is None or len(content) > most:
            raise DeliveryFailed("The file is not there, or it is larger than that.")
        return content

    def add(self, name: str, content: bytes, media_type: str = "text/plain") -> Attachment:
        self.files[name] = content
        return Attachment(name, media_type, len(content), place=name)


class PdfOfText:
    """Takes a "PDF" for the text behind its first line."""

    async def text(self, content: bytes) -> str:
        head, _, text = content.partition(b"\n")
        if head != b"%PDF-" or not text:
            raise NotText
        return text.decode()


def with_files(*attachments: Attachment, text: str = "What is this?") -> Message:
    """Return a message that files came with."""
    return replace(message(text, platform="slack", channel="C1"), attachments=attachments)
