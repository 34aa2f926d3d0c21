from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Escalation, Feedback, Outcome, PostedRef, Reply
from bot.domain.messages import Activity, InteractionId, Message, Refusal, Stage, Thread
from bot.domain.outcomes import WITHOUT_TEXT, refused_outcome
from bot.domain.record_search import QuestionQuery
from bot.store.database import Store, open_store, sqlite_url
from tests.bot.fakes import replied
from tests.bot.recorded import answered, spoken
from tests.builders import NOON, activities, message

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_private_replies_never_enter_the_history(store: Store) -> None:
    asked = message("pay?")
    outcome = Outcome(
        response=replied("Ask HR.").response,
        trace=replied("").trace,
        private=Reply("Your pay is secret", tone="answer"),
    )
    await answered(store, asked, outcome)

    assert await spoken(store, numbered(2)) == [("pay?", "Ask HR.")]
    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert kept.outcome == outcome


async def test_what_is_left_alone_is_recorded_whole_and_is_no_part_of_the_talk(
    store: Store,
) -> None:
    asked = replace(message("vpn?", private=False), overheard=True)
    response = Escalation("No.", "low_confidence", "vpn?", confidence=0.3)
    outcome = Outcome(
        response, replied("").trace, silent=True, remarks=("I could not read plan.docx.",)
    )
    await answered(store, asked, outcome)

    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert (kept.status, kept.outcome) == ("done", outcome)
    assert kept.message.overheard
    assert await store.interactions.history(asked.thread, numbered(2), 10) == []
    assert await store.escalations.get("default", asked.interaction_id) is None
    query = QuestionQuery(answer_type="SILENT")
    found = (await store.searches.questions("default", query, limit=5)).items
    assert [each.id for each in found] == [asked.interaction_id]


@pytest.mark.mended(id="attack-10")
async def test_what_is_refused_without_its_text_is_no_part_of_the_talk(store: Store) -> None:
    await answered(store, numbered(1), "yes")
    for number, note in enumerate(sorted(WITHOUT_TEXT), start=2):
        refusal = Refusal("Later.", note.removeprefix("limit:"))
        await answered(store, numbered(number), refused_outcome(numbered(number), refusal))

    assert await spoken(store, numbered(9)) == [("question 1", "yes")]


async def test_history_is_what_came_before_in_the_same_thread(store: Store) -> None:
    for number in range(5):
        await answered(store, numbered(number), f"answer {number}")
    await answered(store, numbered(9, thread="t2"), "elsewhere")

    assert await spoken(store, numbered(3), 2) == [
        ("question 1", "answer 1"),
        ("question 2", "answer 2"),
    ]


async def test_history_of_another_tenant_stays_there(store: Store) -> None:
    await answered(store, message("hi"), "hello")
    elsewhere = replace(message("hi").thread, tenant="other")

    assert await store.interactions.history(elsewhere, numbered(1), 10) == []
    assert await store.interactions.in_thread(elsewhere, 10) == []


async def test_threads_whose_parts_join_alike_are_not_mixed_up(store: Store) -> None:
    one = Thread("web", "t", "a:b", "c")
    other = Thread("web", "t", "a", "b:c")
    await answered(store, replace(message("hi"), thread=one), "hello")

    assert await store.interactions.history(other, numbered(1), 10) == []


async def test_a_thread_lists_its_last_interactions_oldest_first(store: Store) -> None:
    for number in range(4):
        await answered(store, numbered(number), "ok")
    await store.work.cancel(numbered(2).interaction_id)

    listed = await store.interactions.in_thread(numbered(0).thread, 2)

    assert [item.message.text for item in listed] == ["question 1", "question 3"]


async def test_a_reply_is_found_where_it_was_posted(store: Store) -> None:
    asked = message("hi")
    await answered(store, asked, "hello")
    await store.work.posted(asked.interaction_id, PostedRef("C1", "17.5"))

    found = await store.interactions.find_posted("default", PostedRef("C1", "17.5"))

    assert found is not None
    assert found.id == asked.interaction_id
    assert found.posted == PostedRef("C1", "17.5")
    assert await store.interactions.find_posted("other", PostedRef("C1", "17.5")) is None
    assert await store.interactions.find_posted("default", PostedRef("C1", "17.6")) is None


async def test_stages_are_numbered_from_one_and_read_from_any_number(store: Store) -> None:
    asked = message("hi").interaction_id
    await store.work.open(message("hi"), "me")
    for stage in (Stage.RECEIVED, Stage.ROUTING, Stage.DONE):
        await store.work.stage(asked, Activity(stage))

    assert await store.interactions.stages(asked) == activities(
        Stage.RECEIVED, Stage.ROUTING, Stage.DONE
    )
    assert await store.interactions.stages(asked, 2) == activities(Stage.DONE)


async def test_stages_reported_at_once_are_all_kept(store: Store) -> None:
    asked = message("hi").interaction_id
    await store.work.open(message("hi"), "me")

    await asyncio.gather(*(store.work.stage(asked, Activity(Stage.READING, 4)) for _ in range(20)))

    assert await store.interactions.stages(asked) == [Activity(Stage.READING, 4)] * 20


async def test_the_stage_of_nothing_is_nothing(store: Store) -> None:
    await store.work.stage(NOBODY, Activity(Stage.READING))

    assert await store.interactions.stages(NOBODY) == []


def judged(asked: Message, vote: str, *, comment: str | None = None) -> Feedback:
    return Feedback(
        asked.interaction_id, "anna", "up" if vote == "up" else "down", NOON, 4, "wrong", comment
    )


async def test_a_later_judgement_of_the_same_person_replaces_the_first(store: Store) -> None:
    asked = message("hi")
    await answered(store, asked, "hello")
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


async def test_who_looks_at_a_question_waits_for_one_piece_of_work_at_most(
    tmp_path: Path,
) -> None:
    store = await open_store(sqlite_url(tmp_path))
    done: list[str] = []

    async def work() -> None:
        async with store.transactions.writing():
            done.append("work")

    async def look() -> None:
        await store.interactions.get(NOBODY)
        await store.interactions.stages(NOBODY)
        done.append("look")

    async with store.transactions.writing():
        waiting = [asyncio.create_task(each()) for each in (work, work, work, look)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    await store.close()

    assert done.index("look") <= 1
