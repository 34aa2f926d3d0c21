from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import Inquiry, Message, Person, Refusal, Stage
from bot.inbox.worker import MessageAnswerer
from tests.bot.fakes import EchoDesk, OpenAdmission, replied
from tests.builders import message


class Stages:
    """Remembers what was reported."""

    def __init__(self) -> None:
        self.seen: list[Stage] = []

    async def __call__(self, stage: Stage, pages: int = 0) -> None:
        self.seen.append(stage)


class ClosedAdmission:
    """Knows nobody."""

    async def admit(self, message: Message) -> Inquiry:
        raise LookupError(message.author.id)


async def test_the_desks_outcome_is_the_answer() -> None:
    stages = Stages()

    outcome = await MessageAnswerer(OpenAdmission(), EchoDesk()).answer(message("hi"), stages)

    assert outcome == replied("You said: hi")
    assert stages.seen == [Stage.ROUTING]


async def test_an_admission_that_breaks_becomes_an_escalation() -> None:
    stages = Stages()

    with capture_logs() as logs:
        outcome = await MessageAnswerer(ClosedAdmission(), EchoDesk()).answer(message("hi"), stages)

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.question == "hi"
    assert outcome.trace.notes == ("The desk stopped; the log says why.",)
    assert "anna" not in repr(outcome)
    assert stages.seen == [Stage.FAILED]
    assert logs[0]["interaction_id"] == message("hi").interaction_id


class RefusingAdmission:
    """Works on nothing now."""

    async def admit(self, message: Message) -> Refusal:
        return Refusal("Please ask again tomorrow.", "day's budget")


async def test_a_message_that_is_not_worked_on_never_reaches_the_desk() -> None:
    desk = EchoDesk()

    outcome = await MessageAnswerer(RefusingAdmission(), desk).answer(message("hi"), Stages())

    assert isinstance(outcome.response, Reply)
    assert outcome.response.text == "Please ask again tomorrow."
    assert outcome.response.refused
    assert outcome.trace.notes == ("limit:day's budget",)
    assert desk.handled == []


class UnreadableRecord:
    """Can't look up the history."""

    async def admit(self, message: Message) -> Inquiry:
        raise StoreUnavailable("The disk is full.")


async def test_without_the_record_there_is_no_outcome() -> None:
    with pytest.raises(StoreUnavailable):
        await MessageAnswerer(UnreadableRecord(), EchoDesk()).answer(message("hi"), Stages())


async def test_being_cancelled_is_no_outcome() -> None:
    async def forever(_: Message) -> Outcome:
        await asyncio.sleep(60)
        return replied("late")

    work = asyncio.create_task(
        MessageAnswerer(OpenAdmission(), EchoDesk(forever)).answer(message("hi"), Stages())
    )
    await asyncio.sleep(0.01)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work


async def test_who_asked_is_known_also_when_the_desk_stops() -> None:
    anna = Person("anna", "Anna Lopez")

    class Introducing(OpenAdmission):
        async def admit(self, message: Message) -> Inquiry:
            return replace(await super().admit(message), asker=anna)

    async def broken(_: Message) -> Outcome:
        raise RuntimeError("boom")

    outcome = await MessageAnswerer(Introducing(), EchoDesk(broken)).answer(message("hi"), Stages())

    assert isinstance(outcome.response, Escalation)
    assert outcome.asker == anna
