"""What the page shows of an answer."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.answering.reply_text import UNSURE_INTRO
from bot.answering.visibility import Visibility
from bot.domain.interactions import Escalation, Interaction, Outcome, Reply, Response, Trace
from bot.domain.messages import Activity, Stage
from bot.domain.messages import Intent as Intents
from bot.web.chat.answer_view import ExchangeView, exchange_view
from tests.bot.adapters.web.stand_in import SOURCE
from tests.builders import NOON, chunk, message, route


def answered(response: Response) -> Interaction:
    asked = message("vpn?")
    outcome = Outcome(response, Trace(route=route(Intents.DOMAIN, "vpn?")))
    return Interaction(asked.interaction_id, asked, "done", NOON, outcome)


def shown(interaction: Interaction, activity: Activity | None = None) -> ExchangeView:
    """Return the view for one who may read the page."""
    page = chunk(SOURCE.quote, chunk_id=SOURCE.chunk_id, page_id=SOURCE.page_id)
    return exchange_view(interaction, Visibility({page.id: page}), activity=activity)


def test_an_opened_source_shows_and_leads_to_the_line_that_answers() -> None:
    line, row = replace(SOURCE, line="Open it."), replace(SOURCE, line="| 809 | Wait |")
    view = shown(
        answered(Reply("From the wiki:\n\n> Open it.\n> Close it. [1]", "found", (line, row)))
    )

    assert parse_qs(urlsplit(view.sources[0].href).query)["quote"] == ["Open it."]
    assert "Close it." not in view.sources[0].quote
    assert "<td>809</td>" in view.sources[1].quote


def test_an_answer_in_own_words_leads_to_the_quote_of_its_source() -> None:
    view = shown(answered(Reply("> It is blocked. [1]", "answer", (SOURCE,))))

    assert parse_qs(urlsplit(view.sources[0].href).query)["quote"] == [SOURCE.quote]


def test_a_page_elsewhere_is_linked_as_it_is_and_other_addresses_are_not() -> None:
    addresses = ("https://wiki.example/vpn", "javascript:alert(1)", "//evil.example", "")
    sources = tuple(replace(SOURCE, url=url) for url in addresses)

    view = shown(answered(Reply("x [1]", "answer", sources)))

    assert [source.href for source in view.sources] == ["https://wiki.example/vpn", "", "", ""]


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (Activity(Stage.READING), "Reading what was found \u2026"),
        (Activity(Stage.READING, 1), "Reading 1 page \u2026"),
        (Activity(Stage.READING, 4), "Reading 4 pages \u2026"),
        (Activity(Stage.CHECKING, 4), "Checking the sources \u2026"),
        (None, "Got it \u2026"),
    ],
)
def test_who_waits_sees_how_many_pages_are_read(activity: Activity | None, words: str) -> None:
    asked = message("vpn?")
    working = Interaction(asked.interaction_id, asked, "working", NOON)

    assert shown(working, activity=activity).stage == words


def test_remarks_stand_below_the_answer() -> None:
    interaction = answered(Reply("Open it.", "generic"))
    assert interaction.outcome is not None
    remarked = replace(interaction.outcome, remarks=("I could not read <plan>.docx.",))

    view = shown(replace(interaction, outcome=remarked))

    assert view.remarks == ("I could not read <plan>.docx.",)


def test_suggested_pages_are_not_numbered_and_said_to_be_unconfirmed() -> None:
    view = shown(answered(Escalation("No.", "low_confidence", "x", (SOURCE,))))

    assert not view.numbered
    assert "haven't confirmed" in view.sources_label


def test_work_that_was_given_up_says_so() -> None:
    failed = replace(answered(Reply("x", "found")), outcome=None, status="failed")

    assert "ask again" in shown(failed).html


def test_a_long_question_is_named_by_its_beginning() -> None:
    asked = replace(answered(Reply("x", "found")), message=message("line\n" * 500))

    assert len(shown(asked).label) < 100


def test_a_guess_is_said_once_to_be_one_and_offers_a_person_and_thumbs() -> None:
    guess = Reply(
        f"{UNSURE_INTRO}:\n\n> {SOURCE.quote} [1]",
        "found",
        (SOURCE,),
        0.5,
        confidence_level="unsure",
    )

    view = shown(answered(guess))

    assert (view.heading, view.level) == (UNSURE_INTRO, "unsure")
    assert UNSURE_INTRO not in view.html
    assert SOURCE.quote in view.html
    assert view.can_ask_person
    assert view.rateable
