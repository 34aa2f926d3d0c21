"""Test what a case card shows, and that nothing that others wrote is live on it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.domain.cases import Actor, CaseStatus, CaseStep, State, Step
from bot.domain.interactions import Source
from bot.domain.messages import InteractionId, Message
from bot.escalations.case_view import CASE_FORMS, CaseLinks, CaseView
from bot.escalations.lifecycle import MORE_ACTS
from bot.platforms.slack.case_card import (
    case_card,
    case_modal,
)
from tests.fakes.desk import LOCAL, VPN
from tests.fakes.escalations import case_of
from tests.fakes.slack.blocks import BLOCK_TYPES, block_text, refusal
from tests.fakes.slack.builders import question
from tests.fakes.slack.posts import view_problem

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
WAYS = CaseLinks("https://acme.slack.com/archives/C1/p1", "https://desk.example.com/board/x")
_DATE = r"!date\^\d+\^\{ago\}\|[\w ,:]+"
_OURS = rf"<(?:@U0ALICE00|{_DATE}|https://(?:acme\.slack|desk\.example|wiki\.example)\.com/[^<>|]*\|[^<>|]*)>"
HOSTILE = st.text(alphabet="<>&|!@#*`_~ \nhttps:/.evilU0[]()", max_size=300)
ATTACKS = [
    "<!channel> <@U0CEO0000> <!subteam^S0ALL>",
    "<https://evil.example|click>",
    "![x](https://evil.example/x.png) [x](https://evil.example)",
    "https://evil.example/?q=1 &lt;!here&gt;",
    "```\n<!channel>\n```",
    "\n" * 3000,
    "> " * 2000,
    "<" * 4000,
]


STEPS = [step for step in get_args(Step) if step not in MORE_ACTS]


def seen(
    state: State = "open",
    words: str = "vpn down?",
    *,
    name: str = "Anna Lopez",
    sources: tuple[Source, ...] = (VPN,),
    hidden: int = 0,
    withheld: bool = False,
) -> CaseView:
    asked = question()
    owner = CaseStatus(state, "a", name) if state in {"claimed", "answered"} else CaseStatus(state)
    actor = Actor("a", name, "expert")
    steps = [
        CaseStep(asked.interaction_id, number, step, actor, words, NOW - timedelta(minutes=5))
        for number, step in enumerate(STEPS, start=1)
    ]
    exchange = EarlierExchange(InteractionId("e"), words, words, NOW, withheld=withheld)
    return CaseView(
        case=case_of(asked, question=words, status=owner, opened_at=NOW, changed_at=NOW),
        steps=tuple(steps),
        finding=SearchFinding(
            asked.interaction_id, words, "", None, None, sources, (), hidden, words
        ),
        before=(exchange,) * 5,
    )


def written(message: Message, view: CaseView, ways: CaseLinks = WAYS) -> list[str]:
    """Return everything that Slack is given to show, of every form."""
    shown = []
    for form in case_card(message, view, ways, now=NOW):
        payload = {"text": form.text, "blocks": list(form.blocks)}
        assert refusal(payload, BLOCK_TYPES) == ""
        assert len(form.text) <= 4000
        shown.append("\n".join([form.text, *map(block_text, form.blocks)]))
    return shown


def all_dead(view: CaseView) -> None:
    for text in written(question(), view):
        assert "<" not in re.sub(_OURS, "", text), text


@given(HOSTILE, st.sampled_from(get_args(State)))
def test_whatever_was_written_is_dead_and_fits(words: str, state: State) -> None:
    page = replace(VPN, title=words, section=words, page_id=words or "p")
    all_dead(seen(state, words, name=words, sources=(page,)))


@pytest.mark.mended(id="slack-2")
def test_who_is_no_colleague_is_marked_on_every_form_of_the_card() -> None:
    view = seen()
    marked = replace(view, case=replace(view.case, outsider="other company"))

    assert all("<@U0ALICE00> (other company)" in text for text in written(question(), marked))
    assert not any("(other company)" in text for text in written(question(), view))


def test_attacks_are_words() -> None:
    for attack in ATTACKS:
        page = replace(VPN, title=attack, section=attack)
        all_dead(seen("claimed", attack, name=attack, sources=(page, page)))


def test_pages_are_linked_by_addresses_that_code_made() -> None:
    ways = replace(WAYS, public_url="https://desk.example.com")
    rich, *_ = written(question(), seen(sources=(VPN, LOCAL)), ways)
    assert "*Pages found (not confirmed)*" in rich
    assert "<https://wiki.example.com/vpn?a=1&b=2|VPN guide" in rich
    assert "<https://desk.example.com/pages/offices|Offices>" in rich
    unsafe = replace(VPN, url="javascript:alert(1)")
    assert "javascript" not in written(question(), seen(sources=(unsafe,)))[0]


def test_pages_that_not_everyone_may_read_are_counted() -> None:
    assert (
        "_2 more pages were found that not everyone can read._"
        in (written(question(), seen(hidden=2))[0])
    )
    assert "_1 more page was found" in written(question(), seen(sources=(), hidden=1))[0]


def test_what_went_before_is_short_and_withheld_where_it_must_be() -> None:
    rich, *_ = written(question(), seen(words="word " * 300))
    assert rich.count("\u2192") >= 5
    assert (
        "_an answer from pages that not everyone can read_"
        in (written(question(), seen(withheld=True))[0])
    )


def test_the_state_comes_first_and_the_last_words_of_people_after_it() -> None:
    form = case_card(question(), seen("claimed", "So."), WAYS, now=NOW)[0]
    *_, context, _ = form.blocks
    lines = block_text(context).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("*Claimed by Anna Lopez* \u00b7 <!date^1795348800^{ago}|")
    assert lines[1].startswith("Anna Lopez resolved it <!date^")


def test_the_time_is_slacks_to_tell() -> None:
    assert "<!date^1795348800^{ago}|22 Nov, 12:00 UTC>" in written(question(), seen())[0]


def test_a_direct_message_has_no_link() -> None:
    private = replace(question(), private=True)
    text = written(private, seen(), replace(WAYS, thread=""))[0]
    assert "Asked in a direct message" in text
    assert "Open thread" not in text


def test_where_slack_gives_no_address_it_is_still_no_direct_message() -> None:
    assert "Asked in a channel" in written(question(), seen(), replace(WAYS, thread=""))[0]


@given(HOSTILE)
def test_forms_are_ones_that_slack_takes(words: str) -> None:
    for act in CASE_FORMS:
        form = case_modal(act, case_of(question(), question=words))
        assert view_problem(form) == ""
        assert "<" not in str(form["blocks"])


def test_long_questions_do_not_break_a_form() -> None:
    for attack in ATTACKS:
        assert view_problem(case_modal("reply", case_of(question(), question=attack * 10))) == ""


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize("said", ["> " + "quoted words " * 60, "<&> " * 200])
def test_what_was_said_so_far_is_marked_where_it_is_cut(said: str) -> None:
    earlier = EarlierExchange(InteractionId("e"), "vpn?", said, NOW)
    form = case_card(question(), replace(seen(), before=(earlier,)), WAYS, now=NOW)[0]
    (answer,) = [line for line in form.text.splitlines() if "\u2192" in line]

    assert answer.endswith("\u2026")
    assert "&gt; quoted" not in answer


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize(("gate", "confirmed"), [("passed", True), ("stopped", False)])
def test_pages_of_an_answer_that_was_given_are_not_called_unconfirmed(
    gate: str, *, confirmed: bool
) -> None:
    view = seen()
    assert view.finding is not None
    shown = case_card(
        question(), replace(view, finding=replace(view.finding, gate=gate)), WAYS, now=NOW
    )

    assert ("not confirmed" in shown[0].text) is not confirmed


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize("turning", ["\u202e", "\u2066", "\u200f"])
def test_nothing_on_a_card_turns_the_words_beside_it_around(turning: str) -> None:
    view = seen(words=f"vpn {turning}nwod?", name=f"Anna{turning}")
    form = case_card(question(), view, WAYS, now=NOW)[0]

    assert turning not in form.text
    assert not any(turning in block_text(block) for block in form.blocks)


def test_what_an_answer_lacks_is_on_every_form_of_the_card() -> None:
    view = seen()
    assert view.finding is not None
    lacking = replace(view, finding=replace(view.finding, missing="who pays for it"))

    assert all("who pays for it" in text for text in written(question(), lacking))


@pytest.mark.parametrize(("state", "offered"), [("answered", True), ("claimed", False)])
def test_an_answered_case_can_be_kept_as_an_answer(state: State, offered: bool) -> None:  # noqa: FBT001 - a column
    links = replace(WAYS, public_url="https://desk.example.com")
    kept = f"https://desk.example.com/board/answers/new?case={question().interaction_id}"

    assert all((kept in shown) == offered for shown in written(question(), seen(state), links))


def test_an_earlier_answer_has_whole_code_tables_and_sentences() -> None:
    long = "Wait for the client to start again. " * 30
    answer = f"Run:\n\n```\nvpn up\n  vpn test\n```\n\n809 \u00b7 port\n812 \u00b7 group\n\n{long}"
    view = seen()
    card = written(
        question(), replace(view, before=(replace(view.before[0], answer=answer),)), WAYS
    )[0]
    assert "```\nvpn up\n  vpn test\n```" in card
    assert "809 \u00b7 port\n812 \u00b7 group" in card
    assert "start again.\n\n[\u2026]" in card
