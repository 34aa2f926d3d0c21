"""What an escalated case and a followed run are on every platform: the record, not the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from aiohttp import web

from bot.answering.admission import Admission, VouchedDirectory
from bot.answering.asker_identity import AskerIdentification
from bot.app.worker import BuiltInbox
from bot.chat.adapters import ChatContext
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease, RunLeases
from bot.chat.commands.run_message import Clock, Screen
from bot.chat.commands.run_status import RunWatcher
from bot.domain.cases import NO_DETAIL, Act, ActDetail, Actor, Case, CaseStep
from bot.domain.interactions import Escalation, Outcome, PostedRef, Reply
from bot.domain.messages import InteractionId, Message, Platform, Policy
from bot.domain.ports import AnswersInquiries, Channel, Introduces
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.store.database import Store
from ingestion.records.types import Failure
from tests.fakes.chat_context import RUN, MemoryDocuments, chat_context_over
from tests.fakes.desk import HANDED_OVER, TENANT, TRACE, KeepingInbox, delivery
from tests.fakes.durable_inbox import inbox_over, record_answer

ANNA = Actor("anna@acme.example", "Anna Lopez", "expert")
BEN = Actor("ben@acme.example", "Ben Okafor", "expert")


def admitting_inbox(
    store: Store, platform: Platform, channel: Channel, desk: AnswersInquiries
) -> BuiltInbox:
    """Return an inbox of one platform that admits as the application does; IT is open to all."""
    assert isinstance(channel, Introduces)
    introductions = AskerIdentification(
        {platform: channel}, open_spaces={platform: frozenset({"IT"})}, notes=store.notes
    )
    admission = Admission(
        store.interactions,
        VouchedDirectory(),
        Policy(),
        store.policies,
        introductions=introductions,
        notes=store.notes,
    )
    return inbox_over(store, desk=desk, admission=admission, channels={platform: channel})


class CaseOnPlatform:
    """A case about ``question``; ``ahead`` is how far the clock is: what is due then is told."""

    platform: Platform
    store: Store
    channel: Channel
    context: ChatContext
    ahead: timedelta

    @property
    def question(self) -> Message:
        raise NotImplementedError

    async def ask(
        self, message: Message | None = None, response: Escalation = HANDED_OVER
    ) -> InteractionId:
        """Record a question that went to people, and post what it brings."""
        asked = message or self.question
        outcome = Outcome(response, TRACE)
        await record_answer(self.store, asked, outcome)
        await self.channel.deliver(replace(delivery(asked, response), outcome=outcome))
        return asked.interaction_id

    async def ask_before(self, text: str, answer: str, *, id: str, user: str = "") -> Message:  # noqa: A002
        """Record an answered question of the same thread; ask the case's own after it."""
        question = self.question
        author = replace(question.author, id=user or question.author.id)
        asked = replace(question, id=id, text=text, author=author)
        await record_answer(self.store, asked, Outcome(Reply(answer, "generic"), TRACE))
        return asked

    async def act(
        self,
        what: Act,
        actor: Actor = ANNA,
        text: str = "",
        *,
        id: InteractionId | None = None,  # noqa: A002
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        case_id = id or self.question.interaction_id
        return await self.context.casework.act("acme", case_id, what, actor, text, detail)

    async def news(self) -> None:
        """Tell all that is due, as the running bot does at once."""
        news = NoticeLoop(
            owner="me",
            outbox=self.store.notices,
            teller=NoticeDelivery(
                outbox=self.store.notices,
                cases=self.store.escalations,
                casework=self.context.casework,
                interactions=self.store.interactions,
                channels={self.platform: self.channel},
                now=self.now,
            ),
            is_open=lambda: True,
            now=self.now,
        )
        while await news.round():
            pass

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    async def case(self) -> Case:
        case = await self.store.escalations.get("acme", self.question.interaction_id)
        assert case is not None
        return case

    async def history(self) -> list[CaseStep]:
        steps = await self.store.escalations.steps("acme", self.question.interaction_id)
        return [step for step in steps if step.step != "open"]

    async def noted(self) -> PostedRef:
        """Return where the card is, as the record has it."""
        key = f"{self.platform}:card:{self.question.interaction_id}"
        channel, _, name = (await self.store.notes.get("acme", key) or "").partition(" ")
        return PostedRef(channel, name)


_FASTER = 40.0
_NOON, _BEGAN = 1_700_000_000.0, time.monotonic()
FAILED = Failure("HR", "Salaries of the board", "it is damaged", "Save it again.")


async def hurried(seconds: float) -> None:
    await asyncio.sleep(seconds / _FASTER)


def clock() -> float:
    """Return seconds that pass faster than those of this world."""
    return _NOON + (time.monotonic() - _BEGAN) * _FASTER


class RunOnPlatform:
    """One run, and the processes that may show it."""

    platform: Platform
    store: Store
    shelf: MemoryDocuments

    @property
    def screen(self) -> Screen:
        raise NotImplementedError

    def notes(self, owner: str = "local") -> RunLeases:
        return RunLeases(self.store.notes, TENANT, owner, platform=self.platform, clock=clock)

    @asynccontextmanager
    async def process(self, owner: str = "local") -> AsyncIterator[RunFollowers]:
        """Run a process until the block ends; then it stops in order."""
        context = chat_context_over(self.store, KeepingInbox(), tenant=TENANT, shelf=self.shelf)
        watch = RunWatcher(self.shelf.get, pause=hurried, clock=clock)
        followers = RunFollowers(
            commands=replace(context.commands, watch=watch),
            leases=self.notes(owner),
            screen=self.screen,
            time=Clock(hurried, clock),
        )
        app = web.Application()
        followers.mount(app)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            yield followers
        finally:
            await runner.cleanup()

    def goes(self, **changes: object) -> None:
        """Let the run go on."""
        self.shelf.runs[0] = replace(self.shelf.runs[0], **changes)  # type: ignore[arg-type]

    def ends(self, *failures: Failure) -> None:
        """Let the run end, with these failures."""
        ended = replace(RUN, changed=3, unchanged=1, failed=len(failures), failures=failures)
        self.shelf.runs[0] = ended

    async def is_over(self) -> None:
        """Wait until nobody shows the run any more."""
        async with asyncio.timeout(60):
            while await self.store.notes.beginning(TENANT, f"{self.platform}:reindex"):  # noqa: ASYNC110 - it is over in another task
                await asyncio.sleep(0.01)

    async def noted(self) -> RunLease:
        return (await self.notes().every())["r1"]
