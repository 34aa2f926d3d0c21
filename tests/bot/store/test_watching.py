"""A conversation at a glance, on both databases."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.cases import Actor
from bot.domain.interactions import Escalation, Outcome, Trace
from bot.domain.messages import Activity, Intent, Message, Stage
from bot.domain.record_search import InteractionGlance
from bot.store.database import Store
from tests.bot.recorded import OWNER, answered
from tests.builders import message, route

TRACE = Trace(route=route(Intent.HUMAN, "a person, please"))
HANDED = Outcome(Escalation("Of course.", "asked_for_human", "a person, please"), TRACE)


def numbered(number: int) -> Message:
    return message(f"question {number}", message_id=f"m{number}")


async def test_each_question_has_its_last_stage_and_its_case(store: Store) -> None:
    await answered(store, numbered(1), "one")
    await answered(store, numbered(2), HANDED)
    working = await store.work.open(numbered(3), OWNER)
    await store.work.stage(working.id, Activity(Stage.RECEIVED), Activity(Stage.READING, 4))
    case = await store.escalations.get("default", numbered(2).interaction_id)
    assert case is not None

    assert await store.watching.thread(numbered(1).thread, 10) == [
        InteractionGlance(numbered(1).interaction_id, "done", Stage.DONE),
        InteractionGlance(numbered(2).interaction_id, "done", Stage.DONE, "open", case.version),
        InteractionGlance(working.id, "working", Stage.READING, pages=4),
    ]


async def test_an_act_on_a_case_is_seen(store: Store) -> None:
    await answered(store, numbered(1), HANDED)
    (before,) = await store.watching.thread(numbered(1).thread, 10)

    anna = Actor("anna-it", "Anna Lopez", "expert")
    await store.escalations.act("default", numbered(1).interaction_id, "claim", anna)

    (now,) = await store.watching.thread(numbered(1).thread, 10)
    assert now.case_state == "claimed"
    assert now.case_version > before.case_version


async def test_a_withdrawn_question_is_seen_as_withdrawn_and_without_its_case(
    store: Store,
) -> None:
    await answered(store, numbered(1), HANDED)

    await store.work.cancel(numbered(1).interaction_id)

    (glance,) = await store.watching.thread(numbered(1).thread, 10)
    assert glance.status in {"cancelling", "cancelled"}
    assert glance.case_state is None


async def test_only_the_last_ones_of_the_thread_itself_are_looked_at(store: Store) -> None:
    for number in range(3):
        await store.work.open(numbered(number), OWNER)
    thread = numbered(0).thread

    last = await store.watching.thread(thread, 2)

    assert [each.id for each in last] == [numbered(n).interaction_id for n in (1, 2)]
    assert await store.watching.thread(replace(thread, tenant="other"), 2) == []
    assert await store.watching.thread(replace(thread, channel="ben"), 2) == []
