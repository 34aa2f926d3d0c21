from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Protocol

import pytest
from structlog.testing import capture_logs

from bot.delivery import Deliverer
from bot.errors import InboxFull, InboxUnavailable, InteractionUnknown
from bot.escalation import OFFERED
from bot.inbox import InProcessInbox, Limits
from bot.outcomes import UNAVAILABLE
from bot.store import Store
from bot.types import Escalation, InteractionId, Message, Outcome, Stage
from rag.types import Turn
from tests.bot.fakes import Board, EchoDesk, Gate, OpenAdmission, replied
from tests.builders import message

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")


class MakeInbox(Protocol):
    def __call__(
        self, desk: EchoDesk, *, limits: Limits = ..., board: Board | None = ...
    ) -> InProcessInbox: ...


@pytest.fixture
async def make_inbox(store: Store) -> AsyncIterator[MakeInbox]:
    made: list[InProcessInbox] = []

    def make(
        desk: EchoDesk, *, limits: Limits | None = None, board: Board | None = None
    ) -> InProcessInbox:
        channels = {} if board is None else {board.platform: board}
        inbox = InProcessInbox(
            interactions=store.interactions,
            admission=OpenAdmission(),
            desk=desk,
            deliver=Deliverer(channels, store.interactions, first_wait_seconds=0),
            limits=limits or Limits(drain_seconds=10),
        )
        made.append(inbox)
        return inbox

    yield make
    for inbox in made:
        await inbox.close()


def asked(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_an_accepted_question_is_answered(make_inbox: MakeInbox, store: Store) -> None:
    inbox = make_inbox(EchoDesk())

    outcome = await inbox.outcome(await inbox.accept(message("hello")))

    assert outcome == replied("You said: hello")
    await inbox.close()
    kept = await store.interactions.get(message("hello").interaction_id)
    assert kept is not None
    assert kept.outcome == outcome
    assert kept.posted is not None
    assert await store.interactions.stages(kept.id) == [
        Stage.RECEIVED,
        Stage.ROUTING,
        Stage.DONE,
    ]


async def test_a_message_is_kept_before_it_is_accepted(make_inbox: MakeInbox, store: Store) -> None:
    inbox = make_inbox(EchoDesk(Gate()), limits=Limits(drain_seconds=0))

    interaction_id = await inbox.accept(message("hello"))

    assert await store.interactions.get(interaction_id) is not None


async def test_the_same_message_is_answered_once(make_inbox: MakeInbox) -> None:
    desk = EchoDesk()
    inbox = make_inbox(desk)

    ids = await asyncio.gather(*(inbox.accept(message("hello")) for _ in range(30)))
    await inbox.outcome(ids[0])
    ids.append(await inbox.accept(message("hello")))
    again = await inbox.outcome(ids[-1])

    assert len(set(ids)) == 1
    assert again == replied("You said: hello")
    assert desk.handled == ["hello"]


async def test_a_question_answered_before_a_restart_is_not_asked_again(
    make_inbox: MakeInbox,
) -> None:
    first = make_inbox(EchoDesk())
    await first.outcome(await first.accept(message("hello")))
    await first.close()
    desk = EchoDesk()
    second = make_inbox(desk)
    await second.start()

    outcome = await second.outcome(await second.accept(message("hello")))

    assert outcome == replied("You said: hello")
    assert desk.handled == []


async def test_one_thread_is_answered_in_order_and_threads_at_once(
    make_inbox: MakeInbox,
) -> None:
    async def slowly_first(question: Message) -> Outcome:
        await asyncio.sleep(0.5 if question.text == "question 0" else 0)
        return replied("ok")

    desk = EchoDesk(slowly_first)
    inbox = make_inbox(desk)
    ids = [await inbox.accept(asked(number, thread=f"t{number % 2}")) for number in range(8)]

    await asyncio.gather(*(inbox.outcome(interaction_id) for interaction_id in ids))

    even = [text for text in desk.finished if int(text[-1]) % 2 == 0]
    odd = [text for text in desk.finished if int(text[-1]) % 2]
    assert even == sorted(even)
    assert odd == sorted(odd)
    assert desk.finished[0] == "question 1"
    assert desk.finished.index("question 3") < desk.finished.index("question 0")


async def test_a_follow_up_sees_the_answer_before_it(make_inbox: MakeInbox, store: Store) -> None:
    seen: list[tuple[Turn, ...]] = []

    async def look_back(question: Message) -> Outcome:
        seen.append(await store.interactions.history(question.thread, question, 10))
        return replied("ok")

    inbox = make_inbox(EchoDesk(look_back))
    ids = [await inbox.accept(asked(number)) for number in range(2)]
    await inbox.outcome(ids[1])

    assert seen == [(), (Turn("user", "question 0"), Turn("assistant", "ok"))]


async def test_no_more_is_done_at_once_than_allowed(make_inbox: MakeInbox) -> None:
    async def slowly(_: Message) -> Outcome:
        await asyncio.sleep(0.1)
        return replied("ok")

    desk = EchoDesk(slowly)
    inbox = make_inbox(desk, limits=Limits(concurrency=3))
    ids = [await inbox.accept(asked(number, thread=f"t{number}")) for number in range(9)]

    await asyncio.gather(*(inbox.outcome(interaction_id) for interaction_id in ids))

    assert desk.most_busy == 3
    assert len(desk.handled) == 9


async def test_a_full_queue_refuses_and_keeps_nothing(make_inbox: MakeInbox, store: Store) -> None:
    gate = Gate()
    inbox = make_inbox(EchoDesk(gate), limits=Limits(waiting=2, drain_seconds=1))
    await inbox.accept(asked(1))
    await inbox.accept(asked(2))

    with pytest.raises(InboxFull, match="Ask again in a minute"):
        await inbox.accept(asked(3))

    assert await store.interactions.get(asked(3).interaction_id) is None
    assert await inbox.accept(asked(2)) == asked(2).interaction_id
    gate.open()
    await inbox.outcome(asked(2).interaction_id)
    await asyncio.sleep(0.05)
    assert await inbox.accept(asked(3)) == asked(3).interaction_id


async def test_a_burst_never_exceeds_the_queue(make_inbox: MakeInbox, store: Store) -> None:
    inbox = make_inbox(EchoDesk(Gate()), limits=Limits(waiting=5, drain_seconds=0))

    results = await asyncio.gather(
        *(inbox.accept(asked(number)) for number in range(30)), return_exceptions=True
    )

    assert sum(isinstance(result, str) for result in results) == 5
    assert sum(isinstance(result, InboxFull) for result in results) == 25
    assert len(await store.interactions.unfinished()) == 5


async def test_after_a_crash_a_new_process_answers_what_was_accepted(
    make_inbox: MakeInbox, store: Store
) -> None:
    crashed = make_inbox(EchoDesk(Gate()), limits=Limits(drain_seconds=0))
    ids = [await crashed.accept(asked(number)) for number in range(3)]
    await crashed.close()
    assert len(await store.interactions.unfinished()) == 3

    desk = EchoDesk()
    resumed = make_inbox(desk)
    await resumed.start()
    outcomes = [await resumed.outcome(interaction_id) for interaction_id in ids]

    assert outcomes == [replied(f"You said: question {number}") for number in range(3)]
    assert desk.handled == ["question 0", "question 1", "question 2"]
    await resumed.close()
    assert await store.interactions.unfinished() == []


async def test_starting_does_not_repeat_what_was_accepted_meanwhile(
    make_inbox: MakeInbox,
) -> None:
    desk = EchoDesk()
    inbox = make_inbox(desk)
    interaction_id = await inbox.accept(message("hello"))
    await inbox.start()
    await inbox.outcome(interaction_id)
    await inbox.close()

    assert desk.handled == ["hello"]


async def test_an_outcome_that_was_not_posted_is_posted_without_asking_again(
    make_inbox: MakeInbox, store: Store
) -> None:
    question = message("hello", platform="slack")
    await store.interactions.open(question)
    await store.interactions.close(question.interaction_id, replied("earlier"))
    desk, board = EchoDesk(), Board()
    inbox = make_inbox(desk, board=board)

    await inbox.start()
    await inbox.close()

    assert desk.handled == []
    assert list(board.posts.values()) == ["earlier"]


async def test_a_reply_posted_before_a_crash_is_not_posted_again(
    make_inbox: MakeInbox, store: Store
) -> None:
    question = message("hello", platform="slack")
    await store.interactions.open(question)
    await store.interactions.close(question.interaction_id, replied("earlier"))
    board = Board()
    board.posts[f"{question.interaction_id}:reply"] = "earlier"
    inbox = make_inbox(EchoDesk(), board=board)

    await inbox.start()
    await inbox.close()

    assert board.posted == 0
    assert await store.interactions.unfinished() == []


async def test_a_desk_that_breaks_becomes_an_escalation_without_the_exceptions_text(
    make_inbox: MakeInbox, store: Store
) -> None:
    async def broken(_: Message) -> Outcome:
        raise RuntimeError("password=hunter2")

    inbox = make_inbox(EchoDesk(broken))

    with capture_logs() as logs:
        outcome = await inbox.outcome(await inbox.accept(message("hello")))
        await inbox.close()

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.reason == "unavailable"
    assert outcome.response.text == f"{UNAVAILABLE} {OFFERED}"
    assert "hunter2" not in repr(outcome)
    assert any(line["event"] == "desk.failed" and line["exc_info"] for line in logs)
    kept = await store.interactions.get(message("hello").interaction_id)
    assert kept is not None
    assert kept.status == "done"


async def test_a_desk_that_hangs_is_given_up(make_inbox: MakeInbox) -> None:
    inbox = make_inbox(EchoDesk(Gate()), limits=Limits(deadline_seconds=0.05))

    outcome = await inbox.outcome(await inbox.accept(message("hello")))

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.reason == "unavailable"


async def test_each_request_leaves_one_line_in_the_log(make_inbox: MakeInbox) -> None:
    inbox = make_inbox(EchoDesk())

    with capture_logs() as logs:
        interaction_id = await inbox.accept(message("hello"))
        await inbox.outcome(interaction_id)
        await inbox.close()

    lines = [line for line in logs if line["event"] == "request.answered"]
    assert len(lines) == 1
    assert lines[0]["interaction_id"] == interaction_id
    assert lines[0]["duration_ms"] >= 0


async def test_an_edit_while_the_desk_works_is_answered_instead(
    make_inbox: MakeInbox, store: Store
) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    inbox = make_inbox(desk)
    question = message("old")
    interaction_id = await inbox.accept(question)
    await gate.reached.wait()

    await inbox.amend(replace(question, text="new"))
    gate.open()

    assert await inbox.outcome(interaction_id) == replied("You said: new")
    assert desk.handled == ["old", "new"]
    history = await store.interactions.history(question.thread, asked(9), 10)
    assert history[0] == Turn("user", "new")


async def test_an_edit_while_waiting_costs_one_run(make_inbox: MakeInbox) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    inbox = make_inbox(desk)
    await inbox.accept(asked(1))
    second = await inbox.accept(asked(2))
    await inbox.amend(replace(asked(2), text="edited"))
    gate.open()

    assert await inbox.outcome(second) == replied("You said: edited")
    assert desk.handled == ["question 1", "edited"]


async def test_an_edit_after_the_answer_changes_nothing(make_inbox: MakeInbox) -> None:
    desk = EchoDesk()
    inbox = make_inbox(desk)
    interaction_id = await inbox.accept(message("hello"))
    await inbox.outcome(interaction_id)

    await inbox.amend(message("later"))

    assert await inbox.outcome(interaction_id) == replied("You said: hello")
    assert desk.handled == ["hello"]


async def test_cancelling_stops_the_work_and_frees_the_thread(
    make_inbox: MakeInbox, store: Store
) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    inbox = make_inbox(desk)
    first, second = await inbox.accept(asked(1)), await inbox.accept(asked(2))
    waiter = asyncio.create_task(inbox.outcome(first))
    await gate.reached.wait()

    await inbox.cancel(first)
    gate.open()

    with pytest.raises(InteractionUnknown, match="cancelled"):
        await waiter
    with pytest.raises(InteractionUnknown, match="cancelled"):
        await inbox.outcome(first)
    assert await inbox.outcome(second) == replied("You said: question 2")
    kept = await store.interactions.get(first)
    assert kept is not None
    assert (kept.status, kept.message.text, kept.outcome) == ("cancelled", "", None)


async def test_cancelling_what_waits_keeps_it_from_the_desk(make_inbox: MakeInbox) -> None:
    gate = Gate()
    desk = EchoDesk(gate)
    inbox = make_inbox(desk)
    first, second = await inbox.accept(asked(1)), await inbox.accept(asked(2))
    await inbox.cancel(second)
    gate.open()
    await inbox.outcome(first)
    await inbox.close()

    assert desk.handled == ["question 1"]
    assert await inbox_refuses(inbox, second)


async def inbox_refuses(inbox: InProcessInbox, interaction_id: InteractionId) -> bool:
    with pytest.raises(InteractionUnknown):
        await inbox.outcome(interaction_id)
    return True


async def test_cancelling_an_answered_question_takes_the_reply_back(
    make_inbox: MakeInbox,
) -> None:
    board = Board()
    inbox = make_inbox(EchoDesk(), board=board)
    interaction_id = await inbox.accept(message("hello", platform="slack"))
    await inbox.close()
    assert board.posts

    await inbox.cancel(interaction_id)

    assert board.posts == {}


async def test_a_cancelled_message_is_not_taken_again(make_inbox: MakeInbox) -> None:
    desk = EchoDesk()
    inbox = make_inbox(desk)
    interaction_id = await inbox.accept(message("hello"))
    await inbox.outcome(interaction_id)
    await inbox.cancel(interaction_id)

    await inbox.accept(message("hello"))

    with pytest.raises(InteractionUnknown):
        await inbox.outcome(interaction_id)
    assert desk.handled == ["hello"]


async def test_nobody_knows_what_was_never_asked(make_inbox: MakeInbox) -> None:
    inbox = make_inbox(EchoDesk())

    with pytest.raises(InteractionUnknown, match=NOBODY):
        await inbox.outcome(NOBODY)
    with pytest.raises(InteractionUnknown, match=NOBODY):
        await inbox.cancel(NOBODY)


async def test_closing_waits_for_what_runs_and_takes_no_more(make_inbox: MakeInbox) -> None:
    gate = Gate()
    inbox = make_inbox(EchoDesk(gate), limits=Limits(drain_seconds=5))
    interaction_id = await inbox.accept(message("hello"))
    await gate.reached.wait()
    closing = asyncio.create_task(inbox.close())
    await asyncio.sleep(0)

    with pytest.raises(InboxUnavailable, match="next start"):
        await inbox.accept(asked(2))

    gate.open()
    await closing
    assert await inbox.outcome(interaction_id) == replied("You said: hello")


async def test_nobody_waits_for_what_was_left_at_the_end(make_inbox: MakeInbox) -> None:
    inbox = make_inbox(EchoDesk(Gate()), limits=Limits(drain_seconds=0))
    interaction_id = await inbox.accept(message("hello"))
    waiter = asyncio.create_task(inbox.outcome(interaction_id))
    await asyncio.sleep(0.01)

    await inbox.close()

    with pytest.raises(InboxUnavailable, match="next start"):
        await waiter


async def test_a_record_that_cannot_be_written_refuses_the_message(
    make_inbox: MakeInbox, store: Store
) -> None:
    inbox = make_inbox(EchoDesk())
    await break_record(store)

    with pytest.raises(InboxUnavailable, match="Send it again"):
        await inbox.accept(message("hello"))


async def test_a_record_that_breaks_during_the_work_leaves_nobody_waiting(
    make_inbox: MakeInbox, store: Store
) -> None:
    gate = Gate()
    inbox = make_inbox(EchoDesk(gate))
    interaction_id = await inbox.accept(message("hello"))
    waiter = asyncio.create_task(inbox.outcome(interaction_id))
    await gate.reached.wait()
    await break_record(store)
    gate.open()

    with capture_logs() as logs, pytest.raises(InboxUnavailable):
        await waiter
    assert any(line["event"] == "inbox.failed" for line in logs)


async def break_record(store: Store) -> None:
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE interactions RENAME TO gone")


async def test_hostile_text_is_kept_and_answered(make_inbox: MakeInbox, store: Store) -> None:
    text = "\x00'; DROP TABLE interactions; --\ud800 {{7*7}} \u202e" + "x" * 100_000
    inbox = make_inbox(EchoDesk())

    outcome = await inbox.outcome(await inbox.accept(message(text)))

    whole = text.replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    assert outcome == replied(f"You said: {whole}")
    kept = await store.interactions.get(message(text).interaction_id)
    assert kept is not None
    assert kept.message.text == whole


async def test_a_burst_over_many_threads_loses_and_repeats_nothing(
    make_inbox: MakeInbox, store: Store
) -> None:
    desk = EchoDesk()
    inbox = make_inbox(desk, limits=Limits(drain_seconds=30))
    messages = [asked(number, thread=f"t{number % 20}") for number in range(60)]

    await asyncio.gather(*(inbox.accept(item) for item in messages for _ in range(2)))
    await inbox.close()

    assert sorted(desk.handled) == sorted(item.text for item in messages)
    assert await store.interactions.unfinished() == []


async def test_what_another_process_answered_meanwhile_is_given_to_those_who_wait_here(
    make_inbox: MakeInbox,
) -> None:
    held = Gate()
    here, there = make_inbox(EchoDesk(held)), make_inbox(EchoDesk())
    await here.accept(asked(1))
    await held.reached.wait()
    waiting = asyncio.create_task(here.outcome(await here.accept(asked(2))))

    answered = await there.outcome(await there.accept(asked(2)))
    await there.close()
    held.open()

    assert await waiting == answered
