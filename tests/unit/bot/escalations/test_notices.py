"""Tests of where notices go, what is noted of them, and of the loop that delivers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from structlog.testing import capture_logs

from bot.domain.cases import CaseStatus, Notice
from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.interactions import Interaction, PostedRef, Status
from bot.domain.messages import Message
from bot.domain.ports import Channel, Interactions
from bot.escalations.casework import Casework
from bot.escalations.notices import NoticeDelivery, NoticeLoop
from bot.escalations.notifying_cases import NotifyingCases
from tests.fakes.bot_ports import FakePlatform
from tests.fakes.builders import NOON, message
from tests.fakes.chat_context import ReadsNothing
from tests.fakes.escalations import (
    ANNA,
    Clock,
    MemoryCases,
    MemoryOutbox,
    MemoryRecord,
    NoticePlatform,
    case_of,
    notice_of,
    step_of,
    until,
)

ASKED = message("vpn?", platform="slack", channel="C0HELP")
PING = notice_of(ASKED, 3, id="ping", step="ping", to="people", actor=None, text="")


@dataclass
class Desk:
    """A teller among its stand-ins; the question was asked at noon."""

    board: NoticePlatform = field(default_factory=NoticePlatform)
    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    cases: MemoryCases = field(default_factory=MemoryCases)
    record: MemoryRecord = field(default_factory=MemoryRecord)
    clock: Clock = field(default_factory=Clock)

    def ask(self, asked: Message = ASKED, status: Status = "done") -> None:
        self.record.interactions[asked.interaction_id] = Interaction(
            asked.interaction_id, asked, status, NOON
        )
        self.cases.cases[asked.interaction_id] = case_of(asked)
        self.cases.history = [step_of(asked)]

    async def tell(self, notice: Notice, channels: Sequence[Channel] | None = None) -> bool:
        """Return whether it is settled."""
        self.outbox.put(notice)
        return await self.again(channels)

    async def again(self, channels: Sequence[Channel] | None = None) -> bool:
        """Have a teller tell what is due, as a process that knows nothing of those before."""
        teller = NoticeDelivery(
            outbox=self.outbox,
            cases=self.cases,
            casework=Casework(
                cases=self.cases,
                interactions=cast("Interactions", self.record),
                readable=ReadsNothing(),
            ),
            interactions=cast("Interactions", self.record),
            channels={
                each.platform: each for each in ([self.board] if channels is None else channels)
            },
            now=self.clock,
        )
        (due,) = await self.outbox.due("me", self.clock(), 10)
        await teller.tell(due)
        return not self.outbox.waiting


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.ask()
    return made


async def test_a_persons_reply_goes_to_the_thread_of_the_question(desk: Desk) -> None:
    assert await desk.tell(notice_of(ASKED))
    (told,) = desk.outbox.told
    assert told.posted == PostedRef("C0HELP", told.id)
    assert desk.board.looked_up == 0


async def test_where_a_page_shows_the_record_it_is_told_already(desk: Desk) -> None:
    asked = message("vpn?", platform="web")
    desk.ask(asked)
    assert await desk.tell(notice_of(asked))
    assert [each.posted for each in desk.outbox.told] == [None]
    assert not desk.board.told


async def test_a_platform_that_cannot_tell_is_named_to_the_operator(desk: Desk) -> None:
    with capture_logs() as logs:
        assert await desk.tell(notice_of(ASKED), [FakePlatform()])
    assert "'slack' can't tell askers" in desk.outbox.given_up[0]
    assert [line["event"] for line in logs] == ["notice.given_up"]


@pytest.mark.parametrize("status", ["cancelling", "cancelled", None])
async def test_what_was_withdrawn_is_told_to_nobody(desk: Desk, status: Status | None) -> None:
    desk.record.interactions.clear()
    if status is not None:
        desk.ask(status=status)
    assert await desk.tell(notice_of(ASKED))
    assert len(desk.outbox.told) == 1
    assert not desk.board.told


async def test_what_is_withdrawn_while_it_is_told_is_taken_back(desk: Desk) -> None:
    desk.board.meanwhile = lambda: desk.ask(status="cancelling")
    assert await desk.tell(notice_of(ASKED))
    assert desk.board.withdrawn == [PostedRef("C0HELP", notice_of(ASKED).id)]


async def test_what_a_platform_does_not_take_is_told_later_and_looked_up_first(
    desk: Desk,
) -> None:
    desk.board.lost = [DeliveryFailed("The connection broke.")]
    assert not await desk.tell(notice_of(ASKED))
    assert len(desk.outbox.waiting) == 1
    desk.clock.pass_by(seconds=2)
    assert await desk.again()
    assert (desk.board.times, desk.board.looked_up) == (1, 1)
    assert len(desk.outbox.told) == 1


async def test_pauses_grow_and_a_platforms_wish_is_respected(desk: Desk) -> None:
    desk.board.failures = [DeliveryFailed("Busy."), DeliveryFailed("Busy.")]
    desk.board.failures.append(DeliveryFailed("Busy.", retry_after_seconds=90.0))
    pauses = []
    desk.outbox.put(notice_of(ASKED))
    for _ in range(3):
        assert not await desk.again()
        (slip,) = desk.outbox.waiting
        pauses.append((slip.due_at - desk.clock()).total_seconds())
        desk.clock.now = slip.due_at
    assert 0.5 <= pauses[0] <= 1.0
    assert 1.0 <= pauses[1] <= 2.0
    assert pauses[2] == 90.0
    assert desk.outbox.waiting[0].notice.attempts == 3


async def test_after_a_day_it_is_given_up_and_the_operator_reads_why(desk: Desk) -> None:
    desk.board.failures = [DeliveryFailed("Slack is away.")]
    desk.clock.pass_by(hours=24, seconds=1)
    assert await desk.tell(notice_of(ASKED))
    assert desk.outbox.given_up == ["Slack is away."]


async def test_what_a_platform_will_never_take_is_given_up_at_once(desk: Desk) -> None:
    desk.board.failures = [DeliveryRefused("The channel is archived.")]
    assert await desk.tell(notice_of(ASKED))
    assert desk.outbox.given_up == ["The channel is archived."]


async def test_a_defect_of_a_channel_is_logged_and_tried_again(desk: Desk) -> None:
    desk.board.failures = [KeyError("ts")]
    with capture_logs() as logs:
        assert not await desk.tell(notice_of(ASKED))
    assert [line["event"] for line in logs] == ["notice.broke", "notice.postponed"]


async def test_a_process_that_died_before_it_noted_does_not_tell_twice(desk: Desk) -> None:
    desk.outbox.forgetful = True
    with pytest.raises(StoreUnavailable):
        await desk.tell(notice_of(ASKED))
    desk.outbox.forgetful = False
    desk.clock.pass_by(minutes=1)
    assert await desk.again()
    assert (desk.board.times, len(desk.outbox.told)) == (1, 1)


async def test_people_are_reminded_wherever_there_is_a_place(desk: Desk) -> None:
    other = NoticePlatform(platform="pigeon", place=None)
    assert await desk.tell(PING, [other, desk.board])
    assert (desk.board.reminded, other.reminded) == (["ping"], [])
    assert desk.outbox.told[0].posted == PostedRef("people", "ping")


async def test_without_such_a_place_the_board_shows_it_and_a_line_says_so(desk: Desk) -> None:
    with capture_logs() as logs:
        assert await desk.tell(PING, [FakePlatform()])
    assert len(desk.outbox.told) == 1
    assert [line["event"] for line in logs] == ["notice.on_the_board_only"]


@pytest.mark.parametrize("state", ["claimed", "answered", "resolved", "declined"])
async def test_nobody_is_reminded_of_what_somebody_has(desk: Desk, state: str) -> None:
    case = replace(case_of(ASKED), status=CaseStatus(state, "anna", "Anna"))  # type: ignore[arg-type]
    desk.cases.cases[ASKED.interaction_id] = case
    assert await desk.tell(PING)
    assert not desk.board.reminded


async def test_a_reminder_that_is_not_taken_comes_later(desk: Desk) -> None:
    desk.board.failures = [DeliveryFailed("Busy.")]
    assert not await desk.tell(PING)
    desk.clock.pass_by(seconds=2)
    assert await desk.again()
    assert desk.board.reminded == ["ping"]


@pytest.mark.parametrize("step", ["claim", "release", "reply", "resolve", "decline"])
async def test_every_step_is_shown_to_people_and_calls_nobody(desk: Desk, step: str) -> None:
    assert await desk.tell(replace(PING, step=step))  # type: ignore[arg-type]  # checked by hand
    (view,) = desk.board.shown
    assert view.case.interaction_id == ASKED.interaction_id
    assert not desk.board.reminded


@pytest.mark.mended(id="teams-2")
@pytest.mark.parametrize("step", ["open", "ping", "reopen"])
async def test_a_call_is_told_and_shown_as_well(desk: Desk, step: str) -> None:
    assert await desk.tell(replace(PING, step=step))  # type: ignore[arg-type]  # checked by hand
    assert (desk.board.reminded, len(desk.board.shown)) == ([PING.id], 1)


async def test_it_is_shown_on_every_platform_and_one_refusal_stops_no_other(desk: Desk) -> None:
    other = NoticePlatform(platform="pigeon", unshown=[DeliveryRefused("The card is gone.")])
    assert await desk.tell(replace(PING, step="claim"), [other, desk.board])
    assert len(desk.board.shown) == 1


async def test_what_could_not_be_shown_is_shown_later(desk: Desk) -> None:
    desk.board.unshown = [DeliveryFailed("Busy.")]
    assert not await desk.tell(replace(PING, step="claim"))
    desk.clock.pass_by(seconds=2)
    assert await desk.again()
    assert len(desk.board.shown) == 1


NEWS_QUESTION = message("vpn?", platform="slack")
OTHER = message("wifi?", platform="slack", message_id="m2")


class Aloud:
    """Implements what News needs of a Teller: settles everything, unless told otherwise."""

    def __init__(self, outbox: MemoryOutbox) -> None:
        self._outbox = outbox
        self.told: list[str] = []
        self.before: Callable[[Notice], Awaitable[None]] | None = None

    async def tell(self, notice: Notice) -> None:
        if self.before is not None:
            await self.before(notice)
        await self._outbox.sent(notice, None)
        self.told.append(notice.id)


@pytest.fixture
def outbox() -> MemoryOutbox:
    return MemoryOutbox()


@pytest.fixture
def aloud(outbox: MemoryOutbox) -> Aloud:
    return Aloud(outbox)


def news_of(
    outbox: MemoryOutbox,
    aloud: Aloud,
    *,
    every: float = 0.01,
    is_open: Callable[[], bool] = lambda: True,
) -> NoticeLoop:
    return NoticeLoop(
        owner="me",
        outbox=outbox,
        teller=cast("NoticeDelivery", aloud),
        is_open=is_open,
        now=Clock(),
        every_seconds=every,
    )


@asynccontextmanager
async def going(news: NoticeLoop) -> AsyncIterator[NoticeLoop]:
    news.start()
    try:
        yield news
    finally:
        await news.stop()


async def test_what_is_due_from_before_is_told_at_the_start(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(notice_of(NEWS_QUESTION, id="a"))
    async with going(news_of(outbox, aloud, every=60)):
        await until(lambda: aloud.told == ["a"])


async def test_what_another_process_wrote_is_found_by_looking(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    async with going(news_of(outbox, aloud)):
        await until(lambda: outbox.asked > 4)
        outbox.put(notice_of(NEWS_QUESTION, id="a"))
        await until(lambda: aloud.told == ["a"])


async def test_an_act_in_this_process_is_told_at_once(outbox: MemoryOutbox, aloud: Aloud) -> None:
    async with going(news_of(outbox, aloud, every=60)) as news:
        await until(lambda: outbox.asked == 2)
        cases = NotifyingCases(
            MemoryCases({NEWS_QUESTION.interaction_id: case_of(NEWS_QUESTION)}), news.hint
        )
        outbox.put(notice_of(NEWS_QUESTION, id="a"))
        await cases.act("default", NEWS_QUESTION.interaction_id, "reply", ANNA, "So.")
        await until(lambda: aloud.told == ["a"])


async def test_a_reminder_is_written_and_told(outbox: MemoryOutbox, aloud: Aloud) -> None:
    outbox.pings = [notice_of(NEWS_QUESTION, id="ping", to="people", step="ping")]
    assert await news_of(outbox, aloud).round() == 1
    assert aloud.told == ["ping"]


async def test_one_after_the_other_is_told_without_a_pause(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(*(notice_of(NEWS_QUESTION, number, id=str(number)) for number in range(25)))
    async with going(news_of(outbox, aloud, every=60)):
        await until(lambda: len(aloud.told) == 25)
    assert aloud.told == [str(number) for number in range(25)]


async def test_many_cases_are_told_without_a_pause(outbox: MemoryOutbox, aloud: Aloud) -> None:
    asked = [message("vpn?", message_id=f"m{number}") for number in range(25)]
    outbox.put(*(notice_of(each) for each in asked))
    async with going(news_of(outbox, aloud, every=60)):
        await until(lambda: len(aloud.told) == 25)


async def test_a_cases_news_come_in_order_and_others_do_not_wait(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(notice_of(NEWS_QUESTION, 3, id="second"), notice_of(NEWS_QUESTION, 2, id="first"))
    outbox.put(notice_of(OTHER, 2, id="other"))
    held = asyncio.Event()

    async def wait(notice: Notice) -> None:
        if notice.id == "first":
            await held.wait()

    aloud.before = wait
    async with going(news_of(outbox, aloud)):
        await until(lambda: aloud.told == ["other"])
        held.set()
        await until(lambda: aloud.told == ["other", "first", "second"])


async def test_an_error_is_said_once_and_the_loop_goes_on(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.away = True
    outbox.put(notice_of(NEWS_QUESTION, id="a"))
    with capture_logs() as logs:
        async with going(news_of(outbox, aloud)):
            await until(lambda: outbox.asked > 5)
            outbox.away = False
            await until(lambda: aloud.told == ["a"])
            await until(lambda: logs[-1]["event"] == "news.well_again")
    assert [line["event"] for line in logs] == ["news.troubled", "news.well_again"]
    assert logs[0]["why"] == "The record is away."


async def test_a_defect_at_one_case_leaves_the_others_alone(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(notice_of(NEWS_QUESTION, id="a"), notice_of(OTHER, id="b"))

    async def stumble(notice: Notice) -> None:
        if notice.id == "a":
            raise KeyError(notice.id)

    aloud.before = stumble
    with capture_logs() as logs:
        async with going(news_of(outbox, aloud)):
            await until(lambda: aloud.told == ["b"])
            await until(lambda: logs)
    assert (logs[0]["event"], logs[0]["why"]) == ("news.troubled", "KeyError")


async def test_while_the_record_is_not_open_nothing_is_asked(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    opened: list[bool] = []
    outbox.put(notice_of(NEWS_QUESTION, id="a"))
    async with going(news_of(outbox, aloud, is_open=lambda: bool(opened))) as news:
        news.hint()
        await asyncio.sleep(0.05)
        assert outbox.asked == 0
        opened.append(True)
        await until(lambda: aloud.told == ["a"])


async def test_stopping_finishes_what_is_being_told_and_begins_nothing_more(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(notice_of(NEWS_QUESTION, 2, id="first"), notice_of(NEWS_QUESTION, 3, id="second"))
    begun, finish = asyncio.Event(), asyncio.Event()

    async def wait(_: Notice) -> None:
        begun.set()
        await finish.wait()

    aloud.before = wait
    news = news_of(outbox, aloud)
    news.start()
    await begun.wait()
    stopping = asyncio.create_task(news.stop())
    await asyncio.sleep(0)
    finish.set()
    await stopping
    assert aloud.told == ["first"]


async def test_stopping_does_not_wait_for_ever(
    outbox: MemoryOutbox, aloud: Aloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.escalations.notices._STOP_SECONDS", 0.05)
    outbox.put(notice_of(NEWS_QUESTION, id="a"))
    begun = asyncio.Event()

    async def hang(_: Notice) -> None:
        begun.set()
        await asyncio.Event().wait()

    aloud.before = hang
    news = news_of(outbox, aloud)
    news.start()
    await begun.wait()
    await news.stop()
    assert aloud.told == []


async def test_what_is_claimed_too_long_is_left_to_others(
    outbox: MemoryOutbox, aloud: Aloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that stood still must not tell what another one has taken over."""
    monkeypatch.setattr("bot.escalations.notices._FRESH_SECONDS", -1.0)
    outbox.put(notice_of(NEWS_QUESTION, id="a"))
    await news_of(outbox, aloud).round()
    assert aloud.told == []


async def test_what_was_never_started_is_stopped_without_ado(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    await news_of(outbox, aloud).stop()
