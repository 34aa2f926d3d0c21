"""The news of what people did, told over the record by several processes; on both databases."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.interactions import Outcome
from bot.domain.messages import Message
from bot.escalations.casework import Casework
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.store.database import Store
from tests.bot.adapters.outcomes import HANDED_OVER, TRACE
from tests.bot.escalations.fakes import ANNA, TellingBoard, until
from tests.bot.offices import ReadsNothing
from tests.bot.recorded import answered
from tests.builders import message

ACTS = ("claim", "reply", "resolve")


@pytest.fixture
def board() -> TellingBoard:
    return TellingBoard()


async def asked(store: Store, number: int) -> Message:
    """Record a question that went to people."""
    sent = message("vpn?", message_id=f"m{number}", platform="slack", private=False)
    await answered(store, sent, Outcome(HANDED_OVER, TRACE))
    return sent


async def act(store: Store, sent: Message, *acts: str) -> None:
    for each in acts:
        await store.escalations.act("default", sent.interaction_id, each, ANNA, "So.")  # type: ignore[arg-type]


def process(
    store: Store, board: TellingBoard, name: str, ahead: timedelta = timedelta()
) -> NoticeLoop:
    """Return what tells, as another process has it; its clock may be ahead."""

    def now() -> datetime:
        return datetime.now(UTC) + ahead

    teller = NoticeDelivery(
        outbox=store.notices,
        cases=store.escalations,
        works=Casework(
            cases=store.escalations, interactions=store.interactions, readable=ReadsNothing()
        ),
        recorded=store.interactions,
        channels={board.platform: board},
        now=now,
    )
    return NoticeLoop(
        owner=name,
        outbox=store.notices,
        teller=teller,
        is_open=lambda: True,
        now=now,
        every_seconds=0.02,
    )


def told_of(board: TellingBoard, sent: Message) -> list[str]:
    ids = [each for each in board.order if each.startswith(sent.interaction_id)]
    return [board.told[each].step for each in ids]


def resolved(board: TellingBoard) -> set[str]:
    """Return the cases that people saw last as resolved."""
    last = {view.case.interaction_id: view.case.standing.state for view in board.shown}
    return {case_id for case_id, state in last.items() if state == "resolved"}


async def test_several_processes_tell_everything_once_and_in_order(
    store: Store, board: TellingBoard
) -> None:
    questions = [await asked(store, number) for number in range(12)]
    processes = [process(store, board, f"p{number}") for number in range(3)]
    for each in processes:
        each.start()
    await asyncio.gather(*(act(store, each, *ACTS) for each in questions))
    await until(lambda: board.times >= len(questions) * len(ACTS), seconds=30)
    await until(lambda: len(resolved(board)) == len(questions))
    await asyncio.gather(*(each.stop() for each in processes))

    assert [told_of(board, each) for each in questions] == [list(ACTS)] * len(questions)
    assert resolved(board) == {each.interaction_id for each in questions}
    assert not await store.notices.due("x", utc_now() + timedelta(days=1), 10)


async def test_what_a_dead_process_told_is_looked_up_after_a_minute(
    store: Store, board: TellingBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await asked(store, 1)
    await act(store, sent, "reply")

    async def die(*_: object) -> None:
        raise StoreUnavailable("The process died here.")

    with monkeypatch.context() as dying:
        dying.setattr(store.notices, "sent", die)
        with pytest.raises(StoreUnavailable):
            await process(store, board, "dead").round()
    assert await process(store, board, "too early").round() == 0
    assert await process(store, board, "heir", timedelta(minutes=2)).round() == 2

    assert (board.times, board.looked_up) == (1, 1)


async def test_what_follows_waits_for_what_is_told_later(store: Store, board: TellingBoard) -> None:
    sent = await asked(store, 1)
    await act(store, sent, "claim", "reply")
    board.failures = [DeliveryFailed("Busy.", retry_after_seconds=60.0)]
    while await process(store, board, "me").round():
        pass
    assert board.times == 0

    while await process(store, board, "me", timedelta(minutes=2)).round():
        pass
    assert told_of(board, sent) == ["claim", "reply"]


async def test_a_withdrawn_question_is_told_to_nobody(store: Store, board: TellingBoard) -> None:
    sent = await asked(store, 1)
    await act(store, sent, "reply")
    await store.work.cancel(sent.interaction_id)

    assert await process(store, board, "me").round() == 0
    assert board.times == 0


async def test_people_are_reminded_once_by_whichever_process(
    store: Store, board: TellingBoard
) -> None:
    await asked(store, 1)
    late = timedelta(minutes=31)
    await asyncio.gather(*(process(store, board, f"p{n}", late).round() for n in range(3)))

    assert len(board.reminded) == 1
