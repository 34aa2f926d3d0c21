"""What a reply looks like: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from bot.chat.response_view import render
from bot.domain.interactions import Clarification, Outcome, Reply, Response
from bot.domain.messages import InteractionId
from bot.platforms.slack.rendering import TEXT_LIMIT, buttons_of, reply_messages
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, LOCAL, OFFERED, TRACE, VPN
from tests.bot.adapters.slack.blocks import BLOCK_TYPES, refusal

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ID = InteractionId("6d1f0a52-0000-5000-9d0b-3f6f6e2f9a11")
Blocks = list[Mapping[str, Any]]


def pressed(response: Response) -> list[tuple[str, str, str]]:
    """Return label, action and value of the buttons in a row below a response."""
    row = buttons_of(Outcome(response, TRACE), ID).row
    elements = cast("Blocks", row["elements"]) if row else []
    return [(each["text"]["text"], each["action_id"], each["value"]) for each in elements]


def blocks(response: Response, remarks: tuple[str, ...] = ()) -> Blocks:
    (forms,) = reply_messages(
        render(response, private=True, remarks=remarks),
        now=NOW,
        buttons=buttons_of(Outcome(response, TRACE), ID),
    )
    return cast("Blocks", forms[0].blocks)


def test_a_source_tells_its_space_and_its_age() -> None:
    old = replace(VPN, space="IT", updated_at=NOW - timedelta(days=100))
    listed = blocks(replace(ANSWER, sources=(old, replace(LOCAL, space="HR"), LOCAL)))[1]
    guide = "<https://wiki.example.com/vpn?a=1&b=2|VPN guide \u203a Reset>"
    assert listed["text"]["text"].split("\n") == [
        "*Sources*",
        f"[1] {guide}, IT, updated 3 months ago",
        "[2] Offices, HR",
        "[3] Offices",
    ]


def test_below_an_answer_are_thumbs_a_person_and_the_reason() -> None:
    assert pressed(ANSWER) == [("Ask a person", "ask_person", ID), ("Why this answer", "why", ID)]
    thumbs = blocks(ANSWER)[-2]["elements"][0]
    assert thumbs["action_id"] == "feedback"
    assert thumbs["positive_button"]["value"] == f"up:{ID}"
    assert thumbs["negative_button"]["value"] == f"down:{ID}"


def test_an_offer_is_accepted_with_a_button() -> None:
    assert pressed(OFFERED) == [
        ("Yes, ask a person", "ask_person", ID),
        ("Why no answer", "why", ID),
    ]
    assert blocks(OFFERED)[-1]["elements"][0]["style"] == "primary"


def test_a_question_that_went_to_people_is_explained() -> None:
    assert pressed(HANDED_OVER) == [("Why no answer", "why", ID)]


def test_what_could_be_meant_is_chosen_with_a_button() -> None:
    asked = Clarification(text="Which?", options=("VPN", "x" * 200, " ", "Wifi", "Phone", "Door"))
    shown = pressed(asked)
    assert [(action, value) for _, action, value in shown] == [
        (f"option:{number}", f"{ID}:{number}") for number in (0, 1, 3, 4)
    ]
    assert all(len(label) <= 75 for label, _, _ in shown)


@pytest.mark.parametrize(
    "response",
    [
        Reply(text="Hello!", tone="generic"),
        Reply(text="No.", tone="generic", refused=True),
        Clarification(text="Which?"),
    ],
)
def test_small_talk_and_refusals_have_nothing_to_press(response: Response) -> None:
    assert not pressed(response)
    assert {block["type"] for block in blocks(response)} == {"markdown"}


def test_remarks_stand_in_small_print() -> None:
    shown = blocks(ANSWER, ("I did not read a.png: I read text only.",))
    (remark,) = [block for block in shown if block["type"] == "context"]
    assert remark["elements"][0]["text"] == "I did not read `a.png`: I read text only."


def test_the_way_to_a_person_is_told_in_words_only_where_there_is_no_button() -> None:
    outcome = Outcome(ANSWER, TRACE)
    (forms,) = reply_messages(
        render(ANSWER, private=True), now=NOW, buttons=buttons_of(outcome, ID)
    )
    for form in forms:
        has_button = any(block["type"] == "actions" for block in form.blocks)
        assert ("Not what you need?" in str(form.blocks) + form.text) != has_button


@pytest.mark.parametrize("length", [100, 11_000, 11_450, 11_600, 40_000])
@pytest.mark.parametrize("sources", [0, 1, 12])
def test_every_message_of_any_length_fits(length: int, sources: int) -> None:
    text = "Take <this> & that. " * (length // 20)
    far = replace(VPN, url="https://wiki.example.com/" + "x" * 900, title="<" * 140)
    response = replace(ANSWER, text=text, sources=(far,) * sources)
    shown = reply_messages(
        render(response, private=True),
        now=NOW,
        buttons=buttons_of(Outcome(response, TRACE), ID),
    )
    for forms in shown:
        for form in forms:
            payload = {"text": form.text, "blocks": list(form.blocks)}
            assert refusal(payload, BLOCK_TYPES) == ""
            written = [str(b["text"]) for b in form.blocks if b["type"] == "markdown"]
            assert sum(map(len, written)) <= TEXT_LIMIT
    assert sum("actions" in str(forms[0].blocks) for forms in shown) == 1
    assert "actions" in str(shown[-1][0].blocks)


def test_a_code_block_is_not_cut() -> None:
    code = "```\n" + "run this\n" * 300 + "```"
    text = "\n\n".join(["word " * 1_900, code, "after"])
    shown = reply_messages(render(replace(ANSWER, text=text), private=True), now=NOW)
    written = [str(forms[0].blocks[0]["text"]) for forms in shown]
    assert len(written) == 2
    assert sum(code in part for part in written) == 1
