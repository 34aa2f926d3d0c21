"""Tests of which notices are due, by which process and how often, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.cases import SECOND_LEVEL, Act, Actor, Case, Notice
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.interactions import Outcome, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import ReminderSchedule
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.store.database import Store, unopened
from bot.store.notices import StoredNotices
from tests.fakes.builders import NOON, message
from tests.fakes.chat_context import ReadsNothing
from tests.fakes.desk import HANDED_OVER, TRACE
from tests.fakes.durable_inbox import record_answer
from tests.fakes.escalations import ANNA, NoticePlatform, until
from tests.fakes.record_rows import add_escalation, add_interaction, rows

ANNA_ID = Actor("u1", "Anna", "expert")
BEN = Actor("u2", "Ben", "expert")
ASKER = Actor("anna", "Asker", "asker")
ONE = InteractionId("i1")
MINUTE = timedelta(minutes=1)
SOON = datetime.now(UTC) + timedelta(days=1)
"""When everything that was noted in a test is due."""


async def add_case(store: Store, name: str = "i1", **more: object) -> None:
    await add_interaction(store, name, channel="slack:C1")
    await add_escalation(store, name, asker="anna", **more)


async def act(store: Store, what: Act, actor: Actor = ANNA_ID, text: str = "") -> Case:
    return await store.escalations.act("default", ONE, what, actor, text)


async def due(store: Store, at: datetime = SOON, owner: str = "me") -> Sequence[Notice]:
    """Return what askers are to be told; what people are shown is claimed with it."""
    claimed = await store.notices.due(owner, at, 100)
    return [notice for notice in claimed if notice.to == "asker"]


async def told(store: Store) -> list[tuple[str, str]]:
    """Tell everything, and return to whom and what, in order."""
    said: list[tuple[str, str]] = []
    while notices := await store.notices.due("me", SOON, 100):
        for notice in notices:
            said.append((notice.to, notice.step))
            await store.notices.sent(notice, None)
    return said


async def case_now(store: Store) -> Case:
    case = await store.escalations.get("default", ONE)
    assert case is not None
    return case


async def test_the_asker_is_told_of_what_others_do(store: Store) -> None:
    await add_case(store)
    for what in ("claim", "reply", "resolve"):
        await act(store, what, text="words")
    await act(store, "reopen", BEN)
    await act(store, "decline", BEN, "ask facilities")

    assert [step for to, step in await told(store) if to == "asker"] == [
        "claim",
        "reply",
        "resolve",
        "reopen",
        "decline",
    ]


async def test_a_notice_says_who_did_what_and_with_which_words(store: Store) -> None:
    await add_case(store)
    await act(store, "reply", text="Restart it.")

    (notice,) = await due(store)

    assert notice == Notice(
        id="i1:1:asker",
        interaction_id=ONE,
        number=1,
        step="reply",
        to="asker",
        actor=ANNA_ID,
        text="Restart it.",
    )


async def test_people_see_every_step_and_the_asker_is_not_told_of_their_own(store: Store) -> None:
    await add_case(store)
    seen = []
    for what, actor in (
        ("resolve", ASKER),
        ("reopen", ASKER),
        ("claim", ANNA_ID),
        ("release", ANNA_ID),
        ("decline", BEN),
    ):
        await act(store, what, actor, "words")  # type: ignore[arg-type]
        seen += await told(store)

    assert [step for to, step in seen if to == "people"] == [
        "resolve",
        "reopen",
        "claim",
        "release",
        "decline",
    ]
    assert [step for to, step in seen if to == "asker"] == ["claim", "decline"]


async def test_of_steps_in_a_row_people_are_shown_the_last(store: Store) -> None:
    await add_case(store)
    for what in ("claim", "reply", "release", "claim", "resolve"):
        await act(store, what, text="words")

    seen = await told(store)

    assert [step for to, step in seen if to == "people"] == ["resolve"]
    assert [step for to, step in seen if to == "asker"] == ["claim", "reply", "claim", "resolve"]


async def test_what_is_shown_comes_after_what_is_being_shown(store: Store) -> None:
    """An edit that is on its way would otherwise bring back how it stood before."""
    await add_case(store)
    await act(store, "claim")
    (held,) = [each for each in await store.notices.due("a", SOON, 10) if each.to == "people"]
    await act(store, "resolve")
    other = await store.notices.due("b", SOON, 10)
    assert [each.step for each in other if each.to == "people"] == []

    await store.notices.sent(held, None)

    (last,) = [each for each in await store.notices.due("b", SOON, 10) if each.to == "people"]
    assert last.step == "resolve"


async def test_people_are_not_called_to_what_somebody_has_taken_meanwhile(store: Store) -> None:
    await add_case(store, due_at=NOON)
    await store.notices.remind(NOON)
    await act(store, "claim")

    assert await told(store) == [("asker", "claim"), ("people", "claim")]


async def test_one_process_has_a_notice_until_a_minute_has_passed(store: Store) -> None:
    await add_case(store)
    await act(store, "claim")

    (first,) = await due(store)
    assert await due(store, SOON + 0.9 * MINUTE, "other") == []
    (again,) = await due(store, SOON + MINUTE, "other")

    assert (first.attempts, again.attempts) == (0, 1)
    assert first.id == again.id


async def test_news_do_not_wait_for_a_clock_that_was_put_back(store: Store) -> None:
    await add_case(store)
    await act(store, "reply", text="Room 3.")
    back = datetime.now(UTC) - timedelta(hours=1)

    (notice,) = await due(store, back)
    assert await due(store, back) == []
    await store.notices.later(notice, back + MINUTE)

    assert await due(store, back) == []
    (again,) = await due(store, back + MINUTE)
    assert again.attempts == 1


async def test_what_was_told_is_not_told_again(store: Store, url: str) -> None:
    await add_case(store)
    await act(store, "claim")
    (notice,) = await due(store)

    await store.notices.sent(notice, PostedRef("C1", "9.9"))

    assert await due(store, SOON + timedelta(days=1)) == []
    kept = "SELECT posted_channel, posted_id, owner FROM notices WHERE \"to\" = 'asker'"
    assert rows(url, kept) == [("C1", "9.9", None)]


async def test_what_failed_comes_back_when_it_was_said_to(store: Store) -> None:
    await add_case(store)
    await act(store, "claim")
    (notice,) = await due(store)

    await store.notices.later(notice, SOON + 5 * MINUTE)

    assert await due(store, SOON + 4 * MINUTE) == []
    (again,) = await due(store, SOON + 5 * MINUTE)
    assert again.attempts == 1


async def test_what_is_given_up_keeps_why(store: Store, url: str) -> None:
    await add_case(store)
    await act(store, "claim")
    (notice,) = await due(store)

    await store.notices.failed(notice, "The channel \x00is gone.")

    assert await due(store, SOON + timedelta(days=1)) == []
    kept = "SELECT failure FROM notices WHERE \"to\" = 'asker'"
    assert rows(url, kept) == [("The channel \ufffdis gone.",)]


@pytest.mark.parametrize("late", ["later", "failed"])
async def test_who_was_taken_for_dead_undoes_not_what_others_did(store: Store, late: str) -> None:
    await add_case(store)
    await act(store, "claim")
    (slow,) = await due(store)
    (quick,) = await due(store, SOON + MINUTE, "other")

    async def too_late() -> None:
        if late == "later":
            await store.notices.later(slow, SOON)
        else:
            await store.notices.failed(slow, "?")

    await too_late()
    assert await due(store, SOON + MINUTE) == []
    await store.notices.sent(quick, None)
    await too_late()
    assert await due(store, SOON + timedelta(days=1)) == []


async def test_the_notices_of_a_case_are_told_in_order(store: Store) -> None:
    await add_case(store)
    await act(store, "claim")
    await act(store, "reply", text="first")
    await act(store, "reply", text="second")

    (claim,) = await due(store)
    await store.notices.later(claim, SOON + 5 * MINUTE)
    assert await due(store, SOON + 4 * MINUTE) == []
    (claim,) = await due(store, SOON + 5 * MINUTE)
    await store.notices.sent(claim, None)
    (reply,) = await due(store)
    await store.notices.failed(reply, "too long")

    assert [notice.text for notice in await due(store)] == ["second"]


async def test_two_processes_share_what_is_due_and_repeat_nothing(store: Store, url: str) -> None:
    for number in range(40):
        await add_case(store, f"i{number}")
        case_id = InteractionId(f"i{number}")
        await store.escalations.act("default", case_id, "claim", ANNA_ID)
    other = unopened(url)

    both = (store, other)
    batches = await asyncio.gather(
        *(each.notices.due(name, SOON, 5) for each in both for name in "abcdef")
    )
    await other.close()

    claimed = [notice.id for batch in batches for notice in batch]
    assert len(claimed) == len(set(claimed)) > 0


async def test_who_waits_is_remembered_at_even_distances_then_left_in_peace(
    store: Store,
) -> None:
    await add_case(store, due_at=NOON)
    waited = [NOON + number * timedelta(minutes=30) for number in range(6)]

    assert await store.notices.remind(NOON - MINUTE) == 0
    assert [await store.notices.remind(now) for now in waited] == [1, 1, 1, 0, 0, 0]

    case = await case_now(store)
    assert (case.pings, case.due_at, case.version) == (3, None, 3)
    assert case.changed_at == NOON
    steps = await store.escalations.steps("default", ONE)
    assert [(each.step, each.actor, each.at) for each in steps] == [
        ("ping", None, now) for now in waited[:3]
    ]
    assert await told(store) == [("people", "ping")] * 3


async def test_what_was_claimed_is_not_reminded_of_until_it_waits_again(store: Store) -> None:
    await add_case(store, due_at=NOON, pings=2)
    assert (await act(store, "claim")).due_at is None
    assert await store.notices.remind(SOON) == 0

    released = await act(store, "release")

    assert released.pings == 0
    assert released.due_at == released.changed_at + timedelta(minutes=30)
    assert await store.notices.remind(SOON) == 1


async def test_two_processes_write_one_reminder(store: Store, url: str) -> None:
    for number in range(20):
        await add_case(store, f"i{number}", due_at=NOON)
    other = unopened(url)

    written = await asyncio.gather(
        *(each.notices.remind(NOON) for each in (store, other) for _ in range(4))
    )
    await other.close()

    assert sum(written) == 20
    assert rows(url, "SELECT count(*), max(number) FROM escalation_steps") == [(20, 1)]


async def test_reminders_and_acts_at_once_number_the_history_without_a_gap(store: Store) -> None:
    await add_case(store, due_at=NOON)

    await asyncio.gather(
        *(store.notices.remind(NOON) for _ in range(3)),
        act(store, "claim"),
        act(store, "claim"),
        return_exceptions=False,
    )

    case = await case_now(store)
    steps = await store.escalations.steps("default", ONE)
    assert [each.number for each in steps] == list(range(1, case.version + 1))
    assert case.due_at is None


async def test_nobody_is_reminded_where_that_is_turned_off(url: str) -> None:
    quiet = unopened(url, ReminderSchedule(timedelta(0)))
    await add_case(quiet, state="resolved")

    reopened = await act(quiet, "reopen", ASKER)

    assert reopened.due_at is None
    assert await quiet.notices.remind(SOON) == 0
    await quiet.close()


ACTS = ("claim", "reply", "resolve")


@pytest.fixture
def board() -> NoticePlatform:
    return NoticePlatform()


async def asked(store: Store, number: int) -> Message:
    """Record a question that went to people."""
    sent = message("vpn?", message_id=f"m{number}", platform="slack", private=False)
    await record_answer(store, sent, Outcome(HANDED_OVER, TRACE))
    return sent


async def act_on(store: Store, sent: Message, *acts: str) -> None:
    for each in acts:
        await store.escalations.act("default", sent.interaction_id, each, ANNA, "So.")  # type: ignore[arg-type]


def process(
    store: Store, board: NoticePlatform, name: str, ahead: timedelta = timedelta()
) -> NoticeLoop:
    """Return what tells, as another process has it; its clock may be ahead."""

    def now() -> datetime:
        return datetime.now(UTC) + ahead

    teller = NoticeDelivery(
        outbox=store.notices,
        cases=store.escalations,
        casework=Casework(
            cases=store.escalations, interactions=store.interactions, readable=ReadsNothing()
        ),
        interactions=store.interactions,
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


def told_of(board: NoticePlatform, sent: Message) -> list[str]:
    ids = [each for each in board.order if each.startswith(sent.interaction_id)]
    return [board.told[each].step for each in ids]


def resolved(board: NoticePlatform) -> set[str]:
    """Return the cases that people saw last as resolved."""
    last = {view.case.interaction_id: view.case.status.state for view in board.shown}
    return {case_id for case_id, state in last.items() if state == "resolved"}


async def test_several_processes_tell_all_in_order(store: Store, board: NoticePlatform) -> None:
    questions = [await asked(store, number) for number in range(12)]
    processes = [process(store, board, f"p{number}") for number in range(3)]
    for each in processes:
        each.start()
    await asyncio.gather(*(act_on(store, each, *ACTS) for each in questions))
    await until(lambda: board.times >= len(questions) * len(ACTS), seconds=30)
    await until(lambda: len(resolved(board)) == len(questions))
    await asyncio.gather(*(each.stop() for each in processes))

    assert [told_of(board, each) for each in questions] == [list(ACTS)] * len(questions)
    assert resolved(board) == {each.interaction_id for each in questions}
    assert not await store.notices.due("x", utc_now() + timedelta(days=1), 10)


async def test_what_a_dead_process_told_is_looked_up_after_a_minute(
    store: Store, board: NoticePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await asked(store, 1)
    await act_on(store, sent, "reply")

    async def die(*_: object) -> None:
        raise StoreUnavailable("The process died here.")

    with monkeypatch.context() as dying:
        dying.setattr(store.notices, "sent", die)
        with pytest.raises(StoreUnavailable):
            await process(store, board, "dead").round()
    assert await process(store, board, "too early").round() == 0
    assert await process(store, board, "heir", timedelta(minutes=2)).round() == 2

    assert (board.times, board.looked_up) == (1, 1)


async def test_what_follows_waits_for_what_is_told_later(
    store: Store, board: NoticePlatform
) -> None:
    sent = await asked(store, 1)
    await act_on(store, sent, "claim", "reply")
    board.failures = [DeliveryFailed("Busy.", retry_after_seconds=60.0)]
    while await process(store, board, "me").round():
        pass
    assert board.times == 0

    while await process(store, board, "me", timedelta(minutes=2)).round():
        pass
    assert told_of(board, sent) == ["claim", "reply"]


async def test_a_withdrawn_question_is_told_to_nobody(store: Store, board: NoticePlatform) -> None:
    sent = await asked(store, 1)
    await act_on(store, sent, "reply")
    await store.work.cancel(sent.interaction_id)

    assert await process(store, board, "me").round() == 0
    assert board.times == 0


async def test_people_are_reminded_once_by_anybody(store: Store, board: NoticePlatform) -> None:
    await asked(store, 1)
    late = timedelta(minutes=31)
    await asyncio.gather(*(process(store, board, f"p{n}", late).round() for n in range(3)))

    assert len(board.reminded) == 1


async def test_the_second_level_is_asked_once_about_what_nobody_has(store: Store) -> None:
    await add_case(store, opened_at=NOON, changed_at=NOON)
    schedule = ReminderSchedule(timedelta(0), 0, timedelta(hours=2))
    notices = StoredNotices(store.transactions, schedule)

    early, late = NOON + timedelta(hours=1), NOON + timedelta(hours=3)
    assert [await notices.remind(at) for at in (early, late, late)] == [0, 1, 0]

    steps = await store.escalations.steps("default", ONE)
    case = await store.escalations.get("default", ONE)
    assert [(each.step, each.actor) for each in steps] == [("second_level", None)]
    assert case is not None
    assert (case.level, case.status.state) == (SECOND_LEVEL, "open")


async def test_a_note_leaves_what_people_are_still_to_be_told(store: Store) -> None:
    await add_case(store, opened_at=NOON, changed_at=NOON)
    schedule = ReminderSchedule(timedelta(0), 0, timedelta(hours=2))
    await StoredNotices(store.transactions, schedule).remind(NOON + timedelta(hours=3))

    await act(store, "note", text="Seen it before.")

    assert await told(store) == [("people", "second_level"), ("people", "note")]


async def test_what_somebody_has_is_not_put_to_the_second_level(store: Store) -> None:
    await add_case(store, opened_at=NOON, changed_at=NOON)
    await act(store, "claim")
    schedule = ReminderSchedule(timedelta(0), 0, timedelta(hours=2))

    assert await StoredNotices(store.transactions, schedule).remind(SOON) == 0
