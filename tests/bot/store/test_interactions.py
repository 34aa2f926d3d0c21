from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.errors import InteractionUnknown
from bot.store import Store
from bot.types import Feedback, InteractionId, Message, Outcome, PostedRef, Reply, Stage, Thread
from rag.types import Turn
from tests.bot.fakes import replied
from tests.builders import NOON, message

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")


async def answer(store: Store, asked: Message, text: str) -> None:
    await store.interactions.open(asked)
    await store.interactions.close(asked.interaction_id, replied(text))


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_what_is_opened_is_kept_as_it_came(store: Store) -> None:
    asked = message("Where is \x00 the VPN? 🔑")

    opened = await store.interactions.open(asked)

    assert opened.message == asked
    assert opened.status == "working"
    assert abs((datetime.now(UTC) - opened.created_at).total_seconds()) < 60
    assert await store.interactions.get(asked.interaction_id) == opened


async def test_opening_twice_keeps_the_first(store: Store) -> None:
    first = await store.interactions.open(message("first"))

    again = await store.interactions.open(message("second"))

    assert again == first


async def test_opening_the_same_message_at_once_makes_one_row(store: Store) -> None:
    opened = await asyncio.gather(*(store.interactions.open(message("hi")) for _ in range(50)))

    assert len({interaction.created_at for interaction in opened}) == 1
    assert len(await store.interactions.unfinished()) == 1


async def test_an_outcome_is_recorded_once(store: Store) -> None:
    asked = message("hi")
    await answer(store, asked, "first")
    await store.interactions.close(asked.interaction_id, replied("second"))

    kept = await store.interactions.get(asked.interaction_id)

    assert kept is not None
    assert kept.outcome == replied("first")
    assert kept.status == "done"
    assert kept.finished_at is not None
    assert await store.interactions.history(asked.thread, numbered(2), 10) == (
        Turn("user", "hi"),
        Turn("assistant", "first"),
    )


async def test_closing_what_was_never_opened_is_an_error(store: Store) -> None:
    with pytest.raises(InteractionUnknown, match=NOBODY):
        await store.interactions.close(NOBODY, replied("?"))


async def test_private_replies_never_enter_the_history(store: Store) -> None:
    asked = message("pay?")
    outcome = Outcome(
        response=replied("Ask HR.").response,
        trace=replied("").trace,
        private=Reply("Your pay is secret", tone="answer"),
    )
    await store.interactions.open(asked)
    await store.interactions.close(asked.interaction_id, outcome)

    turns = await store.interactions.history(asked.thread, numbered(2), 10)

    assert [turn.text for turn in turns] == ["pay?", "Ask HR."]
    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert kept.outcome == outcome


async def test_history_is_what_came_before_in_the_same_thread(store: Store) -> None:
    for number in range(5):
        await answer(store, numbered(number), f"answer {number}")
    await answer(store, numbered(9, thread="t2"), "elsewhere")

    turns = await store.interactions.history(numbered(3).thread, numbered(3), 4)

    assert turns == (
        Turn("user", "question 1"),
        Turn("assistant", "answer 1"),
        Turn("user", "question 2"),
        Turn("assistant", "answer 2"),
    )


async def test_history_of_another_tenant_stays_there(store: Store) -> None:
    await answer(store, message("hi"), "hello")
    elsewhere = replace(message("hi").thread, tenant="other")

    assert await store.interactions.history(elsewhere, numbered(1), 10) == ()
    assert await store.interactions.in_thread(elsewhere, 10) == []


async def test_threads_whose_parts_join_alike_are_not_mixed_up(store: Store) -> None:
    one = Thread("web", "t", "a:b", "c")
    other = Thread("web", "t", "a", "b:c")
    await answer(store, replace(message("hi"), thread=one), "hello")

    assert await store.interactions.history(other, numbered(1), 10) == ()


async def test_a_thread_lists_its_last_interactions_oldest_first(store: Store) -> None:
    for number in range(4):
        await answer(store, numbered(number), "ok")
    await store.interactions.cancel(numbered(2).interaction_id)

    listed = await store.interactions.in_thread(numbered(0).thread, 2)

    assert [item.message.text for item in listed] == ["question 1", "question 3"]


async def test_an_edited_message_replaces_the_first_until_it_is_answered(store: Store) -> None:
    asked = message("frist")
    await store.interactions.open(asked)

    assert await store.interactions.amend(replace(asked, text="first"))
    await store.interactions.close(asked.interaction_id, replied("ok"))
    assert not await store.interactions.amend(replace(asked, text="too late"))

    turns = await store.interactions.history(asked.thread, numbered(2), 10)
    assert turns[0] == Turn("user", "first")


async def test_editing_what_was_never_asked_changes_nothing(store: Store) -> None:
    assert not await store.interactions.amend(message("hello"))
    assert await store.interactions.get(message("hello").interaction_id) is None


async def test_cancelling_forgets_every_text(store: Store) -> None:
    asked = replace(message("my secret"), reply_to="token")
    await answer(store, asked, "your secret")
    await store.interactions.rate(judged(asked, "up", comment="secret too"))

    await store.interactions.cancel(asked.interaction_id)

    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert kept.status == "cancelled"
    assert kept.outcome is None
    assert (kept.message.text, kept.message.reply_to) == ("", "")
    assert await store.interactions.history(asked.thread, numbered(2), 10) == ()
    assert await store.interactions.feedback(asked.interaction_id) == []


async def test_what_is_cancelled_takes_no_outcome(store: Store) -> None:
    asked = message("hi")
    await store.interactions.open(asked)
    await store.interactions.cancel(asked.interaction_id)

    await store.interactions.close(asked.interaction_id, replied("too late"))

    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert (kept.status, kept.outcome) == ("cancelled", None)
    assert await store.interactions.history(asked.thread, numbered(2), 10) == ()


async def test_unfinished_is_what_has_no_outcome_or_was_not_posted(store: Store) -> None:
    record = store.interactions
    for number in range(5):
        await record.open(numbered(number))
    await record.close(numbered(0).interaction_id, replied("posted"))
    await record.posted(numbered(0).interaction_id, PostedRef("C1", "1"))
    await record.close(numbered(1).interaction_id, replied("not posted"))
    await record.fail(numbered(3).interaction_id)
    await record.cancel(numbered(4).interaction_id)

    left = await record.unfinished()

    assert [item.message.text for item in left] == ["question 1", "question 2"]


async def test_a_reply_is_found_where_it_was_posted(store: Store) -> None:
    asked = message("hi")
    await answer(store, asked, "hello")
    await store.interactions.posted(asked.interaction_id, PostedRef("C1", "17.5"))

    found = await store.interactions.find_posted("default", PostedRef("C1", "17.5"))

    assert found is not None
    assert found.id == asked.interaction_id
    assert found.posted == PostedRef("C1", "17.5")
    assert await store.interactions.find_posted("other", PostedRef("C1", "17.5")) is None
    assert await store.interactions.find_posted("default", PostedRef("C1", "17.6")) is None


async def test_stages_are_numbered_from_one_and_read_from_any_number(store: Store) -> None:
    asked = message("hi").interaction_id
    await store.interactions.open(message("hi"))
    for stage in (Stage.RECEIVED, Stage.ROUTING, Stage.DONE):
        await store.interactions.stage(asked, stage)

    assert await store.interactions.stages(asked) == [Stage.RECEIVED, Stage.ROUTING, Stage.DONE]
    assert await store.interactions.stages(asked, 2) == [Stage.DONE]


async def test_stages_reported_at_once_are_all_kept(store: Store) -> None:
    asked = message("hi").interaction_id
    await store.interactions.open(message("hi"))

    await asyncio.gather(*(store.interactions.stage(asked, Stage.READING) for _ in range(20)))

    assert len(await store.interactions.stages(asked)) == 20


async def test_the_stage_of_nothing_is_nothing(store: Store) -> None:
    await store.interactions.stage(NOBODY, Stage.READING)

    assert await store.interactions.stages(NOBODY) == []


def judged(asked: Message, vote: str, *, comment: str | None = None) -> Feedback:
    return Feedback(
        asked.interaction_id, "anna", "up" if vote == "up" else "down", NOON, 4, "wrong", comment
    )


async def test_a_later_judgement_of_the_same_person_replaces_the_first(store: Store) -> None:
    asked = message("hi")
    await answer(store, asked, "hello")
    await store.interactions.rate(judged(asked, "up", comment="great"))
    await store.interactions.rate(judged(asked, "down"))
    other = replace(judged(asked, "up"), person_id="ben")
    await store.interactions.rate(other)

    assert await store.interactions.feedback(asked.interaction_id) == [judged(asked, "down"), other]

    await store.interactions.unrate(asked.interaction_id, "anna")
    await store.interactions.unrate(asked.interaction_id, "anna")
    assert await store.interactions.feedback(asked.interaction_id) == [other]


async def test_nobody_can_judge_what_was_never_asked(store: Store) -> None:
    with pytest.raises(InteractionUnknown):
        await store.interactions.rate(judged(message("hi"), "up"))
