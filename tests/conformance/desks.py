"""What stands behind the inbox: a desk by script, or the real one with a part that is broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from bot.answering.desk import Desk
from bot.answering.routing.router import Router
from bot.domain.interactions import Escalation, Outcome, Reply, Response
from bot.domain.messages import FoundPassage, Inquiry, Stage
from bot.domain.ports import AnswersInquiries, ReportStage
from rag.pipeline import Pipeline
from tests.bot.adapters.outcomes import ANSWER, TRACE, VPN
from tests.bot.test_desk import WORDING, Bench, FirstLine, FixedGate, Greeter, ListIndex
from tests.builders import chunk

PAGE_809 = chunk("Error 809: the port is blocked.", chunk_id="c809", title="VPN guide", url=VPN.url)
"""All that the real desk finds."""

LACKS = "who opens the port"
"""What a part of an answer lacks."""

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
    found = FoundPassage(VPN.chunk_id, VPN.page_id, VPN.title, VPN.section, {"keyword": 5.0})
    trace = replace(TRACE, passages=(found,), threshold=0.65)
    return lambda: ScriptedDesk(lambda _: Outcome(ANSWER, trace))


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


def guesses() -> AnswersInquiries:
    """The real desk and router; what it finds is worth a guess."""
    return _judged(0.5)


def hands_over() -> AnswersInquiries:
    """The real desk and router; whatever it finds does not convince the gate."""
    return _judged(0.2)


def _judged(sure: float, missing: str | None = None) -> AnswersInquiries:
    composer = FirstLine(missing=missing)
    return Desk(
        router=Router(None, None, None),
        generic=Greeter(),
        pipeline=Pipeline(ListIndex([PAGE_809]), None, composer),  # type: ignore[arg-type]  # only what the pipeline calls
        gate=FixedGate(sure),
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
