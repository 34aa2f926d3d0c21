"""Test what a card shows, and that nothing of what others wrote is alive on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.domain.cases import THREAD_NOT_READ, Actor, CaseStatus, CaseStep, State, Step
from bot.domain.interactions import Source
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.texts import load_catalogue
from bot.escalations.case_view import CaseLinks, CaseView
from bot.escalations.lifecycle import MORE_ACTS
from bot.platforms.teams.case_card import (
    PresserNote,
    card_message,
    case_card,
)
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, CONTENT_BUDGET, size
from tests.fakes.desk import LOCAL, VPN
from tests.fakes.escalations import case_of
from tests.fakes.teams import cards
from tests.fakes.teams.cards import check_card

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
WAYS = CaseLinks(
    "https://teams.microsoft.com/l/message/19%3Ax/1", "https://desk.example.com/board/x"
)
HOSTILE = st.text(alphabet='<>&|!@#*`_~ \n\\"{}https:/.evil[]()\x00\x1b', max_size=400)
ATTACKS = [
    "<at>Everyone</at>",
    "[click](https://evil.example) ![p](https://evil.example/x.png)",
    "https://evil.example/?q=1 www.evil.example",
    "{{DATE(2026-11-22T12:00:00Z, SHORT)}}",
    "\n" * 3000,
    '"' * 5000,
    "\\" * 5000,
    "\x01" * 5000,
    "\U0001f389" * 5000,
    "line\n" * 900,
]
ASKED = Message(
    "1700000000001",
    Thread("teams", "acme", "19:help@thread.tacv2", "1700000000000"),
    Person("alice-object-id", "Alice"),
    "vpn down?",
    NOW,
)


STEPS = [step for step in get_args(Step) if step not in MORE_ACTS]


def seen(
    state: State = "open",
    words: str = "vpn down?",
    *,
    name: str = "Anna Lopez",
    sources: tuple[Source, ...] = (VPN,),
    hidden: int = 0,
    withheld: bool = False,
    missing: str = "",
) -> CaseView:
    owner = CaseStatus(state, "a", name) if state in {"claimed", "answered"} else CaseStatus(state)
    actor = Actor("a", name, "expert")
    steps = [
        CaseStep(ASKED.interaction_id, number, step, actor, words, NOW - timedelta(minutes=5))
        for number, step in enumerate(STEPS, start=1)
    ]
    exchange = EarlierExchange(InteractionId("e"), words, words, NOW, withheld=withheld)
    return CaseView(
        case=case_of(
            ASKED,
            question=words,
            asker_name=name,
            status=owner,
            opened_at=NOW,
            changed_at=NOW,
        ),
        steps=tuple(steps),
        finding=SearchFinding(
            ASKED.interaction_id, words, "", None, None, sources, (), hidden, missing
        ),
        before=(exchange,) * 5,
    )


def card(
    view: CaseView,
    ways: CaseLinks = WAYS,
    message: Message = ASKED,
    **more: Any,  # noqa: ANN401
) -> cards.Card:
    made = case_card(message, view, ways, now=NOW, **more)
    check_card(made)
    return made


def text(view: CaseView, ways: CaseLinks = WAYS, message: Message = ASKED) -> str:
    return cards.words(card(view, ways, message))


def markdown_of(made: cards.Card) -> Iterator[str]:
    """Yield all text that Teams reads as Markdown; what is in a TextRun it shows as it is."""
    for element in cards.elements(made):
        if element["type"] == "TextBlock":
            yield str(element["text"])


@example("{{{", "open")
@given(HOSTILE, st.sampled_from(get_args(State)))
def test_what_people_wrote_is_never_read_as_markdown(words: str, state: State) -> None:
    marked = f"{words}evil-words"
    made = card(seen(state, marked, name=marked, sources=(), missing=marked))
    assert not [line for line in markdown_of(made) if "evil-words" in line]
    assert "{{" not in json.dumps([each for each in cards.elements(made) if _is_run(each)])


@example("{{DATE(2026-11-22T12:00:00Z)}}")
@given(HOSTILE)
def test_titles_of_pages_are_labels_of_links_that_code_made(title: str) -> None:
    page = replace(VPN, title=title, section=title, page_id=title or "p")
    for line in markdown_of(card(seen(sources=(page,)))):
        assert line.count("](http") <= 2
        assert "<" not in line
        assert "{{" not in line or "](http" not in line


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: repr(attack[:8]))
@pytest.mark.parametrize("state", get_args(State))
def test_whatever_was_written_it_fits(attack: str, state: State) -> None:
    page = replace(VPN, title=attack, section=attack, space=attack)
    view = seen(state, attack, name=attack, sources=(page,) * 5)
    assert size(card_message(ASKED, view, WAYS, now=NOW)) <= ACTIVITY_BUDGET
    assert size(card(view, note=PresserNote("No.", attack))) <= CONTENT_BUDGET + 8_000


def test_a_card_says_who_asked_what_where_and_why() -> None:
    lines = text(replace(seen(), steps=())).splitlines()
    board = f"[Open on the board]({WAYS.board})"
    assert lines[:4] == [
        "A question for a person",
        " from Anna Lopez: the asker wants a person",
        "> vpn down?",
        f"[Open thread]({WAYS.thread}) \u00b7 {board} \u00b7 {THREAD_NOT_READ}",
    ]


def test_a_message_with_a_card_says_in_the_notification_what_it_is() -> None:
    shown = card_message(ASKED, seen(), WAYS, now=NOW)
    assert shown["summary"] == "A question for a person from Anna Lopez"
    assert "text" not in shown


def test_a_personal_chat_has_no_link() -> None:
    shown = text(seen(), CaseLinks(), replace(ASKED, private=True))
    assert "Asked in a personal chat" in shown
    assert "Open thread" not in shown


@pytest.mark.parametrize(
    ("kind", "where"),
    [("channel", "Asked in a channel"), ("groupChat", "Asked in a group chat")],
)
def test_where_no_link_leads_it_says_what_kind_of_place_it_was(kind: str, where: str) -> None:
    there = json.dumps({"conversation": {"id": "x", "conversationType": kind}})
    shown = text(seen(), CaseLinks(), replace(ASKED, reply_to=there))
    assert f"{where} \u00b7 {THREAD_NOT_READ}" in shown.splitlines()


def test_pages_are_linked_by_addresses_that_code_made() -> None:
    ways = replace(WAYS, public_url="https://desk.example.com")
    shown = text(seen(sources=(VPN, LOCAL)), ways)
    assert "Pages found (not confirmed)" in shown
    assert "](https://wiki.example.com/vpn?a=1&b=2)" in shown
    assert "[Offices](https://desk.example.com/pages/offices)" in shown
    unsafe = replace(VPN, url="javascript:alert(1)")
    assert "javascript" not in text(seen(sources=(unsafe,)))


def test_pages_that_not_everyone_may_read_are_counted() -> None:
    assert "2 more pages were found that not everyone can read." in text(seen(hidden=2))
    assert "1 more page was found" in text(seen(sources=(), hidden=1))


def test_what_went_before_is_short_and_withheld_where_it_must_be() -> None:
    assert text(seen(words="word " * 40)).count("\u2192") == 5
    assert "an answer from pages that not everyone can read" in text(seen(withheld=True))


@pytest.mark.mended(id="teams-6")
@pytest.mark.parametrize("code", ["`vpn.quillmoor.example`", "```sh\nvpn.quillmoor.example\n```"])
def test_code_is_shown_without_its_backticks(code: str) -> None:
    shown = text(seen(words=f"Is {code} up?"))
    assert "vpn.quillmoor.example" in shown
    assert "`" not in shown


def said_before(answer: str) -> str:
    """Return the elements of an earlier answer on a card, as JSON."""
    view = seen()
    before = (replace(view.before[0], answer=answer),)
    return json.dumps(case_card(ASKED, replace(view, before=before), WAYS, now=NOW))


@pytest.mark.parametrize("said", ["**If not: ask Ann.** Then wait.", "2 ** 3 and **kwargs"])
def test_decisive_lines_of_an_earlier_answer_have_no_stars(said: str) -> None:
    view = seen()
    answered = replace(view.before[0], answer=f"> {said}")
    shown = text(replace(view, before=(answered,)))
    assert (said in shown) is ("kwargs" in said)
    assert ("If not: ask Ann. Then wait." in shown) is ("kwargs" not in said)


def test_code_of_an_earlier_answer_is_whole_or_left_out() -> None:
    shown = said_before("Run:\n\n```sh\nvpn up\n  vpn test\n```")
    assert '"codeSnippet": "vpn up\\n  vpn test"' in shown
    long = "vpn\n" * 300
    shown = said_before(f"Run:\n\n```sh\n{long}```\n\nThen wait.")
    assert "codeSnippet" not in shown
    assert "[\\u2026]" in shown
    assert "Then wait." in shown


def test_when_it_was_is_said_in_each_readers_own_time() -> None:
    assert "{{DATE(2026-11-22T12:00:00Z, SHORT)}} {{TIME(2026-11-22T12:00:00Z)}}" in text(seen())


def test_the_last_words_of_people_come_after_the_state() -> None:
    lines = text(seen("claimed", "So.")).splitlines()
    begin = lines.index("Claimed by Anna Lopez")
    assert lines[begin + 2 : begin + 8 : 2] == [
        "Anna Lopez resolved it: So.",
        "Anna Lopez declined it: So.",
        "Anna Lopez reopened it: So.",
    ]


MORE = ("Assign to \u2026", "Send", "Note", "Send")


@pytest.mark.parametrize(
    ("state", "labels"),
    [
        ("open", ["Claim", "Reply", "Send", "Resolve", "Not for us", "Send", *MORE]),
        ("claimed", ["Reply", "Send", "Resolve", "Not for us", "Send", "Release", *MORE]),
        ("answered", ["Reply again", "Send", "Resolve", "Release", *MORE, "Keep as answer"]),
        ("resolved", ["Keep as answer"]),
        ("declined", []),
    ],
)
def test_what_can_be_done_depends_on_how_it_stands(state: State, labels: list[str]) -> None:
    made = card(seen(state))
    assert cards.labels(made) == labels
    fields = [each["id"] for button in cards.buttons(made) for each in _fields(button)]
    assert len(fields) == len(set(fields)), "a card may have a field once"


def test_who_came_too_late_sees_why_and_what_they_wrote() -> None:
    made = card(seen("claimed"), note=PresserNote("Anna has it already.", "My\nanswer."))
    assert cards.words(made).splitlines()[:4] == [
        "Anna has it already.",
        "You wrote:",
        "My",
        "answer.",
    ]


def _fields(button: cards.Button) -> list[cards.Card]:
    unfolded = button.action.get("card")
    return cards.inputs(unfolded) if unfolded else []


def _is_run(element: Mapping[str, Any]) -> bool:
    return str(element["type"]) == "TextRun"


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize(("gate", "confirmed"), [("passed", True), ("stopped", False)])
def test_pages_of_an_answer_that_was_given_are_not_called_unconfirmed(
    gate: str, *, confirmed: bool
) -> None:
    view = seen()
    assert view.finding is not None

    shown = text(replace(view, finding=replace(view.finding, gate=gate)))

    assert ("not confirmed" in shown) is not confirmed


def test_what_an_answer_lacks_is_on_the_card() -> None:
    assert "who pays for it" in text(seen(missing="who pays for it"))


@pytest.mark.parametrize(("state", "offered"), [("answered", True), ("claimed", False)])
def test_an_answered_case_can_be_kept_as_an_answer(state: State, offered: bool) -> None:  # noqa: FBT001 - a column
    links = replace(WAYS, public_url="https://desk.example.com")
    kept = f"https://desk.example.com/board/answers/new?case={ASKED.interaction_id}"

    assert (kept in text(seen(state), links)) == offered


def test_a_card_is_rendered_in_the_language_that_is_set() -> None:
    german = load_catalogue("de").default
    shown = cards.words(german.render_all(card(seen(withheld=True, missing="the price"))))
    first, whom = shown.splitlines()[:2]
    assert (first, whom.split(":")[0]) == ("Eine Frage f\u00fcr einen Menschen", " von Anna Lopez")
    for label in ("Thread \u00f6ffnen", "Im Board \u00f6ffnen", "Im Wiki steht nicht:"):
        assert label in shown
    assert not re.search(r"\b(the asker|Open|may read|can read|Reply|Claim)\b", shown)
