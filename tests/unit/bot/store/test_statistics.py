"""Tests of the statistics against the plainest way to count, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import sqlite

from bot.domain.handoff import PERSON_REQUEST, person_request_id
from bot.domain.interactions import Escalation, Outcome, Reply, Response, Trace, Vote, new_feedback
from bot.domain.messages import Intent
from bot.domain.record_reports import (
    NEEDED_THE_WIKI,
    Day,
    DeliveryFailures,
    Figures,
    Percentiles,
    QuestionKind,
    Span,
    Tally,
    WaitingCases,
    days_in,
    earlier_span,
    kind_of,
    last_days,
    percentiles_of,
)
from bot.domain.record_search import QuestionQuery
from bot.store import statistics
from bot.store.database import Store, open_store, sqlite_url
from bot.store.question_counts import Selection, count_questions
from bot.store.statistics import StoredStatistics
from bot.store.tables import (
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    NoticeRow,
)
from tests.fakes.builders import NOON, message, route
from tests.fakes.desk import VPN
from tests.fakes.durable_inbox import record_answer
from tests.fakes.record_rows import BusyRecord, add, add_escalation, add_interaction, fill

MONTH = last_days(NOON, 30)
WEEK = last_days(NOON, 7)


def within(span: Span, at: datetime) -> bool:
    return span.since <= at < span.until


def plainly(record: BusyRecord, span: Span) -> Figures:
    """Count a busy record row by row."""
    asked = [row for row in record.rows[InteractionRow] if within(span, row["created_at"])]
    thumbs = [row for row in record.rows[FeedbackRow] if within(span, row["given_at"])]
    cases = {row["interaction_id"] for row in record.rows[EscalationRow]}
    searched = [row for row in asked if row["answer_type"] != "GENERIC"]
    return Figures(
        span=span,
        days=tuple(_day(day, asked, thumbs, cases) for day in days_in(span)),
        answering=percentiles_of(
            [(r["finished_at"] - r["created_at"]).total_seconds() for r in searched]
        ),
        claiming=_since_opened(record, span, "claim"),
        replying=_since_opened(record, span, "reply"),
        resolving=_since_opened(record, span, "resolve"),
    )


def _day(
    day: date, asked: list[dict[str, Any]], thumbs: list[dict[str, Any]], cases: set[str]
) -> Day:
    found = [
        kind_of(r["answer_type"], r["intent"], handed=r["id"] in cases)
        for r in asked
        if r["created_at"].date() == day
    ]
    votes = [row["vote"] for row in thumbs if row["given_at"].date() == day]
    return Day(day, _tally(found), votes.count("up"), votes.count("down"))


def _tally(found: list[QuestionKind]) -> Tally:
    """Without facts nothing is known to have followed an answer, and no thumb is among them."""
    kinds = {kind: found.count(kind) for kind in set(found)}
    needed = sum(kind in NEEDED_THE_WIKI for kind in found)
    return Tally(kinds, 0, needed, 0)


def _since_opened(record: BusyRecord, span: Span, wanted: str) -> Percentiles:
    opened = {
        row["interaction_id"]: row["opened_at"]
        for row in record.rows[EscalationRow]
        if within(span, row["opened_at"])
    }
    steps = [row for row in record.rows[EscalationStepRow] if row["step"] == wanted]
    reached = [(opened.get(row["interaction_id"]), row["at"]) for row in steps]
    return percentiles_of(
        [(at - since).total_seconds() for since, at in reached if since is not None]
    )


def rounded(found: Figures) -> Figures:
    """SQLite counts days as a float: to a tenth of a millisecond."""
    took = found.answering
    timed = Percentiles(took.count, round(took.p50, 3), round(took.p95, 3))
    days = tuple(replace(day, questions=replace(day.questions, deflected=0)) for day in found.days)
    return replace(found, days=days, groups={}, answering=timed)


@pytest.mark.parametrize("span", [WEEK, earlier_span(WEEK, 7), MONTH])
async def test_the_figures_are_those_of_the_plainest_count(store: Store, span: Span) -> None:
    record = await fill(store, NOON, days=20, a_day=30)
    await fill_other(store)

    found = await store.statistics.figures("default", span)

    assert rounded(found) == rounded(plainly(record, span))
    assert found.asked > 50


OFFER = Escalation("Shall I ask?", "low_confidence", "?", confidence=0.2, consent_needed=True)
HANDED = Escalation("Of course.", "asked_for_human", "?")


async def asked_and(store: Store, name: str, response: Response, *, pressed: bool) -> None:
    """Record a question, and the press of the button that asks for a person below it."""
    asked = message(f"{name}?", message_id=name, channel=name)
    await record_answer(store, asked, Outcome(response, Trace(route(Intent.DOMAIN, "?"))))
    if pressed:
        wish = replace(asked, id=person_request_id(asked.id), text=PERSON_REQUEST)
        await record_answer(store, wish, Outcome(HANDED, Trace(route(Intent.HUMAN, "?"))))


@pytest.mark.mended(id="ux-5")
async def test_a_hand_over_by_button_counts_once(store: Store) -> None:
    found = Reply("It is [1].", "answer", (VPN,), 0.9)
    await asked_and(store, "a", found, pressed=False)
    await asked_and(store, "b", found, pressed=False)
    await asked_and(store, "c", OFFER, pressed=True)
    await asked_and(store, "d", OFFER, pressed=True)
    week = last_days(datetime.now(UTC) + timedelta(minutes=1), 7)

    figures = await store.statistics.figures("default", week)
    assert (figures.asked, figures.of("answered"), figures.of("escalated")) == (4, 2, 2)
    assert figures.total.deflection == 0.5

    await asked_and(store, "e", OFFER, pressed=False)
    await asked_and(store, "f", found, pressed=True)
    figures = await store.statistics.figures("default", week)
    assert (figures.asked, figures.of("offered"), figures.of("escalated")) == (6, 1, 3)

    listed = await store.searches.questions("default", QuestionQuery(), limit=20)
    assert [(each.text, each.case) for each in listed.items] == [
        ("f?", "open"),
        ("e?", None),
        ("d?", "open"),
        ("c?", "open"),
        ("b?", None),
        ("a?", None),
    ]


@pytest.mark.parametrize(
    ("votes", "kind"),
    [((), "unsure"), (("down",), "unsure"), (("up",), "answered"), (("down", "up"), "answered")],
)
async def test_a_guess_is_answered_once_somebody_found_it_helpful(
    store: Store, votes: tuple[Vote, ...], kind: QuestionKind
) -> None:
    guess = Reply("It is [1].", "answer", (VPN,), 0.5, confidence_level="unsure")
    part = Reply("It is [1].", "answer", (VPN,), 0.9, confidence_level="partial", missing="When.")
    await asked_and(store, "a", guess, pressed=False)
    await asked_and(store, "b", part, pressed=False)
    listed = await store.searches.questions("default", QuestionQuery(), limit=20)
    for number, vote in enumerate(votes):
        await store.interactions.rate(new_feedback(listed.items[1].id, f"p{number}", vote))

    week = last_days(datetime.now(UTC) + timedelta(minutes=1), 7)
    figures = await store.statistics.figures("default", week)

    assert [each.level for each in listed.items] == ["partial", "unsure"]
    assert figures.of(kind) == (2 if kind == "answered" else 1)
    assert figures.total.deflection == (1.0 if votes == ("up",) else 0.5)


async def test_a_guess_that_was_handed_on_counts_once(store: Store) -> None:
    guess = Reply("It is [1].", "answer", (VPN,), 0.5, confidence_level="unsure")
    await asked_and(store, "a", guess, pressed=True)
    week = last_days(datetime.now(UTC) + timedelta(minutes=1), 7)

    figures = await store.statistics.figures("default", week)

    assert (figures.asked, figures.of("unsure"), figures.of("escalated")) == (1, 0, 1)


async def fill_other(store: Store) -> None:
    """Add what must not be counted: another tenant's, and what was withdrawn."""
    await add_interaction(store, "theirs", tenant="other", answer_type="RAG")
    await add_escalation(store, "theirs", tenant="other")
    await add_interaction(store, "gone", status="cancelled", at=NOON - timedelta(hours=1))
    await add_interaction(store, "going", status="cancelling", at=NOON - timedelta(hours=1))


async def test_nothing_is_counted_in_an_empty_record(store: Store) -> None:
    found = await store.statistics.figures("default", WEEK)

    assert (found.asked, len(found.days), found.answering) == (0, 7, Percentiles())
    assert found.shortened is False
    assert await store.statistics.waiting("default") == WaitingCases()
    assert await store.statistics.troubles("default", WEEK) == DeliveryFailures()
    assert await store.statistics.any_question("default") is False


async def test_a_question_at_work_is_counted_as_open(store: Store) -> None:
    await add_interaction(store, "i1", status="working", at=NOON - timedelta(minutes=1))

    found = await store.statistics.figures("default", WEEK)

    assert found.of("open") == 1
    assert await store.statistics.any_question("default") is True
    assert await store.statistics.any_question("other") is False


async def test_what_was_left_alone_is_counted_apart_and_not_timed(store: Store) -> None:
    for number, kind in enumerate(("RAG", "SILENT", "SILENT")):
        at = NOON - timedelta(hours=1)
        await add_interaction(store, f"i{number}", at=at, answer_type=kind, intent="DOMAIN")

    found = await store.statistics.figures("default", WEEK)

    assert (found.asked, found.of("answered"), found.of("silent")) == (1, 1, 2)
    assert found.answering.count == 1


async def test_beyond_the_limit_the_newest_are_counted_and_it_is_said(store: Store) -> None:
    for number in range(4):
        at = NOON - timedelta(days=number)
        await add_interaction(store, f"i{number}", at=at - timedelta(hours=1), answer_type="RAG")

    found = await StoredStatistics(store.transactions, most_questions=2).figures("default", WEEK)

    assert [day.questions.asked for day in found.days] == [0, 0, 0, 0, 0, 1, 1]
    assert found.shortened is True


async def case_with(store: Store, name: str, state: str, *steps: tuple[str, int]) -> None:
    """Add a case that was opened an hour before noon, with steps so many minutes later."""
    opened = NOON - timedelta(hours=1)
    await add_interaction(store, name, at=opened)
    await add_escalation(store, name, state=state, opened_at=opened, changed_at=opened)
    for number, (step, minutes) in enumerate(steps, start=1):
        at = opened + timedelta(minutes=minutes)
        who = {"interaction_id": name, "tenant": "default"}
        await add(store, EscalationStepRow, **who, number=number, step=step, at=at)


async def test_a_reply_takes_a_case_and_the_last_resolution_counts(store: Store) -> None:
    steps = [("open", 0), ("reply", 5), ("resolve", 10), ("reopen", 20), ("claim", 25)]
    await case_with(store, "again", "resolved", *steps, ("resolve", 30))
    await case_with(store, "still", "reopened", *steps[:4])

    found = await store.statistics.figures("default", WEEK)

    assert found.claiming == Percentiles(2, 300.0, 300.0)
    assert found.replying == Percentiles(2, 300.0, 300.0)
    assert found.resolving == Percentiles(1, 1800.0, 1800.0)


async def test_what_waits_for_people_is_counted_with_the_oldest(store: Store) -> None:
    for name, state in (("a", "open"), ("b", "reopened"), ("c", "claimed"), ("d", "resolved")):
        await add_interaction(store, name)
        await add_escalation(store, name, state=state, opened_at=NOON - timedelta(hours=ord(name)))

    assert await store.statistics.waiting("default") == WaitingCases(
        2, NOON - timedelta(hours=98), 1
    )


async def test_what_could_not_be_delivered_is_counted(store: Store) -> None:
    at = NOON - timedelta(hours=1)
    await add_interaction(store, "i1", status="failed", at=at)
    await add_interaction(store, "old", status="failed", at=NOON - timedelta(days=8))
    await case_with(store, "i2", "answered", ("open", 0), ("reply", 1))
    told = {"interaction_id": "i2", "tenant": "default", "to": "asker"}
    await add(store, NoticeRow, **told, number=1, failure="The channel is archived.")
    await add(store, NoticeRow, **told, number=2, failure="Slack is away.", due_at=NOON)

    assert await store.statistics.troubles("default", WEEK) == DeliveryFailures(answers=1, news=1)


async def test_counting_reads_an_index_and_no_texts(tmp_path: Path) -> None:
    store = await open_store(sqlite_url(tmp_path))
    chosen = Selection("sqlite", "default", MONTH)
    for statement in (
        count_questions(chosen, 10),
        statistics.select_answer_times(chosen, 10),
    ):
        plan = await explained(store, statement)
        assert "USING COVERING INDEX ix_interactions_searched" in plan
    assert "ix_feedback_given" in await explained(store, statistics.count_votes(chosen, 10))
    await store.close()


async def explained(store: Store, statement: ClauseElement) -> str:
    compiled = statement.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    async with store.transactions.reading() as connection:
        plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}")
        return "; ".join(str(tuple(row)[-1]) for row in plan)
