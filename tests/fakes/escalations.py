"""Fake the record of escalations, its outbox, and platforms that take notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    CaseQuery,
    CaseStatus,
    CaseStep,
    Notice,
)
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Delivery, Feedback, Interaction, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Platform, Thread
from bot.escalations.case_view import CaseView
from bot.escalations.lifecycle import UNSETTLED
from tests.fakes.builders import NOON

ANNA = Actor("anna.lopez", "Anna Lopez", "expert")
HOLD = timedelta(minutes=1)


@dataclass
class Clock:
    """The time, as it is set."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@dataclass
class Slip:
    """A notice in the outbox, and what was noted of it."""

    notice: Notice
    due_at: datetime
    free_at: datetime = NOON
    settled: bool = False
    why: str = ""


@dataclass
class MemoryOutbox:
    """Implements bot.escalations.ports.Outbox in memory.

    While it is ``away`` it can't be asked; while it is ``forgetful`` it takes no note of what was
    told, as if the process had died in that moment.
    """

    slips: list[Slip] = field(default_factory=list)
    pings: list[Notice] = field(default_factory=list)
    away: bool = False
    forgetful: bool = False
    asked: int = 0

    def put(self, *notices: Notice, at: datetime = NOON) -> None:
        self.slips += [Slip(each, at) for each in notices]

    @property
    def told(self) -> list[Notice]:
        return [slip.notice for slip in self.slips if slip.settled and not slip.why]

    @property
    def given_up(self) -> list[str]:
        return [slip.why for slip in self.slips if slip.why]

    @property
    def waiting(self) -> list[Slip]:
        return [slip for slip in self.slips if not slip.settled]

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        self._check()
        free = [slip for slip in self._first() if slip.due_at <= now and slip.free_at <= now]
        claimed = [slip.notice for slip in free[:limit]]
        for slip in free[:limit]:
            slip.notice = replace(slip.notice, attempts=slip.notice.attempts + 1)
            slip.free_at = now + HOLD
        return claimed

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        self._check()
        if self.forgetful:
            raise StoreUnavailable("The process died here.")
        slip = self._slip(notice)
        slip.notice = replace(slip.notice, posted=ref)
        slip.settled = True

    async def later(self, notice: Notice, at: datetime) -> None:
        self._check()
        slip = self._slip(notice)
        slip.due_at = slip.free_at = at

    async def failed(self, notice: Notice, why: str) -> None:
        self._check()
        slip = self._slip(notice)
        slip.settled, slip.why = True, why

    async def posted(self, case_id: InteractionId, number: int) -> PostedRef | None:
        told = (
            each for each in self.told if (each.interaction_id, each.number) == (case_id, number)
        )
        return next((each.posted for each in told if each.to == "asker"), None)

    async def remind(self, now: datetime) -> int:
        self._check()
        self.put(*self.pings, at=now)
        written, self.pings = len(self.pings), []
        return written

    def _first(self) -> Sequence[Slip]:
        """Return what waits, of each case and reader the first."""
        first: dict[tuple[str, str], Slip] = {}
        for slip in sorted(self.waiting, key=lambda each: each.notice.number):
            first.setdefault((slip.notice.interaction_id, slip.notice.to), slip)
        return list(first.values())

    def _slip(self, notice: Notice) -> Slip:
        return next(slip for slip in self.slips if slip.notice.id == notice.id)

    def _check(self) -> None:
        self.asked += 1
        if self.away:
            raise StoreUnavailable("The record is away.")


@dataclass
class MemoryCases:
    """Implements bot.escalations.ports.Cases: one case for each id, with its steps."""

    cases: dict[InteractionId, Case] = field(default_factory=dict)
    history: list[CaseStep] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)

    async def act(
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        self.acts.append(act)
        return self.cases[case_id]

    async def join(
        self,
        tenant: str,
        case_id: InteractionId,
        lead_id: InteractionId,
        actor: Actor,
        shared_with: frozenset[InteractionId] = frozenset(),
    ) -> Case:
        self.cases[case_id] = replace(self.cases[case_id], joined_to=lead_id)
        return self.cases[case_id]

    async def split(self, tenant: str, case_id: InteractionId, actor: Actor) -> Case:
        self.cases[case_id] = replace(self.cases[case_id], joined_to=None)
        return self.cases[case_id]

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None:
        case = self.cases.get(case_id)
        return case if case is not None and case.tenant == tenant else None

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        return [case for case in self.cases.values() if case.tenant == tenant][:limit]

    async def experts(self, tenant: str) -> Sequence[Actor]:
        acted = {each.actor.id: each.actor for each in self.history if each.actor}
        return [each for each in acted.values() if each.role == "expert"]

    async def open_in(self, thread: Thread) -> Sequence[Case]:
        there = (case for case in self.cases.values() if case.channel.endswith(thread.channel))
        return [case for case in there if case.status.state in UNSETTLED]

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        return [step for step in self.history if step.interaction_id == case_id]


@dataclass
class MemoryRecord:
    """Interactions by id."""

    interactions: dict[InteractionId, Interaction] = field(default_factory=dict)

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return self.interactions.get(interaction_id)

    async def in_thread(
        self, thread: Thread, limit: int, before: int | None = None
    ) -> Sequence[Interaction]:
        return []

    async def history(self, thread: Thread, before: Message, limit: int) -> Sequence[Interaction]:
        return []

    async def feedback(self, interaction_id: InteractionId) -> Sequence[Feedback]:
        return []


@dataclass
class NoticePlatform:
    """A platform that implements Channel, Tells, AsksPeople, ShowsCases and Withdraws.

    It fails as told: ``failures`` are raised by the next calls before anything happens, ``lost``
    ones after it, and ``unshown`` by those to ``show``.
    """

    platform: Platform = "slack"
    told: dict[str, Notice] = field(default_factory=dict)
    times: int = 0
    order: list[str] = field(default_factory=list)
    reminded: list[str] = field(default_factory=list)
    shown: list[CaseView] = field(default_factory=list)
    unshown: list[Exception] = field(default_factory=list)
    withdrawn: list[PostedRef] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    lost: list[Exception] = field(default_factory=list)
    looked_up: int = 0
    meanwhile: Callable[[], None] = lambda: None
    place: str | None = "people"

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        """Nothing is shown."""

    async def deliver(self, delivery: Delivery) -> PostedRef:
        return PostedRef(self.platform, delivery.id)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        return None

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        if self.failures:
            raise self.failures.pop(0)
        self.times += 1
        self.told[notice.id] = notice
        self.order.append(notice.id)
        self.meanwhile()
        if self.lost:
            raise self.lost.pop(0)
        return PostedRef(message.thread.channel, notice.id)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        self.looked_up += 1
        there = notice.id in self.told
        return PostedRef(message.thread.channel, notice.id) if there else None

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        if self.failures:
            raise self.failures.pop(0)
        if self.place is None:
            return None
        self.reminded.append(notice.id)
        return PostedRef(self.place, notice.id)

    async def show(self, message: Message, view: CaseView) -> None:
        if self.unshown:
            raise self.unshown.pop(0)
        self.shown.append(view)

    async def withdraw(self, message: Message, posted: Sequence[PostedRef]) -> None:
        self.withdrawn += posted


def notice_of(message: Message, number: int = 2, **changes: object) -> Notice:
    """Return the news that Anna answered, unless told otherwise."""
    made = Notice(
        id=f"{message.interaction_id}:{number}:asker",
        interaction_id=message.interaction_id,
        number=number,
        step="reply",
        to="asker",
        actor=ANNA,
        text="Take the blue socket.",
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # checked by the dataclass


def case_of(message: Message, **changes: object) -> Case:
    """Return a question that waits for somebody."""
    made = Case(
        interaction_id=message.interaction_id,
        tenant=message.thread.tenant,
        status=CaseStatus("open"),
        reason="asked_for_human",
        question=message.text,
        asker_id=message.author.id,
        asker_name="",
        channel=f"{message.thread.platform}:{message.thread.channel}",
        private=message.private,
        opened_at=NOON,
        changed_at=NOON,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # checked by the dataclass


def step_of(message: Message, number: int = 2, at: datetime = NOON) -> CaseStep:
    return CaseStep(message.interaction_id, number, "reply", ANNA, "Take the blue socket.", at)


async def until(happened: Callable[[], object], *, seconds: float = 60.0) -> None:
    """Wait until something is so. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110 - what happens is in another task
            await asyncio.sleep(0.005)
