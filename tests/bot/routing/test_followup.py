from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.conversation import FollowUpRewriter, is_faithful
from bot.answering.routing.conversation import rewrite_sources as words_from
from rag.errors import ModelUnavailable
from rag.ports import Completion, Prompt, Shape, Structured
from rag.types import ModelCall, Turn
from tests.fakes import ScriptedModel

HISTORY = (
    Turn("user", "how do I get VPN error 809 solved on Windows"),
    Turn("assistant", "Use a phone hotspot."),
)
BY_RULE = "and on linux? (VPN error 809 solved Windows)"


class SilentModel:
    """A model that never answers."""

    name = "silent"

    async def complete(self, prompt: Prompt) -> Completion:
        raise ModelUnavailable(f"{prompt.id!r} got no answer; try again.")

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        raise ModelUnavailable(f"{prompt.id!r} got no {shape.__name__!r}; try again.")


class RefusingModel(ScriptedModel):
    """A model that declines whatever it is asked."""

    async def complete(self, prompt: Prompt) -> Completion:
        call = ModelCall("rewrite", "refusing", prompt.id, 1, 0, 0.0)
        return Completion("how do I solve VPN error 809 on linux", call, refused=True)


async def test_a_follow_up_is_rewritten_by_the_model() -> None:
    model = ScriptedModel(lambda _: "how do I get VPN error 809 solved on linux")
    asked = await FollowUpRewriter(model).standalone("and on linux?", HISTORY)
    assert asked.question == "how do I get VPN error 809 solved on linux"
    assert asked.certain
    assert [call.purpose for call in asked.calls] == ["rewrite"]


async def test_the_model_reads_the_conversation_and_the_message() -> None:
    model = ScriptedModel(lambda _: "VPN on linux")
    await FollowUpRewriter(model).standalone("and on linux?", HISTORY)
    sent = model.prompts[0].messages[-1].content
    assert "user: how do I get VPN error 809" in sent
    assert "assistant: Use a phone hotspot." in sent
    assert "and on linux?" in sent


async def test_quotation_marks_around_a_rewrite_are_dropped() -> None:
    model = ScriptedModel(lambda _: '"VPN error 809 on linux"')
    asked = await FollowUpRewriter(model).standalone("and on linux?", HISTORY)
    assert asked.question == "VPN error 809 on linux"


async def test_a_new_question_asks_no_model_and_keeps_its_words() -> None:
    model = ScriptedModel(lambda _: "something else")
    text = "which laptop models can new developers choose this year"
    asked = await FollowUpRewriter(model).standalone(text, HISTORY)
    assert (asked.question, asked.certain, model.prompts) == (text, True, [])


async def test_a_first_message_asks_no_model() -> None:
    model = ScriptedModel(lambda _: "something else")
    asked = await FollowUpRewriter(model).standalone("and on linux?", ())
    assert (asked.question, model.prompts) == ("and on linux?", [])


async def test_without_a_model_rules_add_what_is_missing() -> None:
    asked = await FollowUpRewriter(None).standalone("and on linux?", HISTORY)
    assert (asked.question, asked.certain, asked.calls) == (BY_RULE, False, ())


@pytest.mark.parametrize(
    "rewrite",
    [
        "",
        "   ",
        "First line\nsecond line",
        "Sure! Bananas grow on tall tropical plants in sunny countries.",
        "and on linux? " + "VPN " * 200,
    ],
)
async def test_an_empty_or_absurd_rewrite_is_not_used(rewrite: str) -> None:
    asked = await FollowUpRewriter(ScriptedModel(lambda _: rewrite)).standalone(
        "and on linux?", HISTORY
    )
    assert asked.question == BY_RULE
    assert asked.notes == ("the rewrite was not used",)
    assert len(asked.calls) == 1


async def test_a_rewrite_that_loses_an_identifier_is_not_used() -> None:
    model = ScriptedModel(lambda _: "VPN error solved on Windows")
    asked = await FollowUpRewriter(model).standalone("and with INC0012345?", HISTORY)
    assert asked.question.startswith("and with INC0012345?")


async def test_a_refusal_falls_back_to_the_rules() -> None:
    asked = await FollowUpRewriter(RefusingModel(lambda _: "")).standalone("and on linux?", HISTORY)
    assert asked.question == BY_RULE


async def test_a_silent_model_falls_back_to_the_rules_and_is_noted() -> None:
    asked = await FollowUpRewriter(SilentModel()).standalone("and on linux?", HISTORY)
    assert (asked.question, asked.calls) == (BY_RULE, ())
    assert asked.notes == ("the rewriting model did not answer",)


async def test_a_pasted_log_is_condensed_to_its_telling_line() -> None:
    log = "10:00:01 INFO start\n10:00:02 INFO go\n10:00:03 ERROR disk full on /var: write failed"
    asked = await FollowUpRewriter(None).standalone(log, ())
    assert asked.question == "disk full on /var: write failed"


def test_a_faithful_rewrite_takes_its_words_from_the_conversation() -> None:
    assert is_faithful("VPN error 809 on linux", "and on linux?", HISTORY)
    assert not is_faithful("vacation days of teachers", "and on linux?", HISTORY)


@given(st.text(max_size=300), st.lists(st.text(max_size=50), max_size=4), st.text(max_size=300))
def test_any_words_of_anyone_give_a_question(text: str, said: list[str], answer: str) -> None:
    history = tuple(Turn("user", turn) for turn in said)
    followups = FollowUpRewriter(ScriptedModel(lambda _: answer))
    asked = asyncio.run(followups.standalone(text, history))
    assert isinstance(asked.question, str)


BIKE = (
    Turn("user", "how do I report harassment by my manager", "e1"),
    Turn("assistant", "Write to the ombudsperson.", "e1"),
    Turn("user", "how do I rent a bike", "e2"),
    Turn("assistant", "At the desk.", "e2"),
)


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("text", "leaned_on"),
    [
        ("can I rent a company car for a weekend", ()),
        ("and for two days?", ("e2",)),
        ("bike helmet", ()),
    ],
)
async def test_what_a_question_took_words_from_is_named(
    text: str, leaned_on: tuple[str, ...]
) -> None:
    assert (await FollowUpRewriter(None).standalone(text, BIKE)).leaned_on == leaned_on


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("rewrite", "leaned_on"),
    [
        ("What does it cost to rent a bike?", ("e2",)),
        ("What does it cost?", ()),
        ("What does renting a bike to report harassment cost?", ("e1", "e2")),
        ("What does an ombudsperson cost?", ("e1",)),
        ("What does a hire cost?", ("e2",)),
    ],
)
def test_a_models_rewrite_leans_on_the_last_turns_with_its_words(
    rewrite: str, leaned_on: tuple[str, ...]
) -> None:
    assert words_from(rewrite, "What does it cost?", BIKE) == leaned_on


@pytest.mark.mended(id="teams-1")
def test_a_rewrite_leans_on_nothing_that_only_repeats_words_of_another() -> None:
    history = (
        Turn("user", "How do I connect to the VPN from the office laptop?", "e1"),
        Turn("user", "My manager shouts at me in the office at my laptop, what can I do?", "e2"),
    )
    rewrite = "How do I connect to the VPN from the office laptop on a Mac?"

    assert words_from(rewrite, "and on a Mac?", history) == ("e1",)
