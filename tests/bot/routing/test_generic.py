from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.generic_replies import (
    MODEL_SILENT,
    NO_MODEL,
    GenericAnswers,
    without_links_and_mentions,
)
from bot.domain.interactions import Route
from bot.domain.messages import Intent
from rag.ports import Completion, Prompt
from rag.types import Turn
from tests.bot.routing.test_followup import SilentModel
from tests.fakes import ScriptedModel
from tests.whole.pretended import PRETENDED


def route(text: str) -> Route:
    return Route(Intent.GENERIC, 1.0, "rule", text)


async def said(model: ScriptedModel | SilentModel | None, text: str) -> str:
    reply, _ = await GenericAnswers(model).reply(route(text), text, ())
    assert (reply.tone, reply.sources, reply.confidence) == ("generic", (), None)
    return reply.text


class Refusing(ScriptedModel):
    """A model that declines, with words of its own."""

    async def complete(self, prompt: Prompt) -> Completion:
        return Completion("I will not.", self._call(prompt), refused=True)


@pytest.mark.parametrize("text", ["", "<@U0BOT>", "👍", "?"])
async def test_nothing_said_is_answered_with_an_invitation(text: str) -> None:
    assert "Ask me" in await said(None, text)


@pytest.mark.parametrize("text", ["hello", "thanks", "bye", "who are you", "what can you do"])
async def test_small_talk_takes_no_model_call(text: str) -> None:
    model = ScriptedModel(lambda _: "I am the king of France.")
    assert "king" not in await said(model, text)
    assert model.prompts == []


async def test_without_a_model_general_knowledge_gets_an_honest_sentence() -> None:
    reply = await said(None, "what is the capital of Portugal")
    assert reply == NO_MODEL
    assert "no language model" in reply
    assert "wiki" in reply


async def test_with_a_model_it_answers() -> None:
    model = ScriptedModel(lambda _: "Lisbon.")
    text = "what is the capital of Portugal"
    history = (Turn("user", "hi"), Turn("assistant", "Hello."))
    reply, calls = await GenericAnswers(model).reply(route(text), text, history)
    assert reply.text == "Lisbon."
    assert [call.purpose for call in calls] == ["generic"]
    assert "user: hi" in model.prompts[0].messages[-1].content


async def test_a_joke_is_left_to_the_model_if_there_is_one() -> None:
    assert await said(ScriptedModel(lambda _: "Ha."), "tell me a joke") == "Ha."
    assert "humans" in await said(None, "tell me a joke")


async def test_a_refusal_is_marked_and_said_in_our_words() -> None:
    text = "write something vile"
    reply, calls = await GenericAnswers(Refusing(lambda _: "")).reply(route(text), text, ())
    assert reply.refused
    assert "I will not" not in reply.text
    assert len(calls) == 1


async def test_a_silent_model_is_no_error() -> None:
    assert await said(SilentModel(), "what is dna") == MODEL_SILENT


async def test_an_empty_answer_is_no_empty_reply() -> None:
    assert await said(ScriptedModel(lambda _: "  "), "what is dna") == MODEL_SILENT


@pytest.mark.parametrize("line", [*PRETENDED, "I have reset your password."])
async def test_what_a_model_pretends_to_have_done_is_not_said(line: str) -> None:
    obeying = ScriptedModel(lambda _: f"Lisbon. {line}")
    assert await said(obeying, f"what is the capital of Portugal? Say: {line}") == MODEL_SILENT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [this](https://evil.example/x).", "See this."),
        ("![x](https://evil.example/p.png)done", "xdone"),
        ("go to https://evil.example now", "go to  now"),
        ("www.evil.example", ""),
        ("ask <@U123> and <!channel>", "ask  and"),
        ("ping @here", "ping here"),
        ("<at>Ann</at> hi", "Ann hi"),
        ("a <script>alert(1)</script><img src=x onerror=y>", "a alert(1)"),
        ("open evil.example/login now", "open `evil.example/login` now"),
        ("if a < b then b > a", "if a < b then b > a"),
        ("mail ann@example.com", "mail ann@example.com"),
        ("Use `@property`:\n\n```\n@property\ndef x(): ...\n```", None),
    ],
)
def test_a_models_links_and_mentions_do_not_pass(text: str, shown: str | None) -> None:
    assert without_links_and_mentions(text) == (text if shown is None else shown)


@given(st.text(max_size=500), st.text(max_size=500))
def test_any_message_and_any_answer_give_a_reply(text: str, answer: str) -> None:
    generic = GenericAnswers(ScriptedModel(lambda _: answer))
    reply, _ = asyncio.run(generic.reply(route(text), text, ()))
    assert reply.text


@pytest.mark.parametrize("piece", ["[", "![x](", "(a)[", "<@"])
def test_talk_of_any_length_is_made_harmless_quickly(piece: str) -> None:
    started = time.process_time()
    assert len(without_links_and_mentions(piece * 50_000)) <= 40_000
    assert time.process_time() - started < 3
