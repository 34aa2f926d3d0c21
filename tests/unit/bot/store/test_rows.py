"""Tests of rows, and of statements: each is valid for both databases and bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import ClauseElement, Select
from sqlalchemy.engine.url import URL

from bot.domain.interactions import (
    Clarification,
    Escalation,
    Outcome,
    PostedRef,
    Reply,
    Response,
    Trace,
)
from bot.domain.messages import Thread
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import queries, work_queries
from bot.store.rows import (
    Rows,
    channel_of,
    conversation_row,
    escalation_row,
    opening_row,
    turn_rows,
    usage_rows,
)
from bot.store.tables import ConversationRow, InteractionRow, TurnRow
from rag.types import ModelCall
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, message

TRACE: Trace = generic_outcome("").trace
ASKED = message("hi", platform="slack", channel="C1", private=False)
PEOPLE = Escalation("I'll ask.", "low_confidence", "VPN?")


def test_a_channel_is_named_with_its_platform_and_can_be_kept() -> None:
    assert channel_of(Thread("slack", "acme", "C1", "1")) == "slack:C1"
    assert channel_of(Thread("teams", "acme", "a\x00\ud800", "1")) == "teams:a\ufffd\ufffd"


def test_a_new_interaction_belongs_to_who_keeps_it() -> None:
    row = Rows().opened(ASKED, "me")

    assert (row["owner"], row["epoch"], row["status"]) == ("me", 1, "working")
    assert (row["tenant"], row["thread"]) == ("default", ASKED.thread.key)
    assert (row["channel"], row["person"]) == ("slack:C1", "anna")


def test_a_conversation_has_no_words_in_it() -> None:
    assert "hi" not in conversation_row(ASKED).values()


def test_a_turn_can_be_kept_whatever_was_said() -> None:
    said = turn_rows(ASKED, generic_outcome("a\x00b\ud800"))
    assert said[1]["text"] == "a\ufffdb\ufffd"


def test_what_is_left_alone_makes_no_turn_and_goes_to_nobody() -> None:
    silent = Outcome(PEOPLE, TRACE, silent=True)

    assert turn_rows(ASKED, silent) == []
    assert escalation_row(ASKED, silent, ReminderSchedule()) is None


@pytest.mark.parametrize(
    ("micro_usd", "usd"),
    [(None, None), (0, 0.0), (1_500_000, 1.5)],
    ids=["unknown", "free", "paid"],
)
def test_each_call_is_a_row_with_a_known_price(micro_usd: int | None, usd: float | None) -> None:
    call = ModelCall("answer", "large", "answer@1", 900, 80, 700.0, cost_micro_usd=micro_usd)
    outcome = Outcome(Reply("ok", "answer"), replace(TRACE, calls=(call, call)))

    rows = usage_rows(ASKED, outcome)

    assert [row["sequence"] for row in rows] == [1, 2]
    assert [row["cost_usd"] for row in rows] == [usd, usd]
    assert (rows[0]["input_tokens"], rows[0]["output_tokens"]) == (900, 80)
    assert usage_rows(ASKED, Outcome(Reply("ok", "answer"), TRACE)) == []


@pytest.mark.parametrize(
    ("response", "listed"),
    [
        (PEOPLE, True),
        (replace(PEOPLE, consent_needed=True), False),
        (Reply("ok", "answer"), False),
        (Clarification("Which?"), False),
    ],
    ids=["escalated", "offered", "answered", "asked back"],
)
def test_people_get_what_is_handed_over_and_agreed_to(response: Response, *, listed: bool) -> None:
    row = escalation_row(ASKED, Outcome(response, TRACE), ReminderSchedule())

    assert (row is not None) is listed
    assert row is None or (row["state"], row["question"]) == ("open", "VPN?")


@pytest.mark.parametrize("minutes", [0, 45])
def test_what_goes_to_people_says_who_asks_and_when_they_are_reminded(minutes: int) -> None:
    patience = ReminderSchedule(timedelta(minutes=minutes))

    row = escalation_row(ASKED, Outcome(PEOPLE, TRACE), patience)

    assert row is not None
    assert (row["asker"], row["private"]) == ("anna", False)
    opened_at = row["opened_at"]
    assert isinstance(opened_at, datetime)
    assert row["due_at"] == (opened_at + patience.after if minutes else None)
    first = opening_row(row)
    assert (first["number"], first["step"], first["actor"]) == (1, "open", "anna")
    assert first["at"] == opened_at


POSTGRESQL = URL.create("postgresql").get_dialect()()
SQLITE = URL.create("sqlite").get_dialect()()
THREAD = Thread("slack", "acme", "C1", "1")
REF = PostedRef("C1", "2")
CONVERSATION = {"tenant": "acme", "thread": "t", "last_at": NOON}


def filled(statement: Select[*tuple[Any, ...]], values: Mapping[str, object]) -> ClauseElement:
    """Return a prepared query with its values."""
    return statement.params(dict(values))


STATEMENTS: dict[str, Callable[[str], ClauseElement]] = {
    "insert_once": lambda dialect: queries.insert_once(dialect, InteractionRow, {"id": "i"}),
    "select_interaction": lambda _: filled(*queries.select_interaction("i")),
    "select_interaction_for_update": lambda _: filled(*queries.select_interaction_for_update("i")),
    "select_tenant": lambda _: queries.select_tenant("i"),
    "select_posted_at": lambda _: queries.select_posted_at("acme", REF),
    "select_answered": lambda _: queries.select_answered("acme", 5),
    "select_newest_of": lambda _: filled(*queries.select_newest_of(THREAD, "anna")),
    "select_in_thread": lambda _: queries.select_in_thread(THREAD, 5),
    "upsert": lambda dialect: queries.upsert(
        dialect, ConversationRow, CONVERSATION, key=("tenant", "thread"), changed=("last_at",)
    ),
    "finish": lambda _: work_queries.finish("i", NOON, {"outcome": "{}"})[0],
    "give_up": lambda _: work_queries.give_up("i", "The channel is gone."),
    "withdraw_interaction": lambda _: work_queries.withdraw_interaction("i", "{}", NOON),
    "finish_withdrawal": lambda _: work_queries.finish_withdrawal("i", "{}"),
    "keep_message": lambda _: work_queries.keep_message("i", "{}"),
    "begin_posting": lambda _: work_queries.begin_posting("i"),
    "count_attempt": lambda _: work_queries.count_attempt("i"),
    "mark_placeholder": lambda _: work_queries.mark_placeholder("i", REF),
    "replace_message": lambda _: work_queries.replace_message("i", "{}"),
    "mark_posted": lambda _: work_queries.mark_posted("i", REF)[0],
    "select_asked_before": lambda _: queries.select_asked_before(message("and?"), "vpn?"),
    "select_history": lambda _: filled(*queries.select_history(THREAD, "i", 5)),
    "refused_without_text": lambda _: queries.refused_without_text(),
    "append_stage": lambda _: work_queries.append_stage().values(interaction_id="i"),
    "insert_new": lambda dialect: queries.insert_new(dialect, TurnRow),
    "insert_opened": work_queries.insert_opened,
    "upsert_conversation": work_queries.upsert_conversation,
    "select_claim_for_update": lambda _: filled(*work_queries.select_claim_for_update("i")),
    "_select_newest_of": lambda _: queries._select_newest_of(),  # noqa: SLF001
    "_select_history": lambda _: queries._select_history(),  # noqa: SLF001
    "_select_claim": lambda _: work_queries._select_claim(),  # noqa: SLF001
    "_finish": lambda _: work_queries._finish(),  # noqa: SLF001
    "_mark_posted": lambda _: work_queries._mark_posted(),  # noqa: SLF001
    "select_stages": lambda _: queries.select_stages("i", 0),
    "select_feedback": lambda _: queries.select_feedback("i"),
    "delete_texts": lambda _: queries.delete_texts("i")[0],
    "not_withdrawn": lambda _: queries.not_withdrawn(),
    "has_acts": lambda _: queries.has_acts(InteractionRow.id),
    "is_of_tenant": lambda _: queries.is_of_tenant(InteractionRow.tenant.expression, "acme"),
    "utc_day": lambda dialect: queries.utc_day(dialect, InteractionRow.created_at.expression),
    "contains": lambda _: queries.contains(TurnRow.text, "Übung"),
    "_update": lambda _: work_queries._update("i").values(message="{}"),  # noqa: SLF001
    "delete_case": lambda _: queries.delete_case("i"),
    "select_notices_posted_to_asker": lambda _: queries.select_notices_posted_to_asker("i"),
}
LISTS = ("select_posted_at", "select_answered", "select_in_thread", "select_history")


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_is_valid_for_both_databases(name: str) -> None:
    build = STATEMENTS[name]

    assert str(build("postgresql").compile(dialect=POSTGRESQL))
    assert str(build("sqlite").compile(dialect=SQLITE))


def test_the_table_of_statements_is_complete() -> None:
    ours = {
        name
        for module in (queries, work_queries)
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }

    assert set(STATEMENTS) == ours


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_bounded_by_the_tenant(name: str) -> None:
    compiled = STATEMENTS[name]("postgresql").compile(dialect=POSTGRESQL)

    assert "tenant = " in str(compiled)
    assert "acme" in compiled.params.values()
