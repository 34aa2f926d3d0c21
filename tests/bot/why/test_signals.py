"""Every figure that the gate knows has a name that a colleague understands."""

from __future__ import annotations

import pytest

from bot.answering.explanations.signals import CALL_NAMES, SIGNALS, Signal, format_signal, signal_of
from bot.answering.gate import CAREFUL_RULE, load_gate_file
from prompts.files import load_prompt
from rag.answer.confidence import features
from rag.answer.extractive import ExtractiveComposer
from rag.answer.grounded import GroundedComposer
from rag.ports import Composer, Composition, Vocabulary
from tests.fakes import ScriptedModel
from tests.rag.models.stating import grounded, part
from tests.rag.passages import passage

GATE = {
    feature.name for each in load_gate_file().calibrations.values() for feature in each.features
}
NEEDS_AN_EMBEDDER = {"composer_best_quote_cosine"}
JARGON = {"chunk", "retriev", "gate", "threshold", "embedding", "vector", "token", "cosine", "bm25"}
QUESTION = "What is the fee for error 809?"
PASSAGES = [
    passage(
        "The fee for error 809 is 12 euros.",
        page=page,
        title="VPN",
        signals={"vector": 0.5, "keyword": 1.0, "tokens": 0.5, "fused": 1.0},
    )
    for page in ("one.md", "two.md")
]
ANSWER = grounded(part("The fee is 12 euros.", 1))


async def told(composer: Composer) -> set[str]:
    composition = await composer.compose(QUESTION, PASSAGES)
    assert composition.claims
    return set(features(QUESTION, PASSAGES, composition, Vocabulary(10, {})))


def test_what_the_gate_weighs_has_a_name_and_a_phrase_for_when_it_is_poor() -> None:
    assert not [name for name in GATE if name not in SIGNALS or not SIGNALS[name].against]


async def test_what_either_composer_and_the_search_tell_has_a_name_and_nothing_else_has() -> None:
    model = ScriptedModel(lambda _: ANSWER)
    known = await told(ExtractiveComposer(None))
    known |= await told(GroundedComposer(model, load_prompt("answer")))

    assert known | NEEDS_AN_EMBEDDER | {CAREFUL_RULE} == set(SIGNALS)


def test_without_a_passage_nothing_is_told_that_has_no_name() -> None:
    assert set(features("vpn?", [], Composition(claims=()), None)) <= set(SIGNALS)


def test_no_two_signals_have_one_name_and_none_has_to_be_explained() -> None:
    names = [signal.name for signal in SIGNALS.values()]
    words = " ".join([*names, *(signal.against for signal in SIGNALS.values())]).lower()

    assert len(set(names)) == len(names)
    assert not [each for each in JARGON if each in words]


def test_a_signal_that_is_not_known_keeps_its_own_name() -> None:
    assert signal_of("brand_new").name == "Brand new"


@pytest.mark.parametrize(
    ("signal", "value", "text"),
    [
        (Signal("x", "share"), 0.256, "26%"),
        (Signal("x", "number"), 1.234, "1.23"),
        (Signal("x", "count"), 2.0, "2"),
        (Signal("x", "yes"), 1.0, "yes"),
        (Signal("x", "yes"), 0.0, "no"),
    ],
)
def test_figures_are_written_as_they_are_read(signal: Signal, value: float, text: str) -> None:
    assert format_signal(signal, value) == text


@pytest.mark.parametrize("prompt", ["answer", "generic", "intent", "rewrite"])
def test_every_call_of_a_model_is_named_by_what_it_was_for(prompt: str) -> None:
    assert load_prompt(prompt).name in CALL_NAMES
