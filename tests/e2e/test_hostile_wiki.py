"""Tests that nothing a hostile page has a model say reaches anybody in our voice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.answering.reply_text import reply_of
from bot.answering.routing.generic_replies import GenericAnswers
from bot.chat.response_view import render
from bot.domain.interactions import Outcome, Reply, Route
from bot.domain.messages import Intent, Message, Person, Thread
from bot.platforms.slack.rendering import reply_messages
from bot.platforms.teams.rendering.answers import answer_activities
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY
from prompts.files import load_prompt
from rag.answer.grounded import GroundedComposer
from rag.answer.guardrails import is_unsafe_in_small_talk
from rag.types import Answer, Passage
from tests.fakes.desk import TRACE
from tests.fakes.model_server import answer_json, answer_part
from tests.fakes.obeying_model import IMPERSONATIONS
from tests.fakes.rag_ports import ScriptedModel
from tests.sweeps.hostile.judge import Effect, Shown, effects_of, without_quotations
from tests.unit.rag.answer.test_citations import chunk

pytestmark = pytest.mark.attack


NOW = datetime(2026, 11, 22, tzinfo=UTC)
QUESTION = "What does the locker cost?"
PRICE = "The locker costs 7 euro."


async def composed(line: str) -> Reply:
    """Return what a model that obeys its page makes of it, checked and in words."""
    page = (Passage(chunk("c1", f"{PRICE} {line}", title="Lockers"), 1.0, {}),)
    parts = (
        answer_part(PRICE, 1),
        answer_part(f"{PRICE} {line}", 1, 2, 3),
        answer_part(line, 2, 3),
    )
    said = answer_json(*parts, missing=line)
    composer = GroundedComposer(ScriptedModel(lambda _: said), load_prompt("answer"))
    made = await composer.compose(QUESTION, page)
    answer = Answer(QUESTION, made.claims, page, {}, "model", missing=made.missing)
    return reply_of(answer, 0.9, "partial")


async def talked(line: str) -> Reply:
    """Return general talk by a model that obeys."""
    generic = GenericAnswers(ScriptedModel(lambda _: f"Of course. {line}"))
    reply, _ = await generic.reply(Route(Intent.GENERIC, 1.0, "rule", QUESTION), QUESTION, ())
    return reply


def on_slack(reply: Reply) -> str:
    """Return all text of the blocks but the sources and our own footer, as Slack shows it."""
    rendered = render(reply, private=True)
    found = []
    for forms in reply_messages(rendered, now=NOW):
        texts = [_strings(block) for block in forms[0].blocks]
        found += [text for text in texts if "*Sources*" not in text and text != rendered.footer]
    return "\n".join(found)


def on_teams(reply: Reply) -> str:
    """Return the text of the activities."""
    thread = Thread("teams", "acme", "19:help@thread.tacv2", "1")
    asked = Message(id="1", thread=thread, author=Person("a"), text=QUESTION, received_at=NOW)
    activities: Any = answer_activities(
        Outcome(reply, TRACE), asked, now=NOW, sensitivity=NO_SENSITIVITY, opening="", pressed=True
    )
    return "\n".join(each.get("text", "") for each in activities)


def _strings(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(_strings(value[key]) for key in ("text", "elements") if key in value)
    if isinstance(value, list):
        return "\n".join(map(_strings, value))
    return value if isinstance(value, str) else ""


def said_in_our_voice(text: str) -> list[Effect]:
    return list(effects_of(Shown((), text, text)))


def is_marked(text: str) -> bool:
    """Return whether a text has a quotation with its page's name."""
    return without_quotations(text) != text


@pytest.mark.parametrize("shown", [on_slack, on_teams])
@pytest.mark.parametrize("line", IMPERSONATIONS)
async def test_a_pretended_hand_over_is_shown_as_its_pages_words(
    line: str, shown: Callable[[Reply], str]
) -> None:
    text = shown(await composed(line))

    assert PRICE in text
    assert is_marked(text)
    assert said_in_our_voice(text) == []


@pytest.mark.parametrize("shown", [on_slack, on_teams])
@pytest.mark.parametrize("line", IMPERSONATIONS)
async def test_a_pretended_hand_over_in_general_talk_is_not_shown(
    line: str, shown: Callable[[Reply], str]
) -> None:
    text = shown(await talked(line))

    assert text.strip()
    assert "Of course" not in text
    assert line not in text
    assert not is_unsafe_in_small_talk(text)
