"""Tests of the board's filters, labels and responses, and of who may see its pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.asker_identity import Reader
from bot.answering.visibility import RecordedPassage, Visibility, visibility_of
from bot.domain.cases import State
from bot.domain.interactions import (
    REASONS,
    Clarification,
    ConfidenceLevel,
    Escalation,
    EscalationReason,
    Reply,
    Response,
    Source,
    Status,
)
from bot.domain.messages import Intent, InteractionId
from bot.domain.outcomes import AnswerType
from bot.domain.record_search import AskedQuestion, Cursor, FeedbackQuery, QuestionQuery
from bot.store.database import Store
from bot.web.board import labels
from bot.web.board.layout import (
    MAX_FIELD_LENGTH,
    FilterForm,
    feedback_query,
    list_link,
    paging,
    question_query,
)
from bot.web.board.responses import response_view
from rag.errors import IndexUnavailable
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.board_app import BoardBrowser, ask, board
from tests.fakes.builders import NOON, chunk

NAMES = ("words", "kind", "intent", "platform", "person", "vote", "since", "until", "least", "most")


def test_nothing_typed_narrows_nothing() -> None:
    assert question_query(FilterForm({})) == QuestionQuery()
    assert feedback_query(FilterForm({})) == FeedbackQuery()


def test_all_that_is_typed_is_looked_for() -> None:
    fields = FilterForm({"words": " vpn ", "kind": "RAG", "intent": "DOMAIN", "vote": "none"})

    assert question_query(fields) == QuestionQuery(
        words="vpn", answer_type="RAG", intent=Intent.DOMAIN, vote="none"
    )


@pytest.mark.parametrize("level", ["partial", "unsure"])
def test_parts_and_guesses_are_looked_for_by_themselves(level: ConfidenceLevel) -> None:
    assert question_query(FilterForm({"kind": level})) == QuestionQuery(level=level)


def test_both_days_are_included() -> None:
    query = question_query(FilterForm({"since": "2026-11-21", "until": "2026-11-22"}))

    assert query.since == datetime(2026, 11, 21, tzinfo=UTC)
    assert query.until == datetime(2026, 11, 23, tzinfo=UTC)


@pytest.mark.parametrize(("typed", "share"), [("0", 0.0), ("65", 0.65), ("65%", 0.65), ("100", 1)])
def test_a_confidence_is_typed_in_percent(typed: str, share: float) -> None:
    assert question_query(FilterForm({"least": typed})).least == share


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("since", "yesterday", "First day: \u201cyesterday\u201d is not a date."),
        ("until", "2026-02-30", "Last day: \u201c2026-02-30\u201d is not a date."),
        ("least", "101", "Minimum confidence: \u201c101\u201d is not a percentage."),
        ("most", "nan", "Maximum confidence: \u201cnan\u201d is not a percentage."),
    ],
)
def test_what_is_none_is_left_out_and_said(name: str, typed: str, said: str) -> None:
    fields = FilterForm({name: typed})

    assert question_query(fields) == QuestionQuery()
    assert [trouble[: len(said)] for trouble in fields.troubles] == [said]


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=2 * MAX_FIELD_LENGTH)))
def test_nothing_that_can_be_typed_breaks_it(given_: dict[str, str]) -> None:
    fields = FilterForm(given_)
    query = question_query(fields)

    assert len(query.words) <= MAX_FIELD_LENGTH
    assert len(fields.troubles) <= 4


def test_the_last_day_there_is_has_no_next() -> None:
    query = question_query(FilterForm({"until": "9999-12-31"}))

    assert query.until == datetime(9999, 12, 31, tzinfo=UTC)


def test_a_link_keeps_the_filters_that_are_set() -> None:
    assert list_link("/p", {"words": "a & b", "kind": ""}) == "/p?words=a+%26+b"
    assert list_link("/p", {"words": ""}) == "/p"


def test_a_page_links_to_the_first_one_and_to_the_next() -> None:
    here = Cursor(NOON, ("5",))

    assert paging("/p", {"words": "a"}, None, None) == {"first": "", "more": ""}
    assert paging("/p", {"words": "a"}, here, None) == {"first": "/p?words=a", "more": ""}
    assert paging("/p", {}, None, here)["more"].startswith("/p?after=")


ASKED = AskedQuestion(
    InteractionId("i1"), NOON, "Where?", "anna", "", "web:anna", private=True, status="done"
)


def test_no_term_is_without_words() -> None:
    assert set(labels.STATES) == set(get_args(State))
    assert set(labels.REASONS) == set(get_args(EscalationReason))
    assert set(labels.BECAME) == set(get_args(AnswerType))
    assert set(labels.INTENTS) == set(Intent)
    assert set(labels.JUDGED) == set(REASONS)


def test_every_question_became_something() -> None:
    cases, kinds = (None, *get_args(State)), (None, *get_args(AnswerType))
    for status, case, kind in product(get_args(Status), cases, kinds):
        question = replace(ASKED, status=status, case=case, answer_type=kind)
        assert labels.became(question), question


@pytest.mark.parametrize(
    ("channel", "private", "said"),
    [
        ("slack:C1", False, "Slack, channel C1"),
        ("slack:D1", True, "Slack, direct message"),
        ("web:visitor-1", True, "Web chat"),
        ("pigeon:loft", False, "pigeon, channel loft"),
        ("", False, ""),
    ],
)
def test_a_place_is_named_as_people_know_it(channel: str, said: str, *, private: bool) -> None:
    assert labels.place(channel, private=private) == said


def test_a_long_text_is_one_short_line() -> None:
    assert labels.one_line("a\n b") == "a b"
    assert len(labels.one_line("word " * 500)) <= 240
    assert labels.one_line(" \n") == "(no text)"


def test_a_clock_that_is_behind_counts_as_no_time() -> None:
    assert labels.age(timedelta(seconds=-5)) == "less than a minute"
    assert labels.age(timedelta(minutes=5)) == "5\xa0min"


PAGE = chunk("Use port 4500. Ask Bea.", section="Ports")
CITED = Source(
    PAGE.id, PAGE.page_id, PAGE.title, "", PAGE.section, "Use port 4500.", None, 1.0, "folder", ""
)
SEEING = Visibility({PAGE.id: PAGE})


def quoting(*sources: Source) -> Reply:
    return Reply("Use port 4500. [1]", "found", sources)


class UnavailableIndex:
    """An index that can't be asked."""

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        raise IndexUnavailable("The disk is away.")


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (PAGE, True),
        (replace(PAGE, text="Ask Bea."), False),
        (replace(PAGE, title="Payroll"), False),
        (replace(PAGE, section="Doors"), False),
    ],
    ids=["as it was", "quote gone", "another page", "another section"],
)
def test_an_answer_is_shown_while_its_quotes_are_on_open_pages(page: Chunk, *, seen: bool) -> None:
    assert Visibility({page.id: page}).shows(quoting(CITED)) is seen


@pytest.mark.parametrize(
    "response",
    [
        quoting(CITED, replace(CITED, chunk_id="secret")),
        Clarification("VPN or payroll?", suggestions=(CITED, replace(CITED, chunk_id="secret"))),
    ],
)
def test_one_page_that_may_not_be_read_hides_all_that_names_it(response: Response) -> None:
    assert not SEEING.shows(response)


def test_of_what_could_be_meant_only_pages_that_may_be_read_are_named() -> None:
    meant = Clarification("Which?", ("VPN: Ports", "Salary bands"), suggestions=(CITED,))

    assert response_view(meant, "a", SEEING).options == ("VPN: Ports",)


def test_what_is_said_at_a_hand_over_names_no_page() -> None:
    assert Visibility().shows(Escalation("Shall I ask?", "nothing_found", "vpn?", (CITED,)))


def test_pages_that_may_not_be_read_are_counted_and_left_out() -> None:
    found = (CITED, replace(CITED, chunk_id="secret"))

    assert SEEING.seen(found) == (CITED,)
    assert SEEING.hidden(found) == 1


async def test_while_the_index_is_away_nothing_is_seen() -> None:
    blind = await visibility_of(
        UnavailableIndex(), "default", [CITED], Reader(frozenset({EVERYONE}))
    )

    assert blind.blind
    assert not blind.shows(quoting(CITED))


WORK_PAGES = ("/board/escalations", "/board/questions", "/board/feedback")


async def every_page(store: Store) -> list[str]:
    recorded = await ask(store)
    case = f"/board/escalations/{recorded.id}"
    return [
        *WORK_PAGES,
        "/board/escalations/list",
        case,
        f"{case}/news?version=0",
        f"/board/questions/{recorded.id}",
    ]


async def test_who_only_asks_sees_nothing_of_it(desk: BoardBrowser, store: Store) -> None:
    for path in await every_page(store):
        page = await desk.of("mika").get(path, 403)
        assert "You don&#39;t have access" in page
        assert "Ask whoever runs Frontdesk for it" in page
        assert "vpn" not in page


async def test_who_only_asks_does_nothing_to_it(desk: BoardBrowser, store: Store) -> None:
    recorded = await ask(store)

    await desk.of("mika").post(f"/board/escalations/{recorded.id}", 403, act="claim")

    assert len(await store.escalations.steps("default", recorded.id)) == 1


@pytest.mark.parametrize("who", ["anna", "admin"])
async def test_experts_and_admins_see_all_of_it(desk: BoardBrowser, store: Store, who: str) -> None:
    for path in await every_page(store):
        await desk.of(who).get(path, 204 if "news" in path else 200)


async def test_programs_are_told_as_programs(desk: BoardBrowser) -> None:
    response = await desk.client.get(WORK_PAGES[0], headers={"X-Who": "mika"})

    assert (response.status, response.content_type) == (403, "application/problem+json")


async def test_another_tenants_record_does_not_exist(
    desk: BoardBrowser, store: Store, tmp_path: Path
) -> None:
    case, question = (await every_page(store))[4], (await every_page(store))[6]
    async with board(tmp_path, store, tenant="other") as others:
        for path in WORK_PAGES:
            assert "vpn" not in await others.get(path)
        for path in (case, f"{case}/news?version=0", question):
            await others.get(path, 404)
        await others.post(case, 404, act="claim")

    assert "Assigned to you" not in await desk.get(case)


async def test_another_site_cannot_act_for_an_expert(desk: BoardBrowser, store: Store) -> None:
    path = f"/board/escalations/{(await ask(store)).id}"
    headers = {"X-Who": "anna", "Origin": "https://evil.example"}

    response = await desk.client.post(path, data={"act": "claim"}, headers=headers)

    assert response.status == 403
    assert len(await store.escalations.steps("default", path.rpartition("/")[2])) == 1  # type: ignore[arg-type]  # an id


async def test_a_page_that_there_is_not_is_told_as_a_page(desk: BoardBrowser) -> None:
    assert "Not found" in await desk.get("/board/nonsense", 404)
