from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import ClauseElement
from sqlalchemy.engine.url import URL

from bot.domain.interactions import PostedRef
from bot.domain.messages import Thread
from bot.store import queries
from bot.store.tables import InteractionRow
from tests.builders import NOON, message

POSTGRESQL = URL.create("postgresql").get_dialect()()
SQLITE = URL.create("sqlite").get_dialect()()
THREAD = Thread("slack", "acme", "C1", "1")
REF = PostedRef("C1", "2")
CONVERSATION = {"tenant": "acme", "thread": "t", "last_at": NOON}

STATEMENTS: dict[str, Callable[[str], ClauseElement]] = {
    "insert_once": lambda dialect: queries.insert_once(dialect, InteractionRow, {"id": "i"}),
    "interaction": lambda _: queries.select_interaction("i"),
    "held": lambda _: queries.select_interaction_for_update("i"),
    "posted_at": lambda _: queries.select_posted_at("acme", REF),
    "answered": lambda _: queries.select_answered("acme", 5),
    "newest_of": lambda _: queries.select_newest_of(THREAD, "anna"),
    "in_thread": lambda _: queries.select_in_thread(THREAD, 5),
    "see_conversation": lambda dialect: queries.upsert_conversation(dialect, CONVERSATION),
    "finish": lambda _: queries.finish("i", NOON, {"outcome": "{}"}),
    "give_up": lambda _: queries.give_up("i", "The channel is gone."),
    "forget": lambda _: queries.withdraw_interaction("i", "{}", NOON),
    "forgotten": lambda _: queries.finish_withdrawal("i", "{}"),
    "keep_message": lambda _: queries.keep_message("i", "{}"),
    "begin_posting": lambda _: queries.begin_posting("i"),
    "count_attempt": lambda _: queries.count_attempt("i"),
    "mark_placeholder": lambda _: queries.mark_placeholder("i", REF),
    "replace_message": lambda _: queries.replace_message("i", "{}"),
    "mark_posted": lambda _: queries.mark_posted("i", REF),
    "asked_before": lambda _: queries.select_asked_before(message("and?"), "vpn?"),
    "history": lambda _: queries.select_history(THREAD, "i", 5),
    "refused_without_text": lambda _: queries.refused_without_text(),
    "last_stage": lambda _: queries.select_last_stage("i"),
    "stages": lambda _: queries.select_stages("i", 0),
    "rate": lambda dialect: queries.upsert_feedback(
        dialect, "acme", {"interaction_id": "i", "person": "p"}
    ),
    "unrate": lambda _: queries.delete_feedback("i", "p"),
    "feedback": lambda _: queries.select_feedback("i"),
    "forget_rows": lambda _: queries.delete_texts("i")[0],
    "forget_case": lambda _: queries.delete_case("i"),
    "told": lambda _: queries.select_notices_posted_to_asker("i"),
}
LISTS = ("posted_at", "answered", "in_thread", "history")


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_is_valid_for_both_databases(name: str) -> None:
    build = STATEMENTS[name]

    assert str(build("postgresql").compile(dialect=POSTGRESQL))
    assert str(build("sqlite").compile(dialect=SQLITE))


def test_the_table_of_statements_is_complete() -> None:
    made = {name for name, value in vars(queries).items() if callable(value)}
    ours = {name for name in made if getattr(queries, name).__module__ == queries.__name__}

    assert set(STATEMENTS) == ours


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_bounded_by_the_tenant(name: str) -> None:
    compiled = STATEMENTS[name]("postgresql").compile(dialect=POSTGRESQL)

    assert "tenant = " in str(compiled)
    assert "acme" in compiled.params.values()
