"""Tests of interactions in the record, of who asked, and of what was asked last."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, text, update

from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import (
    WITHOUT_TEXT,
    Escalation,
    Feedback,
    Outcome,
    PostedRef,
    Reply,
    Trace,
)
from bot.domain.messages import (
    Activity,
    Attachment,
    InteractionId,
    Message,
    Person,
    Refusal,
    Stage,
    Thread,
)
from bot.domain.outcomes import refused_outcome
from bot.domain.record_search import QuestionQuery
from bot.store import queries
from bot.store.database import Store, open_store, sqlite_url
from bot.store.tables import InteractionRow
from rag.types import EVERYONE, Principal
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, activities, message
from tests.fakes.durable_inbox import record_answer, stored_interaction, thread_exchanges
from tests.fakes.record_rows import interaction_rows, rows

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_private_replies_never_enter_the_history(store: Store) -> None:
    asked = message("pay?")
    outcome = Outcome(
        response=generic_outcome("Ask HR.").response,
        trace=generic_outcome("").trace,
        private=Reply("Your pay is secret", tone="answer"),
    )
    await record_answer(store, asked, outcome)

    assert await thread_exchanges(store, numbered(2)) == [("pay?", "Ask HR.")]
    kept = await store.interactions.get(asked.interaction_id)
    assert kept is not None
    assert kept.outcome == outcome


async def test_what_is_left_alone_is_recorded_and_is_no_part_of_the_talk(
    store: Store,
) -> None:
    asked = replace(message("vpn?", private=False), overheard=True)
    response = Escalation("No.", "low_confidence", "vpn?", confidence=0.3)
    outcome = Outcome(
        response, generic_outcome("").trace, silent=True, remarks=("I could not read plan.docx.",)
    )
    await record_answer(store, asked, outcome)

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
    await record_answer(store, numbered(1), "yes")
    for number, note in enumerate(sorted(WITHOUT_TEXT), start=2):
        refusal = Refusal("Later.", note.removeprefix("limit:"))
        await record_answer(store, numbered(number), refused_outcome(numbered(number), refusal))

    assert await thread_exchanges(store, numbered(9)) == [("question 1", "yes")]


async def test_history_is_what_came_before_in_the_same_thread(store: Store) -> None:
    for number in range(5):
        await record_answer(store, numbered(number), f"answer {number}")
    await record_answer(store, numbered(9, thread="t2"), "elsewhere")

    assert await thread_exchanges(store, numbered(3), 2) == [
        ("question 1", "answer 1"),
        ("question 2", "answer 2"),
    ]


async def test_history_of_another_tenant_stays_there(store: Store) -> None:
    await record_answer(store, message("hi"), "hello")
    elsewhere = replace(message("hi").thread, tenant="other")

    assert await store.interactions.history(elsewhere, numbered(1), 10) == []
    assert await store.interactions.in_thread(elsewhere, 10) == []


async def test_threads_whose_parts_join_alike_are_not_mixed_up(store: Store) -> None:
    one = Thread("web", "t", "a:b", "c")
    other = Thread("web", "t", "a", "b:c")
    await record_answer(store, replace(message("hi"), thread=one), "hello")

    assert await store.interactions.history(other, numbered(1), 10) == []


async def test_a_thread_lists_its_last_interactions_oldest_first(store: Store) -> None:
    for number in range(4):
        await record_answer(store, numbered(number), "ok")
    await store.work.cancel(numbered(2).interaction_id)

    listed = await store.interactions.in_thread(numbered(0).thread, 2)

    assert [item.message.text for item in listed] == ["question 1", "question 3"]


async def test_a_reply_is_found_where_it_was_posted(store: Store) -> None:
    asked = message("hi")
    await record_answer(store, asked, "hello")
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
    await record_answer(store, asked, "hello")
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


ANNA = Person(
    "anna", "Anna Lopez", "anna@acme.example", frozenset({EVERYONE, Principal("user:anna")})
)


def handed_over() -> Outcome:
    asked = Escalation("I've asked.", "low_confidence", "VPN?")
    return Outcome(asked, Trace(generic_outcome("").trace.route), asker=ANNA)


async def test_the_record_and_the_peoples_list_name_who_asked(store: Store, url: str) -> None:
    kept = await record_answer(store, message("VPN?", private=False), handed_over())

    assert kept.message.author == ANNA
    assert kept.outcome is not None
    assert kept.outcome.asker is None
    assert rows(url, "SELECT asker, asker_name FROM escalations") == [("anna", "Anna Lopez")]
    assert rows(url, "SELECT actor_name FROM escalation_steps") == [("Anna Lopez",)]


async def test_who_was_not_introduced_is_recorded_as_the_message_said(store: Store) -> None:
    asked = message("hi")

    kept = await record_answer(store, asked, "hello")

    assert kept.message.author == asked.author


async def test_a_withdrawn_question_forgets_its_asker_but_the_id(store: Store, url: str) -> None:
    file = Attachment("lopez-payslip.txt", "text/plain", 9, "https://files.example/lopez")
    asked = replace(message("VPN?", private=False), attachments=(file,))
    kept = await record_answer(store, asked, handed_over())

    await store.work.cancel(kept.id)

    for table in ("interactions", "escalations", "escalation_steps"):
        held = repr(rows(url, f"SELECT * FROM {table}"))  # noqa: S608 - a test's own name
        assert "lopez" not in held.lower()
    await store.work.cancelled(kept.id)
    assert (await stored_interaction(store, kept.id)).message.author == Person("anna")


async def test_of_files_only_names_are_kept_with_an_answer(store: Store, url: str) -> None:
    file = Attachment("vpn.log", "text/plain", 9, "https://files.example/T1/vpn.log")
    asked = replace(message("VPN?"), attachments=(file,))
    opened = await store.work.open(asked, "me")
    assert opened.message.attachments == (file,)

    kept = await record_answer(store, replace(asked, id="m2"), "hello")

    assert kept.message.attachments == (replace(file, place=""),)
    held = repr(rows(url, f"SELECT * FROM interactions WHERE id = '{kept.id}'"))  # noqa: S608 - a test's own id
    assert "files.example" not in held


MONTH = timedelta(days=30)


def asked(number: int, person: str, email: str | None) -> Message:
    made = message("vpn?", message_id=f"m{number}")
    return replace(made, author=Person(person, email=email))


async def keep(store: Store, *messages: Message) -> None:
    for each in messages:
        await store.work.open(each, "test")


async def test_everybody_who_asked_is_there_once_newest_first(store: Store) -> None:
    await keep(
        store,
        asked(1, "U1", "ann@acme.example"),
        asked(2, "U2", "bob@acme.example"),
        asked(3, "U1", "ann@acme.example"),
        asked(4, "oidc-1", "Bob@acme.example"),
        asked(5, "U3", None),
    )
    since = NOON - MONTH

    found = await store.askers.emails("default", since, 10)

    assert found == ["bob@acme.example", "ann@acme.example"]
    assert await store.askers.emails("default", since, 2) == ["bob@acme.example"]
    assert await store.askers.emails("other", since, 10) == []


async def test_the_names_of_those_who_asked_are_there_once(store: Store) -> None:
    ann = asked(1, "U1", "ann@acme.example")
    await keep(
        store,
        replace(ann, author=replace(ann.author, name="Ann Example")),
        asked(2, "U2", "bob@acme.example"),
    )

    assert await store.askers.names("default", NOON - MONTH, 10) == ["Ann Example"]
    assert await store.askers.names("other", NOON - MONTH, 10) == []


async def test_who_asked_before_is_left_out(store: Store) -> None:
    await keep(store, asked(1, "U1", "ann@acme.example"))
    number, moment = InteractionRow.number, NOON - timedelta(days=31)
    async with store.transactions.writing() as connection:
        await connection.execute(
            update(InteractionRow).where(number == 1).values(created_at=moment)
        )

    assert await store.askers.emails("default", NOON - MONTH, 10) == []


async def test_who_withdrew_all_they_asked_is_not_counted(store: Store) -> None:
    gone = asked(1, "U1", "ann@acme.example")
    await keep(store, gone)
    await store.work.cancel(gone.interaction_id)

    assert await store.askers.emails("default", NOON - MONTH, 10) == []


def asked_in_channel(
    name: str, *, person: str = "anna", channel: str = "C1", thread: str = "t1"
) -> Message:
    made = message(name, message_id=name, platform="slack", channel=channel, thread=thread)
    return replace(made, author=Person(person))


async def newest(store: Store, channel: str = "C1", person: str = "anna") -> str | None:
    found = await store.interactions.newest_of("default", "slack", channel, person)
    return None if found is None else found.message.text


async def test_it_is_the_last_that_is_answered_in_whichever_thread(store: Store) -> None:
    await record_answer(store, asked_in_channel("first"), "one")
    await record_answer(store, asked_in_channel("second", thread="t2"), "two")
    await store.work.open(asked_in_channel("at work"), "me")

    assert await newest(store) == "second"


async def test_what_was_withdrawn_gives_way_to_what_came_before(store: Store) -> None:
    await record_answer(store, asked_in_channel("first"), "one")
    await record_answer(store, asked_in_channel("second"), "two")
    await store.work.cancel(asked_in_channel("second").interaction_id)

    assert await newest(store) == "first"


async def test_what_was_only_overheard_counts(store: Store) -> None:
    await record_answer(store, asked_in_channel("first"), "one")
    await record_answer(
        store, asked_in_channel("overheard"), replace(generic_outcome("two"), silent=True)
    )

    assert await newest(store) == "overheard"


@pytest.mark.parametrize(
    "elsewhere",
    [
        asked_in_channel("x", person="ben"),
        asked_in_channel("x", channel="C2"),
        replace(asked_in_channel("x"), thread=Thread("teams", "default", "C1", "t1")),
        replace(asked_in_channel("x"), thread=Thread("slack", "other", "C1", "t1")),
    ],
    ids=["another person", "another channel", "another platform", "another tenant"],
)
async def test_what_is_elsewhere_is_never_it(store: Store, elsewhere: Message) -> None:
    await record_answer(store, elsewhere, "not for here")

    assert await newest(store) is None

    await record_answer(store, asked_in_channel("own"), "mine")
    assert await newest(store) == "own"


async def test_a_name_that_the_record_cannot_hold_is_nobodys(store: Store) -> None:
    await record_answer(store, asked_in_channel("own"), "mine")

    assert await newest(store, person="an\x00na") is None
    assert await newest(store, channel="C1\ud800") is None


async def test_an_index_finds_it_however_busy_a_channel_is(store: Store, database: str) -> None:
    await _fill(store)
    query, values = queries.select_newest_of(Thread("slack", "default", "C1", ""), "p7")
    statement = query.params(dict(values))

    async with store.transactions.reading() as connection:
        explain = "EXPLAIN QUERY PLAN" if database == "sqlite" else "EXPLAIN"
        compiled = statement.compile(
            dialect=connection.dialect, compile_kwargs={"literal_binds": True}
        )
        rows = await connection.execute(text(f"{explain} {compiled}".replace(":", r"\:")))
        plan = "\n".join(str(row) for row in rows)

    assert "ix_interactions_person" in plan
    assert database == "postgresql" or "TEMP B-TREE" not in plan


async def _fill(store: Store) -> None:
    """Have two hundred people ask ten questions each in one channel."""
    (values,) = (row for table, row in interaction_rows("q") if table is InteractionRow)
    rows = [
        {**values, "id": f"{person}-{number}", "person": f"p{person}", "channel": "slack:C1"}
        for person in range(200)
        for number in range(10)
    ]
    async with store.transactions.writing() as connection:
        await connection.execute(insert(InteractionRow), rows)
        await connection.execute(text("ANALYZE"))
