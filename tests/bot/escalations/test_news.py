"""The loop that tells news: when it looks, what it does not wait for, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from bot.domain.cases import Notice
from bot.escalations.casework import NotifyingCases
from bot.escalations.notices import NoticeLoop
from tests.bot.escalations.fakes import (
    ANNA,
    Clock,
    MemoryCases,
    MemoryOutbox,
    case_of,
    notice_of,
    until,
)
from tests.builders import message

ASKED = message("vpn?", platform="slack")
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
        teller=aloud,
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
    outbox.put(notice_of(ASKED, id="a"))
    async with going(news_of(outbox, aloud, every=60)):
        await until(lambda: aloud.told == ["a"])


async def test_what_another_process_wrote_is_found_by_looking(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    async with going(news_of(outbox, aloud)):
        await until(lambda: outbox.asked > 4)
        outbox.put(notice_of(ASKED, id="a"))
        await until(lambda: aloud.told == ["a"])


async def test_an_act_in_this_process_is_told_at_once(outbox: MemoryOutbox, aloud: Aloud) -> None:
    async with going(news_of(outbox, aloud, every=60)) as news:
        await until(lambda: outbox.asked == 2)
        cases = NotifyingCases(MemoryCases({ASKED.interaction_id: case_of(ASKED)}), news.hint)
        outbox.put(notice_of(ASKED, id="a"))
        await cases.act("default", ASKED.interaction_id, "reply", ANNA, "So.")
        await until(lambda: aloud.told == ["a"])


async def test_a_reminder_is_written_and_told(outbox: MemoryOutbox, aloud: Aloud) -> None:
    outbox.pings = [notice_of(ASKED, id="ping", to="people", step="ping")]
    assert await news_of(outbox, aloud).round() == 1
    assert aloud.told == ["ping"]


async def test_one_after_the_other_is_told_without_a_pause(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(*(notice_of(ASKED, number, id=str(number)) for number in range(25)))
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
    outbox.put(notice_of(ASKED, 3, id="second"), notice_of(ASKED, 2, id="first"))
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
    outbox.put(notice_of(ASKED, id="a"))
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
    outbox.put(notice_of(ASKED, id="a"), notice_of(OTHER, id="b"))

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
    outbox.put(notice_of(ASKED, id="a"))
    async with going(news_of(outbox, aloud, is_open=lambda: bool(opened))) as news:
        news.hint()
        await asyncio.sleep(0.05)
        assert outbox.asked == 0
        opened.append(True)
        await until(lambda: aloud.told == ["a"])


async def test_stopping_finishes_what_is_being_told_and_begins_nothing_more(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    outbox.put(notice_of(ASKED, 2, id="first"), notice_of(ASKED, 3, id="second"))
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
    outbox.put(notice_of(ASKED, id="a"))
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
    outbox.put(notice_of(ASKED, id="a"))
    await news_of(outbox, aloud).round()
    assert aloud.told == []


async def test_what_was_never_started_is_stopped_without_ado(
    outbox: MemoryOutbox, aloud: Aloud
) -> None:
    await news_of(outbox, aloud).stop()
