"""Tests of how the chat shows answers, stored pages and cases."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from bot.answering.reply_text import QUOTES_INTRO, UNSURE_INTRO
from bot.answering.visibility import Visibility
from bot.domain.cases import Act, Actor, ActorRole, Case, CaseStatus, CaseStep, State, Step
from bot.domain.interactions import (
    ConfidenceLevel,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Response,
    Source,
    Trace,
)
from bot.domain.messages import Activity, InteractionId, Stage
from bot.domain.messages import Intent as Intents
from bot.store.database import Store
from bot.web.chat.answer_view import ExchangeView, exchange_view
from bot.web.chat.case_card import case_card
from bot.web.chat.stored_pages import MAX_QUOTES, has_highlight, page_parts
from rag.parts import Quotation, paragraph
from rag.types import ANSWER_SOURCE
from tests.fakes.builders import NOON, chunk, message, route
from tests.fakes.chat_app import SOURCE, Browser

pytestmark = pytest.mark.attack


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


def test_a_persons_answer_is_not_shown_as_from_the_wiki() -> None:
    theirs = Reply("**Standard answer**\n\nIn bay 7. [1]", "found", (answer_source(),))
    assert "colleague" in shown(answered(theirs)).heading
    assert "wiki" in shown(answered(replace(theirs, sources=(SOURCE,)))).heading


def answer_source() -> Source:
    return replace(SOURCE, source_type=ANSWER_SOURCE)


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
    assert "Pages that may help (not confirmed)" in view.sources_label


def test_work_that_was_given_up_says_so() -> None:
    failed = replace(answered(Reply("x", "found")), outcome=None, status="failed")

    assert "ask again" in shown(failed).notice


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
        parts=(Quotation((paragraph(SOURCE.quote),), (1,)),),
    )

    view = shown(answered(guess))

    assert (view.heading, view.level) == (UNSURE_INTRO, "unsure")
    assert UNSURE_INTRO not in view.html
    assert SOURCE.quote in view.html
    assert view.can_ask_person
    assert view.rateable


@pytest.mark.parametrize(
    ("intro", "level"), [(QUOTES_INTRO, "sure"), (f"{UNSURE_INTRO}:", "unsure")]
)
def test_an_answer_recorded_as_text_has_its_intro_in_the_heading_only(
    intro: str, level: ConfidenceLevel
) -> None:
    text = f"{intro}\n\n> {SOURCE.quote} [1]"

    view = shown(answered(Reply(text, "found", (SOURCE,), 0.5, confidence_level=level)))

    assert view.heading == intro.removesuffix(":")
    assert view.heading not in view.html
    assert "<blockquote>" in view.html


OVERLAP = "The last sentence of the first part is repeated. "


def test_an_overlap_between_two_parts_of_a_section_is_shown_once() -> None:
    first = chunk("One. " + OVERLAP.strip(), chunk_id="a", section="Setup")
    second = chunk(OVERLAP + "Two.", chunk_id="b", section="Setup", ordinal=1)

    parts = page_parts([first, second], chunk_id="", quotes=())

    assert "repeated" in parts[0].html
    assert "repeated" not in parts[1].html


def test_an_overlap_that_is_quoted_stays() -> None:
    first = chunk("One. " + OVERLAP.strip(), chunk_id="a", section="Setup")
    second = chunk(OVERLAP + "Two.", chunk_id="b", section="Setup", ordinal=1)

    parts = page_parts([first, second], chunk_id="b", quotes=[OVERLAP.strip()])

    assert "<mark" in parts[1].html


def test_a_heading_is_shown_once() -> None:
    parts = page_parts(
        [
            chunk("One.", chunk_id="a", section="Setup"),
            chunk("Two.", chunk_id="b", section="Setup"),
        ],
        chunk_id="",
        quotes=(),
    )

    assert [part.heading for part in parts] == ["Setup", ""]


def test_a_paged_document_shows_its_pages() -> None:
    pages = [replace(chunk(f"Text {n}.", chunk_id=str(n)), document_page=n) for n in (1, 2)]

    assert [part.heading for part in page_parts(pages, chunk_id="", quotes=())] == [
        "Page 1",
        "Page 2",
    ]


def test_an_empty_page_has_no_parts() -> None:
    assert page_parts([], chunk_id="", quotes=()) == ()


def test_a_quote_is_found_again_when_its_chunk_was_replaced() -> None:
    kept = chunk("Two. Call IT.", chunk_id="new", section="Setup", ordinal=1)

    parts = page_parts([chunk("One.", chunk_id="a"), kept], chunk_id="old", quotes=["Call IT."])

    assert "<mark" in parts[1].html
    assert has_highlight(parts)


def test_a_quote_that_is_no_longer_there_is_not_highlighted() -> None:
    parts = page_parts([chunk("One.", chunk_id="a")], chunk_id="a", quotes=["Two."])

    assert not has_highlight(parts)


def test_no_more_quotes_are_looked_for_than_an_answer_has() -> None:
    """An address has room for a thousand, and each is looked for in every line of a page."""
    found = page_parts([chunk("The last line.")], chunk_id="", quotes=["none of it"] * MAX_QUOTES)
    late = [*["none of it"] * MAX_QUOTES, "The last line."]

    assert not has_highlight(found)
    assert not has_highlight(page_parts([chunk("The last line.")], chunk_id="", quotes=late))


ANNA = Actor("anna-it", "Anna Lopez", "expert")
BEN = Actor("ben-it", "Ben Okafor", "expert")
CASE = InteractionId("00000000-0000-0000-0000-000000000001")


def case(state: State) -> Case:
    return Case(
        interaction_id=CASE,
        tenant="default",
        status=CaseStatus(state, "anna-it", "Anna Lopez"),
        reason="asked_for_human",
        question="a person, please",
        asker_id="visitor",
        asker_name="",
        channel="web:visitor",
        private=True,
        opened_at=NOON,
        changed_at=NOON,
        version=3,
    )


def step(what: Step, actor: Actor | None = ANNA, text: str = "", number: int = 1) -> CaseStep:
    return CaseStep(CASE, number, what, actor, text, NOON)


@pytest.mark.parametrize(
    ("state", "step_", "headline", "close", "can_reopen"),
    [
        ("open", "open", "Waiting for a person", "No longer needed", False),
        ("claimed", "claim", "Anna Lopez is working on it", "No longer needed", False),
        ("answered", "reply", "Anna Lopez replied", "This helped, close it", True),
        ("resolved", "resolve", "Closed", "", True),
        ("declined", "decline", "Anna Lopez can't help with this", "", True),
        ("reopened", "reopen", "Waiting for a person again", "No longer needed", False),
    ],
)
def test_each_state_says_where_it_stands_and_what_can_be_done(
    state: State, step_: Step, headline: str, close: str, *, can_reopen: bool
) -> None:
    view = case_card(case(state), [step(step_)])

    assert (view.headline, view.close, view.can_reopen) == (headline, close, can_reopen)


def test_what_people_and_the_asker_said_is_told_apart() -> None:
    asker = Actor("visitor", "", "asker")
    steps = [
        step("open", asker),
        step("claim"),
        step("reply", text="Try port 443."),
        step("reopen", asker, "It still fails."),
        step("ping", None),
        step("reopen", asker),
        step("resolve", asker),
    ]

    said = case_card(case("resolved"), steps).said

    assert [(each.name, each.mine, each.note, str(each.html)) for each in said] == [
        ("Anna Lopez", False, "", "Try port 443."),
        ("You", True, "", "It still fails."),
        ("You", True, "You asked again", ""),
        ("You", True, "You closed it", ""),
    ]


@pytest.mark.parametrize("role", ["asker", "expert"])
def test_who_answers_is_a_person_even_where_they_asked_themselves(role: ActorRole) -> None:
    steps = [step("reply", Actor("visitor", "", role), "Try port 443.")]

    (said,) = case_card(case("answered"), steps).said

    assert said.mine == (role == "asker")


def test_reminders_are_told_only_while_somebody_waits() -> None:
    assert case_card(replace(case("open"), pings=2), [step("open")]).pings == 2
    assert case_card(replace(case("answered"), pings=2), [step("reply")]).pings == 0


async def ask_for_a_person(browser: Browser) -> tuple[str, InteractionId]:
    """Ask for a person; return the exchange's path and the case's id."""
    path, answer = await browser.ask("a person, please")
    assert "Waiting for a person" in answer
    return path, InteractionId(path.rpartition("/")[2])


async def acted(store: Store, case_id: InteractionId, act: Act, text: str = "") -> None:
    await store.escalations.act("default", case_id, act, ANNA, text)


async def test_asking_for_a_person_shows_at_once_how_it_stands(browser: Browser) -> None:
    path, _ = await browser.ask("pet insurance?")
    asked = re.search(r'id="x-([^"]+)"', await browser.post(f"{path}/person"))
    assert asked
    place = f"{path.rpartition('/')[0]}/{asked.group(1)}"
    while "working" in (answer := await browser.get(place)):
        pass

    assert "Waiting for a person" in answer
    assert "Waiting for a person" in await browser.get("/")


async def test_an_answer_that_went_to_nobody_has_no_card(browser: Browser) -> None:
    path, answer = await browser.ask("error 809")

    assert 'class="case' not in answer
    await browser.get(f"{path}/case", status=404)
    await browser.post(f"{path}/case", status=404, act="resolve")


async def test_a_persons_reply_is_theirs_in_dead_markup(browser: Browser, store: Store) -> None:
    path, case_id = await ask_for_a_person(browser)
    await acted(store, case_id, "claim")
    assert "Anna Lopez is working on it" in await browser.get(f"{path}/case")

    await acted(store, case_id, "reply", "Try this:\n<b>443</b> https://help.example/vpn")

    card = await browser.get(f"{path}/case")
    assert "Anna Lopez replied" in card
    assert "a person</span>" in card
    assert "Try this:\n&lt;b&gt;443&lt;/b&gt;" in card
    assert '<a href="https://help.example/vpn"' in card
    assert card.strip() in await browser.get("/")


async def test_a_card_that_is_known_is_not_sent_again(browser: Browser, store: Store) -> None:
    path, case_id = await ask_for_a_person(browser)
    version = re.search(r"version=(\d+)", await browser.get(f"{path}/case"))
    assert version

    await browser.get(f"{path}/case?version={version.group(1)}", status=204)

    await acted(store, case_id, "claim")
    await browser.get(f"{path}/case?version={version.group(1)}")


async def test_the_asker_closes_it_and_opens_it_again_with_what_is_missing(
    browser: Browser, store: Store
) -> None:
    path, case_id = await ask_for_a_person(browser)
    await acted(store, case_id, "reply", "Try port 443.")

    closed = await browser.post(f"{path}/case", act="resolve")
    opened = await browser.post(f"{path}/case", act="reopen", text="It\r\nstill fails.")

    assert "You closed it" in closed
    assert "Waiting for a person again" in opened
    steps = await store.escalations.steps("default", case_id)
    assert [(each.step, each.text) for each in steps][-2:] == [
        ("resolve", ""),
        ("reopen", "It\nstill fails."),
    ]


async def test_what_cannot_be_done_now_is_said_on_the_card(browser: Browser, store: Store) -> None:
    path, case_id = await ask_for_a_person(browser)
    await acted(store, case_id, "claim")

    card = await browser.post(f"{path}/case", act="reopen")

    assert 'role="alert"' in card
    assert "Anna Lopez is working on it" in card


@pytest.mark.parametrize(
    "form", [{"act": "claim"}, {"act": ""}, {"act": "reopen", "text": "x" * 1001}]
)
async def test_an_act_not_the_askers_is_refused(browser: Browser, form: dict[str, str]) -> None:
    path, _ = await ask_for_a_person(browser)

    await browser.post(f"{path}/case", status=422, **form)


async def test_nobody_else_sees_or_closes_it(browser: Browser, store: Store) -> None:
    path, case_id = await ask_for_a_person(browser)

    browser.client.session.cookie_jar.clear()

    await browser.get(f"{path}/case", status=404)
    await browser.post(f"{path}/case", status=404, act="resolve")
    kept = await store.escalations.get("default", case_id)
    assert kept is not None
    assert kept.status.state == "open"


async def test_without_scripts_a_button_leads_back_to_the_page(browser: Browser) -> None:
    path, case_id = await ask_for_a_person(browser)
    origin = str(browser.client.make_url("/")).rstrip("/")

    sent = await browser.client.post(
        f"{path}/case", data={"act": "resolve"}, headers={"Origin": origin}, allow_redirects=False
    )

    assert (sent.status, sent.headers["Location"]) == (303, f"/#x-{case_id}")
    assert "You closed it" in await browser.get("/")


async def test_a_withdrawn_question_takes_its_card_with_it(browser: Browser) -> None:
    path, _ = await ask_for_a_person(browser)

    await browser.post(f"{path}/withdraw")

    await browser.get(f"{path}/case", status=404)
