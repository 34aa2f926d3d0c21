"""Tests of the view of a response, also with quotes of the sample company's pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.app.components import open_components
from bot.chat.response_view import (
    COMPOSED_NOTE,
    ESCALATION_REASONS,
    activity_text,
    hand_over,
    render,
    web_url,
)
from bot.domain.interactions import Clarification, Reply
from bot.domain.messages import Activity, Message, Person, Stage, Thread
from bot.platforms.teams.rendering.labels import citations_of
from rag.parts import Quotation, paragraph
from tests.fakes.builders import NOON, inquiry, message
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, OFFERED, VPN, delivery
from tests.fakes.http_server import settings_for, write_index


def rendered(*, private: bool = False) -> Message:
    thread = Thread("web", "acme", "web", "t1")
    return Message("m1", thread, Person("u1"), "vpn?", datetime.now(UTC), private=private)


def test_sources_are_numbered_as_the_text_marks_them() -> None:
    shown = render(replace(ANSWER, sources=(VPN, LOCAL)), private=False)
    assert [(line.number, line.label) for line in shown.lines] == [
        (1, "VPN guide \u203a Reset"),
        (2, "Offices"),
    ]
    assert shown.heading == "Sources"


def test_remarks_are_a_line_each_and_have_an_end() -> None:
    quoted = replace(ANSWER, tone="found")
    shown = render(quoted, private=False, remarks=("I could not read\nplan.pdf.", "x " * 400))
    assert shown.remarks[0] == "I could not read plan.pdf."
    assert shown.remarks[1].endswith("\u2026")
    assert len(shown.remarks[1]) <= 300
    assert render(quoted, private=False).remarks == ()


@pytest.mark.parametrize(
    ("reply", "composed"),
    [
        (replace(ANSWER, parts=(paragraph("Restart it.", (1,)),)), True),
        (ANSWER, True),
        (replace(ANSWER, parts=(Quotation((paragraph("Restart it."),), (1,)),)), False),
        (replace(ANSWER, tone="found"), False),
        (replace(ANSWER, tone="generic"), False),
        (replace(ANSWER, refused=True), False),
    ],
    ids=["composed", "a record without parts", "translated quotes", "quoted", "talk", "refusal"],
)
def test_it_says_where_a_model_composed_the_answer(reply: Reply, *, composed: bool) -> None:
    assert (COMPOSED_NOTE in render(reply, private=True).remarks) == composed


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (Activity(Stage.RECEIVED), "is thinking \u2026"),
        (Activity(Stage.SEARCHING, 3), "is searching the wiki \u2026"),
        (Activity(Stage.READING), "is reading pages \u2026"),
        (Activity(Stage.READING, 1), "is reading 1 page \u2026"),
        (Activity(Stage.READING, 4), "is reading 4 pages \u2026"),
        (Activity(Stage.CHECKING), "is checking sources \u2026"),
        (Activity(Stage.DONE), ""),
        (Activity(Stage.FAILED), ""),
    ],
)
def test_one_sees_what_is_being_done(activity: Activity, words: str) -> None:
    assert activity_text(activity) == words


def test_only_absolute_web_addresses_are_linked() -> None:
    lines = render(replace(ANSWER, sources=(VPN, LOCAL)), private=False).lines
    assert [line.url for line in lines] == ["https://wiki.example.com/vpn?a=1&b=2", None]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://wiki.example/a b|c>d", "https://wiki.example/a%20b%7Cc%3Ed"),
        ("https://wiki.example/a_(b)", "https://wiki.example/a_%28b%29"),
        ("https://wiki.example/%C3%A9", "https://wiki.example/%C3%A9"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("//wiki.example/a", None),
        ("/pages/a", None),
        ("https://", None),
        ("https://user:secret@wiki.example/", None),
        ("https://[broken", None),
        ("https://wiki.example/" + "x" * 2000, None),
        ("", None),
    ],
)
def test_addresses(url: str, shown: str | None) -> None:
    assert web_url(url) == shown


def test_a_page_of_a_document_is_named() -> None:
    source = replace(VPN, document_page=3)
    line = render(replace(ANSWER, sources=(source,)), private=False).lines[0]
    assert line.label == "VPN guide \u203a Reset, page 3"


def test_a_title_that_is_missing_or_endless_is_still_a_label() -> None:
    sources = (replace(VPN, title=" ", section=""), replace(VPN, title="long " * 100, section=""))
    first, second = render(replace(ANSWER, sources=sources), private=False).lines
    assert first.label == "vpn.md"
    assert len(second.label) <= 150


def test_what_a_model_links_is_dead() -> None:
    reply = Reply(text="[click](https://evil.example) ![x](https://evil.example)", tone="answer")
    assert render(reply, private=False).text == "click x"


def test_a_clarification_lists_its_options_and_offers_pages_unconfirmed() -> None:
    asked = Clarification(text="Which?", options=("VPN", "Wifi"), suggestions=(VPN,))
    shown = render(asked, private=False)
    assert shown.text == "Which?\n\n- VPN\n- Wifi"
    assert "not confirmed" in shown.heading
    assert shown.lines[0].number is None


def test_the_way_to_a_person_is_said_where_an_answer_may_not_help() -> None:
    assert "Mention me" in render(ANSWER, private=False).footer
    assert "Reply" in render(ANSWER, private=True).footer
    assert render(Reply(text="Hello!", tone="generic"), private=True).footer == ""


def test_people_are_asked_once_a_hand_over_is_made() -> None:
    asked = hand_over(delivery(rendered(), HANDED_OVER))
    assert asked is not None
    assert (asked.question, asked.reason) == ("vpn down?", ESCALATION_REASONS["low_confidence"])
    assert [line.label for line in asked.lines] == ["VPN guide \u203a Reset"]


@pytest.mark.parametrize("response", [ANSWER, OFFERED])
def test_people_are_not_asked_before_that(response: Reply) -> None:
    assert hand_over(delivery(rendered(private=True), response)) is None


def test_pages_found_in_private_are_not_shown_to_the_people() -> None:
    asked = hand_over(delivery(rendered(private=True), HANDED_OVER))
    assert asked is not None
    assert asked.lines == ()


NETWORK = Path("infra/sample/it/network")


def _pages() -> dict[str, str]:
    return {page.name: page.read_text(encoding="utf-8") for page in NETWORK.glob("*.md")}


async def _quiet(_: Stage, __: int = 0) -> None:
    """Report to nobody."""


@pytest.mark.mended(id="ux-3")
async def test_the_line_that_answers_is_quoted_under_its_source(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    await write_index(settings, tmp_path / "pages", _pages())
    async with open_components(settings) as parts:
        outcome = await parts.desk.handle(inquiry(message("vpn says error 809, what now?")), _quiet)

    assert isinstance(outcome.response, Reply)
    assert "809" in outcome.response.sources[0].quote
    lines = render(outcome.response, private=True).lines
    abstract = citations_of(lines, {1}, NOON)[1]
    assert "809" in str(abstract)
