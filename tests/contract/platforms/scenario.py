"""One run of a case on one platform: the desk behind it, the experts, and what was seen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.grounded_answer import CORRECTED, READ_AS
from bot.answering.routing.router import Router
from bot.domain.cases import NO_DETAIL, Act, ActDetail, Actor, Case, Notice
from bot.domain.errors import InboxFull, StoreUnavailable
from bot.domain.interactions import Escalation, Interaction, Outcome, PostedRef, Reply, Response
from bot.domain.messages import FoundPassage, Inquiry, InteractionId, Message, Policy, Stage
from bot.domain.ports import AnswersInquiries, Channel, Inbox, Interactions, ReportStage
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.escalations.notifying_cases import NotifyingCases
from bot.escalations.ports import Outbox
from bot.escalations.shared_words import SharedWords
from bot.store.database import Store
from rag.parts import Translation
from rag.pipeline import Pipeline
from rag.types import EVERYONE
from tests.contract.platforms.driver import Platform, Question, Receipt
from tests.fakes.builders import chunk
from tests.fakes.chat_context import ReadsPages
from tests.fakes.desk import ANSWER, TRACE, VPN
from tests.fakes.http_server import wait_until
from tests.unit.bot.answering.test_desk import (
    WORDING,
    Bench,
    FirstLine,
    FixedGate,
    Greeter,
    ListIndex,
)

PAGE_809 = chunk("Error 809: the port is blocked.", chunk_id="c809", title="VPN guide", url=VPN.url)
"""All that the real desk finds."""

LACKS = "who opens the port"
"""What a part of an answer lacks."""

IN_GERMAN = "Fehler 809: Der Port ist gesperrt."
"""What a model makes of it for somebody who asked in German."""

OpensDesk = Callable[[], AnswersInquiries]
"""Makes a desk of its own for every case."""


class HeldDesk:
    """Remembers what a desk is asked; while it is held, nothing is answered."""

    def __init__(self, desk: AnswersInquiries) -> None:
        self._desk = desk
        self._released = asyncio.Event()
        self._released.set()
        self.reached = asyncio.Event()
        self.inquiries: list[Inquiry] = []

    @property
    def questions(self) -> list[str]:
        return [inquiry.message.text for inquiry in self.inquiries]

    def hold(self) -> None:
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        self.inquiries.append(inquiry)
        self.reached.set()
        await report(Stage.SEARCHING)
        await self._released.wait()
        return await self._desk.handle(inquiry, report)


class ScriptedDesk:
    """Makes of every question what a function of the inquiry says."""

    def __init__(self, script: Callable[[Inquiry], Outcome]) -> None:
        self._script = script

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        return self._script(inquiry)


FOUND = FoundPassage(VPN.chunk_id, VPN.page_id, VPN.title, VPN.section, {"keyword": 5.0})


def says(response: Response, private: Reply | None = None, *remarks: str) -> OpensDesk:
    """A desk with the same response to everything; in private, handing over is offered only."""

    def script(inquiry: Inquiry) -> Outcome:
        said = response
        if isinstance(said, Escalation) and said.reason == "low_confidence":
            said = replace(said, consent_needed=inquiry.message.private)
        return Outcome(said, TRACE, private, remarks=remarks, asker=inquiry.asker)

    return lambda: ScriptedDesk(script)


def explained() -> OpensDesk:
    """A desk that answers, and has noted which passage it read."""
    trace = replace(TRACE, passages=(FOUND,), threshold=0.65)
    return lambda: ScriptedDesk(lambda _: Outcome(ANSWER, trace))


def corrects(question: str) -> OpensDesk:
    """A desk that answers a question as it read it, from a passage that it has noted."""
    trace = replace(TRACE, passages=(FOUND,), heard=(), notes=(CORRECTED,))
    remarks = (READ_AS.format(question),)
    return lambda: ScriptedDesk(lambda _: Outcome(ANSWER, trace, remarks=remarks))


def then(first: Response, second: Response) -> OpensDesk:
    """A desk with one response to the first question and another to the next."""

    def opened() -> AnswersInquiries:
        responses = iter((first, second))
        return ScriptedDesk(lambda _: Outcome(next(responses), TRACE))

    return opened


def reads() -> OpensDesk:
    """A desk that says of files what admission says of them."""
    return lambda: ScriptedDesk(lambda inquiry: Outcome(ANSWER, TRACE, remarks=inquiry.remarks))


def is_unsure() -> AnswersInquiries:
    """The real desk; what it finds does not convince the gate."""
    return Bench(index=ListIndex([PAGE_809]), sure=0.2).desk()


def is_sure() -> AnswersInquiries:
    """The real desk and router; what it finds convinces the gate."""
    return _judged(0.9)


def knows_a_part() -> AnswersInquiries:
    """The real desk and router; what it finds convinces the gate, and lacks something."""
    return _judged(0.9, LACKS)


def translates() -> AnswersInquiries:
    """The real desk and router; its answer is for somebody who asked in German."""
    return _judged(0.9, translation=Translation("de", IN_GERMAN))


def guesses() -> AnswersInquiries:
    """The real desk and router; what it finds is worth a guess."""
    return _judged(0.5)


def hands_over() -> AnswersInquiries:
    """The real desk and router; whatever it finds does not convince the gate."""
    return _judged(0.2)


def _judged(
    sure: float, missing: str | None = None, translation: Translation | None = None
) -> AnswersInquiries:
    composer = FirstLine(missing=missing, translation=translation)
    return Desk(
        ModelProfile(
            route=Router(None, None, None).route,
            reply_generically=Greeter().reply,
            pipeline=Pipeline(ListIndex([PAGE_809]), None, composer),  # type: ignore[arg-type]  # only what the pipeline calls
        ),
        gate=FixedGate(sure).judge,
        wording=WORDING,
    )


def repeats() -> OpensDesk:
    """A desk that says what it was asked, in capital letters."""

    def script(inquiry: Inquiry) -> Outcome:
        return Outcome(Reply(inquiry.message.text.upper(), tone="generic"), TRACE)

    return lambda: ScriptedDesk(script)


def breaks() -> OpensDesk:
    """A desk with a defect."""

    def script(inquiry: Inquiry) -> Outcome:
        raise RuntimeError("boom")

    return lambda: ScriptedDesk(script)


def without_a_model() -> AnswersInquiries:
    """The real desk; its index finds a page, its model is away."""
    return Bench(index=ListIndex([PAGE_809]), composer=FirstLine(fails=True)).desk()


def without_an_index() -> AnswersInquiries:
    """The real desk; its index is away."""
    return Bench(index=ListIndex(broken=True)).desk()


ANNA = Actor("anna.lopez", "Anna Lopez", "expert")


class Dying:
    """An outbox that never hears that something was told: the process is gone by then.

    ``noted``: so many things that askers were told are noted before.
    """

    def __init__(self, outbox: Outbox, noted: int = 0) -> None:
        self._outbox = outbox
        self._noted = noted

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        return await self._outbox.due(owner, now, limit)

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        if not self._noted or notice.to != "asker":
            raise StoreUnavailable("The process died here.")
        self._noted -= 1
        await self._outbox.sent(notice, ref)

    async def later(self, notice: Notice, at: datetime) -> None:
        raise StoreUnavailable("The process died here.")

    async def failed(self, notice: Notice, why: str) -> None:
        raise StoreUnavailable("The process died here.")

    async def remind(self, now: datetime) -> int:
        return await self._outbox.remind(now)

    async def posted(self, case_id: InteractionId, number: int) -> PostedRef | None:
        return await self._outbox.posted(case_id, number)


@dataclass
class Experts:
    """Anna, who takes what is escalated, and the processes that tell the news of what she did.

    ``channel`` makes a channel as a process has it that knows nothing of the others.
    """

    store: Store
    channel: Callable[[], Channel | None]
    tenant: str
    ahead: timedelta = timedelta()

    async def act(
        self, case_id: InteractionId, act: Act, text: str = "", detail: ActDetail = NO_DETAIL
    ) -> None:
        await self._cases().act(self.tenant, case_id, act, ANNA, text, detail)

    def pass_by(self, **amount: float) -> None:
        self.ahead += timedelta(**amount)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    async def tell(self) -> None:
        """Have a process tell all that is due."""
        news = self._news("alive", self.store.notices)
        while await news.round():
            pass

    async def tell_and_die(self, noted: int = 0) -> bool:
        """Have a process tell what is due and die before it can note so; tell whether it did.

        Its claims run out. ``noted``: so many things that askers were told it notes before.
        """
        try:
            await self._news("dying", Dying(self.store.notices, noted)).round()
        except StoreUnavailable:
            self.pass_by(minutes=2)
            return True
        return False

    async def shown(self, case_id: InteractionId) -> CaseView:
        """Return a case as the board shows it and as the cards and notices are made from it."""
        return await self.works().view(self.tenant, case_id, frozenset({EVERYONE}))

    def works(self) -> Casework:
        """Return what experts do and see, as every platform has it."""
        return Casework(
            cases=self._cases(),
            interactions=self.store.interactions,
            readable=ReadsPages(PAGE_809),
        )

    def _cases(self) -> NotifyingCases:
        readable, hosts = ReadsPages(PAGE_809), frozenset({"wiki.example.com"})
        words = SharedWords(self.store.interactions, readable, hosts)
        return NotifyingCases(self.store.escalations, lambda: None, words)

    def _news(self, owner: str, outbox: Outbox) -> NoticeLoop:
        channel = self.channel()
        teller = NoticeDelivery(
            outbox=outbox,
            cases=self.store.escalations,
            casework=self.works(),
            interactions=self.store.interactions,
            channels={} if channel is None else {channel.platform: channel},
            now=self.now,
        )
        return NoticeLoop(
            owner=owner,
            outbox=outbox,
            teller=teller,
            is_open=lambda: True,
            now=self.now,
        )


Words = str | re.Pattern[str]
"""What is looked for in a text; a pattern where platforms say the same in other words."""

_SETTLED_SECONDS = 60.0
_LATE_SECONDS = 0.05
_TERMINAL = frozenset({"failed", "cancelled"})


class WatchedInbox:
    """Passes everything on to an inbox and remembers which questions it kept."""

    def __init__(self, inbox: Inbox, *, full: bool) -> None:
        self._inbox = inbox
        self._full = full
        self.kept: list[InteractionId] = []

    async def accept(self, message: Message) -> InteractionId:
        if self._full:
            raise InboxFull("Everything is full.")
        interaction_id = await self._inbox.accept(message)
        if interaction_id not in self.kept:
            self.kept.append(interaction_id)
        return interaction_id

    async def amend(self, message: Message) -> None:
        await self._inbox.amend(message)

    async def cancel(self, interaction_id: InteractionId, *, keep_acts: bool = False) -> None:
        await self._inbox.cancel(interaction_id, keep_acts=keep_acts)

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        return await self._inbox.outcome(interaction_id)


@dataclass
class Scenario:
    """A platform, the bot behind it, and the faults found so far, in words."""

    platform: Platform
    inbox: WatchedInbox
    interactions: Interactions
    desk: HeldDesk
    people: Experts
    faults: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Receipt:
        """Deliver a question that has to be kept, and wait until it is answered."""
        receipt = await self.platform.ask(question)
        self.expect(receipt == "kept", f"the question was acknowledged as {receipt!r}")
        await self.settled()
        return receipt

    async def escalate(self, question: Question) -> InteractionId:
        """Ask what goes to people."""
        await self.ask(question)
        return self.inbox.kept[-1]

    async def settled(self) -> None:
        """Wait until the record says of everything kept that nothing is left to do."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            for interaction_id in self.inbox.kept:
                while not _is_settled(await self.recorded(interaction_id)):  # noqa: ASYNC110 - what settles may be another process
                    await asyncio.sleep(0.005)

    async def arrived(self, count: int) -> None:
        """Wait until so many questions were kept, and everything is settled."""
        await wait_until(lambda: len(self.inbox.kept) >= count)
        await self.settled()

    async def allow(self, policy: Policy) -> None:
        """Set what is allowed where the first question was asked."""
        thread = (await self.recorded()).message.thread
        channel = f"{thread.platform}:{thread.channel}"
        await self.people.store.policies.set(thread.tenant, channel, policy, actor="test")

    async def case(self, interaction_id: InteractionId) -> Case:
        """Return how a question stands that went to people."""
        case = await self.people.store.escalations.get(self.people.tenant, interaction_id)
        assert case is not None, f"nobody was asked about {interaction_id}"
        return case

    async def quiet(self) -> None:
        """Wait until what must not happen would have happened."""
        await self.settled()
        await asyncio.sleep(_LATE_SECONDS)
        await self.settled()

    async def worked(self) -> None:
        """Wait until the first question has an outcome, and until it would have been shown."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            while (await self.recorded()).outcome is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
        await asyncio.sleep(4 * _LATE_SECONDS)

    async def recorded(self, interaction_id: InteractionId | None = None) -> Interaction:
        """Return what the record has of a question, the first one unless told otherwise."""
        wanted = interaction_id or self.inbox.kept[0]
        interaction = await self.interactions.get(wanted)
        assert interaction is not None, f"{wanted} is not in the record"
        return interaction

    def expect(self, fact: object, fault: str) -> None:
        if not fact:
            self.faults.append(fault)

    def expect_asked(self, *texts: str) -> None:
        """The desk saw these questions, once each; long ones may be cut."""
        asked = [text[:3000] for text in self.desk.questions]
        wanted = [text[:3000] for text in texts]
        self.expect(asked == wanted, f"the desk was asked {[text[:60] for text in asked]}")

    async def expect_shown(
        self, question: Question, shown: Sequence[Words], absent: Sequence[Words] = ()
    ) -> None:
        """The thread shows all of it, the first of it once, and nothing that is live."""
        whole = "\n".join(await self.platform.seen(question))
        for words in shown:
            self.expect(_count(words, whole), f"{_said(words)} is not shown")
        for words in absent:
            self.expect(not _count(words, whole), f"{_said(words)} is shown")
        times = _count(shown[0], whole) if shown else 1
        self.expect(times <= 1, f"the reply is shown {times} times")
        for found in await self.platform.live(question):
            self.faults.append(f"{found!r} is live")

    async def expect_votes(self, *votes: str) -> None:
        given = await self.interactions.feedback(self.inbox.kept[0])
        found = [each.vote for each in given]
        self.expect(found == list(votes), f"the judgements are {found}")


def _is_settled(interaction: Interaction) -> bool:
    if interaction.status == "done":
        return interaction.posted is not None
    return interaction.status in _TERMINAL


def _count(words: Words, text: str) -> int:
    if isinstance(words, str):
        return text.count(words)
    return len(words.findall(text))


def _said(words: Words) -> str:
    return repr(words if isinstance(words, str) else words.pattern)
