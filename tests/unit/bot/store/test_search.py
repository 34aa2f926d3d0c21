"""Tests of what a search finds, in which order, and how far one page of it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Select, text
from sqlalchemy.engine.url import URL

from bot.domain.interactions import Escalation, Outcome, Reply, Response, Source, Trace
from bot.domain.messages import Intent, InteractionId
from bot.domain.record_search import (
    AskedQuestion,
    CaseCounts,
    Cursor,
    FeedbackCounts,
    FeedbackQuery,
    GivenFeedback,
    QuestionQuery,
    ResultPage,
)
from bot.store import search
from bot.store.database import Store
from bot.store.queries import contains
from bot.store.rows import Rows
from bot.store.search import StoredSearches
from bot.store.tables import FeedbackRow, InteractionRow, TurnRow
from tests.fakes.builders import NOON, message, route
from tests.fakes.record_rows import RowsOfTables, add_all, add_escalation

CODEC = Rows()
DIALECTS = {name: URL.create(name).get_dialect()() for name in ("sqlite", "postgresql")}
SOURCE = Source("c1", "vpn.md", "VPN", "/pages/IT/vpn.md", "", "It is.", None, 0.9, "f", "vpn.md")
ANSWER = Reply("It is [1].", "answer", (SOURCE,), confidence=0.9)
GUESS = replace(ANSWER, confidence_level="unsure")
HANDED_OVER = Escalation("I'll ask.", "low_confidence", "vpn?", (SOURCE,), confidence=0.2)


def asked(
    name: str,
    text: str = "Where is the VPN?",
    *,
    minutes: int = 0,
    response: Response = ANSWER,
    intent: Intent = Intent.DOMAIN,
    **changes: object,
) -> RowsOfTables:
    """A question that was answered at once."""
    at = NOON + timedelta(minutes=minutes)
    question = message(text, message_id=name)
    columns: dict[str, object] = {
        "id": name,
        "tenant": "default",
        "thread": "t",
        "person": "anna",
        "status": "done",
        "channel": "web:anna",
        "message": CODEC.message(question),
        "created_at": at,
        **CODEC.outcome(Outcome(response, Trace(route=route(intent, text)))),
        **changes,
    }
    own = {"interaction_id": name, "tenant": columns["tenant"], "thread": "t"}
    return [
        (InteractionRow, columns),
        (TurnRow, {**own, "role": "user", "text": text}),
        (TurnRow, {**own, "role": "assistant", "text": "an answer with umbrellas"}),
    ]


def judged(name: str, vote: str, person: str = "anna", **more: object) -> RowsOfTables:
    values: dict[str, object] = {
        "interaction_id": name,
        "person": person,
        "tenant": "default",
        "vote": vote,
        "given_at": NOON,
    }
    return [(FeedbackRow, {**values, **more})]


async def found(store: Store, query: QuestionQuery, tenant: str = "default") -> list[str]:
    listed = await store.searches.questions(tenant, query, limit=50)
    assert listed.next is None
    return [each.id for each in listed.items]


async def test_questions_come_newest_first_with_what_became_of_them(store: Store) -> None:
    await add_all(store, asked("old", minutes=0) + asked("new", minutes=1, response=HANDED_OVER))
    await add_all(store, judged("old", "up") + judged("old", "down", "ben"))
    await add_escalation(store, "new")

    new, old = (await store.searches.questions("default", QuestionQuery(), limit=9)).items

    assert (new.id, new.answer_type, new.case) == ("new", "ESCALATION_REQUIRED", "open")
    assert (new.ups, new.downs, new.confidence) == (0, 0, 0.2)
    assert old == AskedQuestion(
        id=InteractionId("old"),
        asked_at=NOON,
        text="Where is the VPN?",
        person_id="anna",
        person_name="",
        channel="web:anna",
        private=True,
        status="done",
        answer_type="RAG",
        intent=Intent.DOMAIN,
        confidence=0.9,
        ups=1,
        downs=1,
    )


async def test_a_question_that_is_worked_on_is_listed_without_an_outcome(store: Store) -> None:
    await store.work.open(message("hello?"), "me")

    (listed,) = (await store.searches.questions("default", QuestionQuery(), limit=9)).items

    assert (listed.text, listed.status) == ("hello?", "working")
    assert (listed.answer_type, listed.intent, listed.confidence) == (None, None, None)


async def test_columns_are_written_with_the_outcome_and_blanked_later(
    store: Store,
) -> None:
    opened = await store.work.open(message("VPN?"), "me")
    outcome = Outcome(ANSWER, Trace(route=route(Intent.UNKNOWN, "VPN?")))
    await store.work.close(opened, outcome, last=True)

    (listed,) = (
        await store.searches.questions("default", QuestionQuery(words="vpn"), limit=9)
    ).items
    assert (listed.answer_type, listed.intent, listed.confidence) == ("RAG", Intent.UNKNOWN, 0.9)

    await store.work.cancel(opened.id)
    assert await found(store, QuestionQuery()) == []
    row = (await look(store, opened.id))[0]
    assert row == ("", "", None)


async def look(store: Store, name: str) -> list[tuple[object, ...]]:
    async with store.transactions.reading() as connection:
        result = await connection.exec_driver_sql(
            f"SELECT intent, answer_type, confidence FROM interactions WHERE id = '{name}'"  # noqa: S608 - an id of ours
        )
        return [tuple(row) for row in result]


FILLED: Mapping[str, RowsOfTables] = {
    "vpn": asked("vpn", "The VPN says error 809", minutes=1),
    "leave": asked("leave", "How much Leave? 100% of it", minutes=2, person="ben", response=GUESS),
    "slack": asked(
        "slack", "ÄRGER mit dem Drucker_3", minutes=3, channel="slack:C1", response=HANDED_OVER
    ),
    "hello": asked(
        "hello", "hi", minutes=4, response=Reply("Hi.", "generic"), intent=Intent.GENERIC
    ),
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (QuestionQuery(words="VPN"), ["vpn"]),
        (QuestionQuery(words="vpn 809"), ["vpn"]),
        (QuestionQuery(words="vpn leave"), []),
        (QuestionQuery(words="umbrellas"), []),
        (QuestionQuery(words="ärger"), ["slack"]),
        (QuestionQuery(words="%"), ["leave"]),
        (QuestionQuery(words="_"), ["slack"]),
        (QuestionQuery(words="\x00"), []),
        (QuestionQuery(answer_type="RAG"), ["leave", "vpn"]),
        (QuestionQuery(answer_type="ESCALATION_REQUIRED"), ["slack"]),
        (QuestionQuery(level="unsure"), ["leave"]),
        (QuestionQuery(intent=Intent.GENERIC), ["hello"]),
        (QuestionQuery(platform="slack"), ["slack"]),
        (QuestionQuery(platform="sla"), []),
        (QuestionQuery(person_id="ben"), ["leave"]),
        (QuestionQuery(person_id="BEN"), []),
        (QuestionQuery(vote="up"), ["vpn"]),
        (QuestionQuery(vote="down"), ["leave"]),
        (QuestionQuery(vote="none"), ["hello", "slack"]),
        (QuestionQuery(since=NOON + timedelta(minutes=3)), ["hello", "slack"]),
        (QuestionQuery(until=NOON + timedelta(minutes=3)), ["leave", "vpn"]),
        (QuestionQuery(least=0.5), ["leave", "vpn"]),
        (QuestionQuery(most=0.5), ["slack"]),
        (QuestionQuery(least=0.3, most=0.5), []),
        (QuestionQuery(words="vpn", vote="up", least=0.5, platform="web"), ["vpn"]),
    ],
    ids=str,
)
async def test_every_filter_works(store: Store, query: QuestionQuery, expected: list[str]) -> None:
    for filled in FILLED.values():
        await add_all(store, filled)
    await add_all(store, judged("vpn", "up") + judged("leave", "down"))

    assert await found(store, query) == expected


async def test_another_tenants_questions_and_judgements_do_not_exist(store: Store) -> None:
    await add_all(store, asked("i1") + judged("i1", "up"))
    await add_escalation(store, "i1")

    assert await found(store, QuestionQuery(), "other") == []
    assert (await store.searches.feedback("other", FeedbackQuery(), limit=9)).items == ()
    assert await store.searches.feedback_counts("other", NOON) == FeedbackCounts()
    assert await store.searches.case_counts("other", "anna") == CaseCounts()


@pytest.mark.parametrize(("window", "size"), [(2000, 3), (4, 3), (1, 2), (3, 3)])
async def test_paging_shows_every_question_once(store: Store, window: int, size: int) -> None:
    """Also those of the same moment, and whatever a page looks at."""
    for number in range(11):
        await add_all(store, asked(f"i{number}", minutes=number // 3))
    searches = StoredSearches(store.transactions, window=window, windows=50)

    pages = [await searches.questions("default", QuestionQuery(), limit=size)]
    while (place := pages[-1].next) is not None:
        pages.append(await searches.questions("default", QuestionQuery(), limit=size, after=place))

    assert [each.id for page in pages for each in page.items] == [
        f"i{n}" for n in range(10, -1, -1)
    ]
    assert all(len(page.items) == size for page in pages[:-1])


async def test_a_search_without_a_find_stops_and_says_how_far_it_came(store: Store) -> None:
    for number in range(10):
        await add_all(store, asked(f"i{number}", minutes=number))
    await add_all(store, asked("rare", "zirconium", minutes=-1))
    searches = StoredSearches(store.transactions, window=3, windows=2)
    query = QuestionQuery(words="zirconium")

    first = await searches.questions("default", query, limit=5)
    assert first == ResultPage((), Cursor(NOON + timedelta(minutes=4), ("5",)))
    second = await searches.questions("default", query, limit=5, after=first.next)

    assert [each.id for each in second.items] == ["rare"]
    assert second.next is None


async def test_what_is_asked_meanwhile_does_not_move_a_page(store: Store) -> None:
    for number in range(4):
        await add_all(store, asked(f"i{number}", minutes=number))
    first = await store.searches.questions("default", QuestionQuery(), limit=2)
    await add_all(store, asked("meanwhile", minutes=9))

    second = await store.searches.questions("default", QuestionQuery(), limit=2, after=first.next)

    assert [each.id for each in (*first.items, *second.items)] == ["i3", "i2", "i1", "i0"]


async def test_judgements_come_newest_first_with_their_question(store: Store) -> None:
    await add_all(store, asked("i1", "VPN?") + asked("i2", "Leave?", minutes=1))
    later = NOON + timedelta(minutes=5)
    await add_all(store, judged("i1", "down", reason="wrong", comment="No.", given_at=later))
    await add_all(store, judged("i2", "up", "ben") + judged("i2", "down", "cleo", reason="other"))

    listed = await store.searches.feedback("default", FeedbackQuery(), limit=9)

    assert [(each.question, each.feedback.person_id) for each in listed.items] == [
        ("VPN?", "anna"),
        ("Leave?", "cleo"),
        ("Leave?", "ben"),
    ]
    newest = listed.items[0]
    assert (newest.feedback.reason, newest.feedback.comment) == ("wrong", "No.")
    assert (newest.feedback.given_at, newest.answer_type) == (later, "RAG")


@pytest.mark.parametrize(
    ("query", "people"),
    [
        (FeedbackQuery(vote="up"), ["ben"]),
        (FeedbackQuery(vote="down"), ["cleo", "anna"]),
        (FeedbackQuery(reason="other"), ["cleo"]),
        (FeedbackQuery(commented=True), ["anna"]),
        (FeedbackQuery(vote="up", commented=True), []),
    ],
    ids=str,
)
async def test_votes_can_be_filtered(store: Store, query: FeedbackQuery, people: list[str]) -> None:
    await add_all(store, asked("i1"))
    await add_all(store, judged("i1", "down", comment="No.") + judged("i1", "up", "ben"))
    await add_all(store, judged("i1", "down", "cleo", reason="other"))

    listed = await store.searches.feedback("default", query, limit=9)

    assert [each.feedback.person_id for each in listed.items] == people


async def test_paging_shows_every_judgement_once(store: Store) -> None:
    people = ["anna", "ben", "cleo", "dora", "eva"]
    await add_all(store, asked("i1") + asked("i2"))
    for name in ("i1", "i2"):
        for person in people:
            await add_all(store, judged(name, "up", person))

    seen: list[GivenFeedback] = []
    place: Cursor | None = None
    while place is not None or not seen:
        page = await store.searches.feedback("default", FeedbackQuery(), limit=3, after=place)
        seen, place = [*seen, *page.items], page.next

    keys = [(each.feedback.interaction_id, each.feedback.person_id) for each in seen]
    assert keys == sorted(keys, reverse=True)
    assert len(keys) == len(set(keys)) == 10


async def test_reasons_are_counted_from_a_moment_on(store: Store) -> None:
    await add_all(store, asked("i1"))
    for person, vote, reason, at in (
        ("anna", "down", "wrong", NOON),
        ("ben", "down", "wrong", NOON),
        ("cleo", "down", None, NOON),
        ("dora", "up", None, NOON),
        ("eva", "down", "wrong", NOON - timedelta(seconds=1)),
    ):
        await add_all(store, judged("i1", vote, person, reason=reason, given_at=at))

    counts = await store.searches.feedback_counts("default", NOON)

    assert counts == FeedbackCounts(ups=1, downs=3, reasons={"wrong": 2, "": 1})


async def test_cases_are_counted_by_state_and_owner(store: Store) -> None:
    for name, state, owner in (
        ("i1", "open", None),
        ("i2", "claimed", "anna"),
        ("i3", "answered", "ben"),
        ("i4", "resolved", "anna"),
        ("i5", "open", None),
    ):
        await add_all(store, asked(name))
        await add_escalation(store, name, state=state, owner=owner)

    counts = await store.searches.case_counts("default", "anna")

    assert counts.states == {"open": 2, "claimed": 1, "answered": 1, "resolved": 1}
    assert counts.own == 1
    assert counts.among(frozenset({"open", "reopened"})) == 2
    assert counts.among(frozenset()) == 5


PLANS = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (QuestionQuery(answer_type="RAG", platform="web"), "ix_interactions_searched"),
        (QuestionQuery(words="vpn", since=NOON), "ix_interactions_searched"),
        (QuestionQuery(person_id="anna"), "ix_interactions_person"),
    ],
    ids=str,
)
async def test_a_search_goes_by_an_index(
    store: Store, database: str, query: QuestionQuery, index: str
) -> None:
    await add_all(store, [row for n in range(50) for row in asked(f"i{n}", minutes=n)])
    window = search.select_window("default", query, 10, Cursor(NOON, ("7",)))

    plan = await planned(store, database, search.select_matches(window, query, 5))

    # PostgreSQL has statistics of its own, and of 50 rows any index will do.
    assert (index if database == "sqlite" else "ix_interactions_") in plan
    assert "SCAN interactions" not in plan
    assert "Seq Scan on interactions" not in plan
    covered = "USING COVERING INDEX ix_interactions_searched" in plan
    assert database == "postgresql" or index != "ix_interactions_searched" or covered


async def test_judgements_are_listed_and_counted_by_an_index(store: Store, database: str) -> None:
    for number in range(50):
        await add_all(store, asked(f"i{number}") + judged(f"i{number}", "up"))

    listed = await planned(
        store, database, search.select_feedback("default", FeedbackQuery(), 5, None)
    )
    counted = await planned(store, database, search.count_feedback("default", NOON))

    assert "ix_feedback_given" in listed
    assert "ix_feedback_given" in counted


async def planned(store: Store, database: str, statement: Select[*tuple[Any, ...]]) -> str:
    """Return how a database means to run a statement, with as much in it as matters."""
    compiled = statement.compile(dialect=DIALECTS[database], compile_kwargs={"literal_binds": True})
    async with store.transactions.writing() as connection:
        if database == "postgresql":
            for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
                await connection.exec_driver_sql(f"SET LOCAL {setting} = off")
        rows = await connection.execute(text(PLANS[database] + str(compiled).replace(":", r"\:")))
        return "\n".join(str(row[-1]) for row in rows)


@given(st.text(min_size=1))
def test_a_word_is_looked_for_as_it_is_written(word: str) -> None:
    spelt = contains(TurnRow.text, word).compile().params.values()

    assert word.replace("/", "//").replace("%", "/%").replace("_", "/_") in spelt
