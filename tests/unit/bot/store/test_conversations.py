"""Tests of the lists of conversations and of what one person asked before."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Select, insert, select, text

from bot.domain.cases import Actor
from bot.domain.interactions import Escalation, Outcome, Reply, Trace
from bot.domain.messages import Activity, Intent, Message, Stage, Thread
from bot.domain.record_search import InteractionGlance
from bot.store import interactions as statements
from bot.store.database import Store
from bot.store.rows import Rows
from bot.store.tables import ConversationRow, InteractionRow, ProgressRow
from tests.fakes.builders import NOON, message, route
from tests.fakes.durable_inbox import OWNER, record_answer
from tests.fakes.record_rows import add_all, conversation_rows, interaction_rows

ANNA = Thread("web", "default", "anna", "")
P7 = Thread("web", "default", "p7", "")
ANSWER = Outcome(Reply("Here.", "found"), Trace(route=route(Intent.DOMAIN, "x")))


async def ask(store: Store, question: str, *, thread: str = "t1", channel: str = "anna") -> str:
    """Keep a question and its answer; return its id."""
    asked = message(question, message_id=f"{thread}-{question}", channel=channel, thread=thread)
    opened = await store.work.open(asked, "me")
    await store.work.close(opened, ANSWER, last=True)
    return opened.id


async def titles(store: Store, place: Thread = ANNA, **more: object) -> list[str]:
    found = await store.threads.newest(place, 10, **more)  # type: ignore[arg-type]  # one test's own
    return [each.question for each in found]


async def found(store: Store, words: str, place: Thread = ANNA) -> list[str]:
    return [each.question for each in await store.threads.matching(place, words, 10)]


async def test_a_conversation_has_its_first_question_and_the_newest_is_first(
    store: Store,
) -> None:
    await ask(store, "vpn?", thread="t1")
    await ask(store, "travel?", thread="t2")
    await ask(store, "and the vpn at home?", thread="t1")

    first, second = await store.threads.newest(ANNA, 10)

    assert (first.id, first.question) == ("t1", "vpn?")
    assert (second.id, second.question) == ("t2", "travel?")
    assert first.last_at > second.last_at


async def test_nobody_elses_conversations_are_listed_or_found(store: Store) -> None:
    await ask(store, "vpn for ben?", channel="ben")
    other_tenant = Thread("web", "other", "ben", "")
    other_platform = Thread("slack", "default", "ben", "")

    for place in (ANNA, other_tenant, other_platform):
        assert await titles(store, place) == []
        assert await found(store, "vpn", place) == []


async def test_a_withdrawn_question_names_nothing_and_empty_ones_are_gone(
    store: Store,
) -> None:
    first = await ask(store, "secret?")
    await ask(store, "vpn?")
    only = await ask(store, "also secret?", thread="t2")

    await store.work.cancel(first)  # type: ignore[arg-type]  # made by the store
    await store.work.cancel(only)  # type: ignore[arg-type]  # made by the store

    assert await titles(store) == ["vpn?"]
    assert await found(store, "secret") == []


async def test_pages_leave_nothing_out_and_repeat_nothing(store: Store) -> None:
    rows = []
    for number in range(7):
        thread = message("x", thread=f"t{number}").thread
        asked = Rows().message(message(f"q{number}", thread=thread.id))
        rows += conversation_rows(thread.key, last_at=NOON + timedelta(seconds=number // 3))
        rows += interaction_rows(f"i{number}", thread=thread.key, message=asked)
    await add_all(store, rows)

    seen: list[str] = []
    page = await store.threads.newest(ANNA, 3)
    while page:
        seen += [each.question for each in page]
        page = await store.threads.newest(ANNA, 3, page[-1].id)

    assert seen == ["q6", "q5", "q4", "q3", "q2", "q1", "q0"]


async def test_pages_of_what_was_found_leave_nothing_out_and_repeat_nothing(store: Store) -> None:
    for number in range(5):
        await ask(store, f"vpn {number}?")

    seen: list[str] = []
    page = await store.threads.matching(ANNA, "vpn", 2)
    while page:
        seen += [each.question for each in page]
        page = await store.threads.matching(ANNA, "vpn", 2, page[-1].id)

    assert seen == [f"vpn {number}?" for number in reversed(range(5))]


async def test_after_a_conversation_that_is_not_theirs_comes_nothing(store: Store) -> None:
    await ask(store, "vpn?")
    await ask(store, "x", channel="ben", thread="bens")

    assert await titles(store, after="bens") == []
    assert await store.threads.matching(ANNA, "vpn", 10, "nothing") == []


@pytest.mark.parametrize(
    "words", ["Überstunden", "überstunden", "ÜBERSTUNDEN", "wer über", "100%", "über  genehmigt"]
)
async def test_a_question_is_found_by_all_its_words_in_any_case(store: Store, words: str) -> None:
    await ask(store, "Wer genehmigt Überstunden über 100%?")
    await ask(store, "1000 Stunden?", thread="t2")

    assert await found(store, words) == ["Wer genehmigt Überstunden über 100%?"]


@pytest.mark.parametrize("words", ["", "  ", "travel", "wer travel", "_", "\x00"])
async def test_what_is_not_in_a_question_is_not_found(store: Store, words: str) -> None:
    await ask(store, "Wer genehmigt Überstunden?")

    assert await found(store, words) == []


async def test_a_question_that_was_found_tells_where_it_is(store: Store) -> None:
    asked = await ask(store, "vpn?", thread="a:b/c")

    (one,) = await store.threads.matching(ANNA, "vpn", 10)

    assert (one.id, one.thread) == (asked, "a:b/c")
    assert one.asked_at.tzinfo is not None


async def test_the_questions_of_a_conversation_are_all_and_only_its_own(store: Store) -> None:
    own = [await ask(store, each) for each in ("one?", "two?", "three?")]
    await ask(store, "other?", thread="t2")
    await store.work.cancel(own[1])  # type: ignore[arg-type]  # made by the store

    kept = await store.threads.questions(Thread("web", "default", "anna", "t1"))

    assert kept == [own[0], own[2]]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (statements.select_threads(P7, 30, None), "ix_conversations_channel"),
        (statements.select_threads(P7, 30, "7-3"), "ix_conversations_channel"),
        (statements.select_matching_questions(P7, "vpn", 30, None), "ix_interactions_channel"),
        (
            statements.select_question_ids(Thread("web", "default", "p7", "7-3")),
            "ix_interactions_thread",
        ),
    ],
)
async def test_an_index_serves_it(store: Store, statement: Select[str], index: str) -> None:
    await fill(store)

    plan = await plan_of(store, statement)

    assert index in plan
    assert not re.search(r"SCAN (interactions|conversations|turns)|Seq Scan", plan)
    assert "ix_conversations" not in plan or "B-TREE FOR ORDER" not in plan


async def fill(store: Store) -> None:
    """Add what two hundred people asked, a question in each of ten conversations."""
    one = dict([*conversation_rows("t"), *interaction_rows("i")])
    del one[ProgressRow]
    async with store.transactions.writing() as connection:
        for table, values in one.items():
            rows = [
                {**values, **changed(values, f"p{person}", f"{person}-{number}")}
                for person in range(200)
                for number in range(10)
            ]
            await connection.execute(insert(table), rows)
        await connection.execute(text("ANALYZE"))


def changed(values: dict[str, object], person: str, name: str) -> dict[str, object]:
    """Return what is another's of a row."""
    own = {
        "id": name,
        "interaction_id": name,
        "posted_id": name,
        "thread": f"web:default:{person}:{name}",
        "channel": f"web:{person}",
        "person": person,
    }
    return {column: value for column, value in own.items() if column in values}


async def plan_of(store: Store, statement: Select[str]) -> str:
    """Return how the database goes about it."""
    explain = "EXPLAIN" if store.transactions.dialect == "postgresql" else "EXPLAIN QUERY PLAN"
    async with store.transactions.reading() as connection:
        compiled = statement.compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        rows = await connection.execute(text(f"{explain} {compiled}".replace(":", r"\:")))
        return "\n".join(str(row) for row in rows)


def test_no_list_is_without_a_bound() -> None:
    for statement in (
        statements.select_threads(ANNA, 3, None),
        statements.select_matching_questions(ANNA, "x", 3, None),
    ):
        assert "LIMIT" in str(statement)
        assert InteractionRow.__tablename__ in str(statement)


WRITTEN = select(
    ConversationRow.thread,
    ConversationRow.channel,
    ConversationRow.private,
    ConversationRow.started_at,
    ConversationRow.last_at,
)


async def test_a_message_makes_a_conversation_and_the_next_one_renews_it(store: Store) -> None:
    await store.work.open(message("hi", channel="anna"), "me")
    (first,) = await store.transactions.rows(WRITTEN)
    await store.work.open(message("and?", message_id="m2", channel="anna"), "me")
    (second,) = await store.transactions.rows(WRITTEN)

    assert (first.thread, first.channel) == (message("hi").thread.key, "web:anna")
    assert first.private
    assert second.started_at == first.started_at
    assert second.last_at > first.last_at


TRACE = Trace(route=route(Intent.HUMAN, "a person, please"))
HANDED = Outcome(Escalation("Of course.", "asked_for_human", "a person, please"), TRACE)


def numbered(number: int) -> Message:
    return message(f"question {number}", message_id=f"m{number}")


async def test_each_question_has_its_last_stage_and_its_case(store: Store) -> None:
    await record_answer(store, numbered(1), "one")
    await record_answer(store, numbered(2), HANDED)
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
    await record_answer(store, numbered(1), HANDED)
    (before,) = await store.watching.thread(numbered(1).thread, 10)

    anna = Actor("anna-it", "Anna Lopez", "expert")
    await store.escalations.act("default", numbered(1).interaction_id, "claim", anna)

    (now,) = await store.watching.thread(numbered(1).thread, 10)
    assert now.case_state == "claimed"
    assert now.case_version > before.case_version


async def test_a_withdrawn_question_is_seen_as_withdrawn_and_without_its_case(
    store: Store,
) -> None:
    await record_answer(store, numbered(1), HANDED)

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
