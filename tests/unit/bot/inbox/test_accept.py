"""Tests of the inbox: what is accepted is answered once, in order, and as edited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import InboxFull, InboxUnavailable, InteractionUnknown, StoreUnavailable
from bot.domain.handoff import HANDOFF_OFFER
from bot.domain.interactions import Escalation, Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Stage
from bot.domain.outcomes import UNAVAILABLE
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from bot.store.work import StoredWork
from tests.fakes.bot_ports import AnswerBarrier, EchoDesk, FakePlatform, generic_outcome
from tests.fakes.builders import activities, message
from tests.fakes.durable_inbox import (
    SOON,
    inbox_over,
    record_answer,
    running,
    stored_interaction,
    thread_exchanges,
    wait_for_interaction,
    wait_until_posted,
)

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")
PATIENT = replace(SOON, drain_seconds=10)
AT_ONCE = replace(SOON, drain_seconds=0)


def asked(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_an_accepted_question_is_answered(store: Store) -> None:
    async with running(inbox_over(store, limits=PATIENT)) as inbox:
        outcome = await inbox.outcome(await inbox.accept(message("hello")))

    assert outcome == generic_outcome("You said: hello")
    kept = await stored_interaction(store, message("hello").interaction_id)
    assert kept.outcome == outcome
    assert kept.posted is not None
    assert await store.interactions.stages(kept.id) == activities(
        Stage.RECEIVED, Stage.ROUTING, Stage.DONE
    )


async def test_a_message_is_kept_before_it_is_accepted(store: Store) -> None:
    async with running(inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=AT_ONCE)) as inbox:
        interaction_id = await inbox.accept(message("hello"))

        assert await store.interactions.get(interaction_id) is not None


async def test_the_same_message_is_answered_once(store: Store) -> None:
    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk)) as inbox:
        ids = await asyncio.gather(*(inbox.accept(message("hello")) for _ in range(30)))
        await inbox.outcome(ids[0])
        ids.append(await inbox.accept(message("hello")))
        again = await inbox.outcome(ids[-1])

    assert len(set(ids)) == 1
    assert again == generic_outcome("You said: hello")
    assert desk.handled == ["hello"]


async def test_a_message_delivered_again_waits_until_the_first_is_kept(
    store: Store,
) -> None:
    async with running(inbox_over(store)) as inbox:
        async with store.transactions.writing():
            first = asyncio.create_task(inbox.accept(message("hello")))
            again = asyncio.create_task(inbox.accept(message("hello")))
            await asyncio.sleep(0.05)
            assert not first.done()
            assert not again.done()

        assert await first == await again


async def test_a_message_is_kept_although_nobody_waited_for_it_any_longer(store: Store) -> None:
    async with running(inbox_over(store)) as inbox:
        async with store.transactions.writing():
            first = asyncio.create_task(inbox.accept(message("hello")))
            await asyncio.sleep(0.05)
            first.cancel()
            await asyncio.wait([first])

        interaction_id = await inbox.accept(message("hello"))
        outcome = await inbox.outcome(interaction_id)

    assert first.cancelled()
    assert outcome == generic_outcome("You said: hello")


async def test_a_message_delivered_again_is_kept_though_the_first_could_not_be(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = asyncio.Event()

    async def break_first(message: Message, owner: str) -> Interaction:
        if not broken.is_set():
            broken.set()
            await asyncio.sleep(0.05)
            raise StoreUnavailable("The disk is full.")
        return await StoredWork.open(store.work, message, owner)

    monkeypatch.setattr(store.work, "open", break_first)
    async with running(inbox_over(store)) as inbox:
        first = asyncio.create_task(inbox.accept(message("hello")))
        await broken.wait()
        again = [asyncio.create_task(inbox.accept(message("hello"))) for _ in range(3)]

        with pytest.raises(InboxUnavailable, match="disk is full"):
            await first
        assert {await each for each in again} == {message("hello").interaction_id}
        assert await inbox.outcome(again[0].result()) == generic_outcome("You said: hello")


async def test_a_question_answered_before_a_restart_is_not_asked_again(store: Store) -> None:
    async with running(inbox_over(store)) as first:
        await first.outcome(await first.accept(message("hello")))
    desk = EchoDesk()

    async with running(inbox_over(store, desk=desk)) as second:
        outcome = await second.outcome(await second.accept(message("hello")))

    assert outcome == generic_outcome("You said: hello")
    assert desk.handled == []


async def test_one_thread_is_answered_in_order_and_threads_at_once(store: Store) -> None:
    overtaken = asyncio.Event()

    async def slowly_first(question: Message) -> Outcome:
        if question.text == "question 0":
            await overtaken.wait()
        elif question.text == "question 5":
            overtaken.set()
        return generic_outcome("ok")

    desk = EchoDesk(slowly_first)
    async with running(inbox_over(store, desk=desk)) as inbox:
        ids = [await inbox.accept(asked(number, thread=f"t{number % 2}")) for number in range(8)]
        await asyncio.gather(*(inbox.outcome(interaction_id) for interaction_id in ids))

    even = [text for text in desk.finished if int(text[-1]) % 2 == 0]
    odd = [text for text in desk.finished if int(text[-1]) % 2]
    assert even == sorted(even)
    assert odd == sorted(odd)
    assert desk.finished[0] == "question 1"
    assert desk.finished.index("question 3") < desk.finished.index("question 0")


async def test_a_follow_up_sees_the_answer_before_it(store: Store) -> None:
    seen: list[list[tuple[str, str]]] = []

    async def look_back(question: Message) -> Outcome:
        seen.append(await thread_exchanges(store, question))
        return generic_outcome("ok")

    async with running(inbox_over(store, desk=EchoDesk(look_back))) as inbox:
        ids = [await inbox.accept(asked(number)) for number in range(2)]
        await inbox.outcome(ids[1])

    assert seen == [[], [("question 0", "ok")]]


async def test_no_more_is_done_at_once_than_allowed(store: Store) -> None:
    async def until_three(_: Message) -> Outcome:
        async with asyncio.timeout(60):
            while desk.most_busy < 3:  # noqa: ASYNC110 - they see each other only so
                await asyncio.sleep(0.01)
        return generic_outcome("ok")

    desk = EchoDesk(until_three)
    async with running(inbox_over(store, desk=desk, limits=WorkLimits(concurrency=3))) as inbox:
        ids = [await inbox.accept(asked(number, thread=f"t{number}")) for number in range(9)]
        await asyncio.gather(*(inbox.outcome(interaction_id) for interaction_id in ids))

    assert desk.most_busy == 3
    assert len(desk.handled) == 9


async def test_a_full_queue_refuses_and_keeps_nothing(store: Store) -> None:
    gate = AnswerBarrier()
    limits = WorkLimits(waiting=2, drain_seconds=1)
    async with running(inbox_over(store, desk=EchoDesk(gate), limits=limits)) as inbox:
        await inbox.accept(asked(1))
        await inbox.accept(asked(2))

        with pytest.raises(InboxFull, match="Ask again in a few minutes"):
            await inbox.accept(asked(3))

        assert await store.interactions.get(asked(3).interaction_id) is None
        assert await inbox.accept(asked(2)) == asked(2).interaction_id
        gate.open()
        await wait_until_posted(store, asked(2).interaction_id)
        await asyncio.sleep(0.05)
        assert await inbox.accept(asked(3)) == asked(3).interaction_id


async def test_a_burst_never_exceeds_the_queue(store: Store) -> None:
    limits = WorkLimits(waiting=5, drain_seconds=0)
    async with running(inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=limits)) as inbox:
        results = await asyncio.gather(
            *(inbox.accept(asked(number)) for number in range(30)), return_exceptions=True
        )

    assert sum(isinstance(result, str) for result in results) == 5
    assert sum(isinstance(result, InboxFull) for result in results) == 25
    assert len(await store.work.unfinished()) == 5


async def test_after_a_crash_a_new_process_answers_what_was_accepted(store: Store) -> None:
    async with running(
        inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=AT_ONCE)
    ) as crashed:
        ids = [await crashed.accept(asked(number)) for number in range(3)]
    assert len(await store.work.unfinished()) == 3

    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk, limits=PATIENT)) as resumed:
        outcomes = [await resumed.outcome(interaction_id) for interaction_id in ids]

    assert outcomes == [generic_outcome(f"You said: question {number}") for number in range(3)]
    assert desk.handled == ["question 0", "question 1", "question 2"]
    assert await store.work.unfinished() == []


async def test_an_outcome_that_was_not_posted_is_posted_without_asking_again(
    store: Store,
) -> None:
    question = message("hello", platform="slack")
    await record_answer(store, question, "earlier")
    desk, board = EchoDesk(), FakePlatform()

    async with running(inbox_over(store, desk=desk, channels={"slack": board}, limits=PATIENT)):
        await wait_until_posted(store, question.interaction_id)

    assert desk.handled == []
    assert list(board.posts.values()) == ["earlier"]


async def test_a_reply_posted_before_a_crash_is_not_posted_again(store: Store) -> None:
    question = message("hello", platform="slack")
    await record_answer(store, question, "earlier")
    board = FakePlatform()
    board.posts[f"{question.interaction_id}:reply"] = "earlier"

    async with running(inbox_over(store, channels={"slack": board}, limits=PATIENT)):
        await wait_until_posted(store, question.interaction_id)

    assert board.posted == 0
    assert await store.work.unfinished() == []


async def test_a_desk_that_breaks_becomes_an_escalation_without_the_exceptions_text(
    store: Store,
) -> None:
    async def broken(_: Message) -> Outcome:
        raise RuntimeError("password=hunter2")

    with capture_logs() as logs:
        async with running(inbox_over(store, desk=EchoDesk(broken))) as inbox:
            outcome = await inbox.outcome(await inbox.accept(message("hello")))

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.reason == "unavailable"
    assert outcome.response.text == f"{UNAVAILABLE} {HANDOFF_OFFER}"
    assert "hunter2" not in repr(outcome)
    assert any(line["event"] == "desk.failed" and line["exc_info"] for line in logs)
    assert (await stored_interaction(store, message("hello").interaction_id)).status == "done"


async def test_a_desk_that_hangs_is_given_up(store: Store) -> None:
    limits = WorkLimits(deadline_seconds=0.05)
    async with running(inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=limits)) as inbox:
        outcome = await inbox.outcome(await inbox.accept(message("hello")))

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.reason == "unavailable"


async def test_each_request_leaves_one_line_in_the_log(store: Store) -> None:
    with capture_logs() as logs:
        async with running(inbox_over(store, limits=PATIENT)) as inbox:
            interaction_id = await inbox.accept(message("hello"))
            await inbox.outcome(interaction_id)

    lines = [line for line in logs if line["event"] == "request.answered"]
    assert len(lines) == 1
    assert lines[0]["interaction_id"] == interaction_id
    assert lines[0]["duration_ms"] >= 0


async def test_a_cancelled_message_is_not_taken_again(store: Store) -> None:
    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk)) as inbox:
        interaction_id = await inbox.accept(message("hello"))
        await inbox.outcome(interaction_id)
        await inbox.cancel(interaction_id)
        await wait_for_interaction(store, interaction_id, lambda kept: kept.status == "cancelled")

        await inbox.accept(message("hello"))

        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await inbox.outcome(interaction_id)
    assert desk.handled == ["hello"]


async def test_nobody_knows_what_was_never_asked(store: Store) -> None:
    async with running(inbox_over(store)) as inbox:
        with pytest.raises(InteractionUnknown, match=NOBODY):
            await inbox.outcome(NOBODY)
        with pytest.raises(InteractionUnknown, match=NOBODY):
            await inbox.cancel(NOBODY)


async def test_closing_waits_for_what_runs_and_takes_no_more(store: Store) -> None:
    gate = AnswerBarrier()
    opened = inbox_over(store, desk=EchoDesk(gate), limits=WorkLimits(drain_seconds=5))
    await opened.supervisor.start()
    interaction_id = await opened.inbox.accept(message("hello"))
    await gate.reached.wait()
    closing = asyncio.create_task(opened.supervisor.stop())
    await asyncio.sleep(0)

    with pytest.raises(InboxUnavailable, match=r"stopping\. Send it again"):
        await opened.inbox.accept(asked(2))

    gate.open()
    await closing
    assert await opened.inbox.outcome(interaction_id) == generic_outcome("You said: hello")


async def test_nobody_waits_for_what_was_left_at_the_end(store: Store) -> None:
    async with running(inbox_over(store, desk=EchoDesk(AnswerBarrier()), limits=AT_ONCE)) as inbox:
        interaction_id = await inbox.accept(message("hello"))
        waiter = asyncio.create_task(inbox.outcome(interaction_id))
        await asyncio.sleep(0.01)

    with pytest.raises(InboxUnavailable, match="when the server runs again"):
        await asyncio.wait_for(waiter, 60)


async def test_a_record_that_cannot_be_written_refuses_the_message(store: Store) -> None:
    async with running(inbox_over(store)) as inbox:
        await rename(store, "interactions", "gone")

        with pytest.raises(InboxUnavailable, match="Send it again"):
            await inbox.accept(message("hello"))


async def rename(store: Store, table: str, name: str) -> None:
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {name}")


async def test_a_record_that_breaks_during_the_work_is_written_when_it_is_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._FIRST_PAUSE_SECONDS", 0.05)
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    with capture_logs() as logs:
        async with running(inbox_over(store, desk=desk)) as inbox:
            waiter = asyncio.create_task(inbox.outcome(await inbox.accept(message("hello"))))
            await gate.reached.wait()
            await rename(store, "turns", "gone")
            gate.open()
            await asyncio.sleep(0.2)
            assert not waiter.done()
            await rename(store, "gone", "turns")

            assert await waiter == generic_outcome("You said: hello")

    assert {line["error"] for line in logs if line["event"] == "work.postponed"} == {
        "StoreUnavailable"
    }
    assert set(desk.handled) == {"hello"}


async def test_hostile_text_is_kept_and_answered(store: Store) -> None:
    text = "\x00'; DROP TABLE interactions; --\ud800 {{7*7}} \u202e" + "x" * 100_000
    async with running(inbox_over(store)) as inbox:
        outcome = await inbox.outcome(await inbox.accept(message(text)))

    whole = text.replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    assert outcome == generic_outcome(f"You said: {whole}")
    assert (await stored_interaction(store, message(text).interaction_id)).message.text == whole


async def test_a_burst_over_many_threads_loses_and_repeats_nothing(store: Store) -> None:
    desk = EchoDesk()
    messages = [asked(number, thread=f"t{number % 20}") for number in range(60)]
    async with running(inbox_over(store, desk=desk, limits=WorkLimits(drain_seconds=30))) as inbox:
        await asyncio.gather(*(inbox.accept(item) for item in messages for _ in range(2)))

    assert sorted(desk.handled) == sorted(item.text for item in messages)
    assert await store.work.unfinished() == []


def edited_question(number: int) -> Message:
    return message(f"question {number}", message_id=f"m{number}")


async def test_an_edit_while_the_desk_works_is_answered_instead(store: Store) -> None:
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    question = message("old")
    async with running(inbox_over(store, desk=desk)) as inbox:
        interaction_id = await inbox.accept(question)
        await gate.reached.wait()

        await inbox.amend(replace(question, text="new"))
        gate.open()

        assert await inbox.outcome(interaction_id) == generic_outcome("You said: new")
    assert desk.handled == ["old", "new"]
    assert await thread_exchanges(store, edited_question(9)) == [("new", "You said: new")]


async def test_an_edit_while_waiting_is_answered_alone(store: Store) -> None:
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk)) as inbox:
        await inbox.accept(edited_question(1))
        second = await inbox.accept(edited_question(2))
        await inbox.amend(replace(edited_question(2), text="edited"))
        gate.open()

        assert await inbox.outcome(second) == generic_outcome("You said: edited")
    assert desk.handled == ["question 1", "edited"]


async def test_an_edit_after_the_answer_changes_nothing(store: Store) -> None:
    desk = EchoDesk()
    async with running(inbox_over(store, desk=desk)) as inbox:
        interaction_id = await inbox.accept(message("hello"))
        await inbox.outcome(interaction_id)

        await inbox.amend(message("later"))

        assert await inbox.outcome(interaction_id) == generic_outcome("You said: hello")
    assert desk.handled == ["hello"]


async def test_cancelling_stops_the_work_and_frees_the_thread(store: Store) -> None:
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk)) as inbox:
        first, second = (
            await inbox.accept(edited_question(1)),
            await inbox.accept(edited_question(2)),
        )
        waiter = asyncio.create_task(inbox.outcome(first))
        await gate.reached.wait()

        await inbox.cancel(first)
        gate.open()

        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await waiter
        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await inbox.outcome(first)
        assert await inbox.outcome(second) == generic_outcome("You said: question 2")
    kept = await stored_interaction(store, first)
    assert (kept.status, kept.message.text, kept.outcome) == ("cancelled", "", None)


async def test_cancelling_what_waits_keeps_it_from_the_desk(store: Store) -> None:
    gate = AnswerBarrier()
    desk = EchoDesk(gate)
    async with running(inbox_over(store, desk=desk, limits=PATIENT)) as inbox:
        first, second = (
            await inbox.accept(edited_question(1)),
            await inbox.accept(edited_question(2)),
        )
        await inbox.cancel(second)
        gate.open()
        await inbox.outcome(first)
        await wait_for_interaction(store, second, lambda kept: kept.status == "cancelled")

        with pytest.raises(InteractionUnknown, match="withdrawn"):
            await inbox.outcome(second)
    assert desk.handled == ["question 1"]


async def test_cancelling_an_answered_question_takes_the_reply_back(store: Store) -> None:
    board = FakePlatform()
    async with running(inbox_over(store, channels={"slack": board})) as inbox:
        interaction_id = await inbox.accept(message("hello", platform="slack"))
        await wait_until_posted(store, interaction_id)
        assert board.posts

        await inbox.cancel(interaction_id)
        await wait_for_interaction(store, interaction_id, lambda kept: kept.status == "cancelled")

    assert board.posts == {}


BACKLOG = 40
LATER = message("Is it Monday?", message_id="m2", platform="slack")
ASKED = message("Is it Friday?", message_id="m1", platform="slack")

Waited = Callable[[Store], Awaitable[object]]

WAITED: dict[str, Waited] = {
    "accepted": lambda store: store.work.open(LATER, "here"),
    "edited": lambda store: store.work.amend(replace(ASKED, text="Is it Sunday?")),
    "withdrawn": lambda store: store.work.cancel(ASKED.interaction_id),
}


@pytest.mark.parametrize("waited", WAITED.values(), ids=WAITED)
async def test_no_message_is_held_up_by_what_is_taken_up(waited: Waited, store: Store) -> None:
    await store.work.open(ASKED, "dead")
    done: list[str] = []

    async def noted(name: str, work: Awaitable[object]) -> None:
        await work
        done.append(name)

    taken_up = (noted("work", store.work.get(ASKED.interaction_id)) for _ in range(BACKLOG))
    await asyncio.gather(*taken_up, noted("message", waited(store)))

    assert done.index("message") <= BACKLOG // 4
