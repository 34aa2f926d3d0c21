from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answering.routing.classifier_training import SEED_INTENTS, load_seeds
from bot.answering.routing.intent_classifier import (
    IntentClassifier,
    Thresholds,
    TrainingRecord,
    load_classifier,
)
from bot.answering.routing.router import Router, intent_of_reply
from bot.domain.messages import Intent
from rag.errors import ModelUnavailable
from rag.models.embedding.local import LocalEmbedder, open_local_embedder
from rag.ports import Completion, Prompt
from rag.types import Turn, Vectors
from tests.bot.routing.test_followup import SilentModel
from tests.fakes import ScriptedModel, WordEmbedder

ASKED_BACK = (Turn("user", "password"), Turn("assistant", "Which system do you mean?"))
LEAVE = (Turn("user", "how much annual leave do I earn"), Turn("assistant", "20 days."))


def saying(generic: float = 0.0, human: float = 0.0, *, name: str = "words@1") -> IntentClassifier:
    """A classifier that gives the same shares to whatever it reads."""
    shares = {Intent.GENERIC: generic, Intent.HUMAN: human, Intent.DOMAIN: 1 - generic - human}
    rows = {
        intent: np.append(np.zeros(WordEmbedder.dimensions), np.log(shares[intent] + 1e-9))
        for intent in SEED_INTENTS
    }
    limits = Thresholds(generic=0.7, generic_doubt=0.4, human=0.8, human_doubt=0.3)
    return IntentClassifier(rows, limits, TrainingRecord(name, "2026-01-01", 1, "abc"))


def answering(word: str) -> ScriptedModel:
    return ScriptedModel(lambda _: word)


class BrokenEmbedder(WordEmbedder):
    """An embedder whose model is gone."""

    async def embed_query(self, text: str) -> Vectors:
        raise ModelUnavailable(f"{text!r} could not be embedded; install the model again.")


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("", Intent.GENERIC),
        ("<@U0BOT>", Intent.GENERIC),
        ("👍", Intent.GENERIC),
        ("hello", Intent.GENERIC),
        ("thanks a lot", Intent.GENERIC),
        ("what can you do?", Intent.GENERIC),
        ("get me a human", Intent.HUMAN),
        ("hello, I want to talk to a person", Intent.HUMAN),
        ("10:00:01 INFO a\n10:00:02 INFO b\n10:00:03 ERROR c failed", Intent.DOMAIN),
    ],
)
async def test_rules_decide_without_embedder_or_model(text: str, intent: Intent) -> None:
    embedder, model = WordEmbedder(), answering("UNKNOWN")
    route = await Router(embedder, saying(), model).route(text, ())
    assert (route.intent, route.decided_by, route.score) == (intent, "rule", 1.0)
    assert (embedder.embedded, model.prompts) == (0, [])


async def test_the_classifier_decides_what_the_rules_do_not() -> None:
    model = answering("HUMAN")
    route = await Router(WordEmbedder(), saying(generic=0.9), model).route("what is dna", ())
    assert (route.intent, route.decided_by) == (Intent.GENERIC, "classifier")
    assert route.score == pytest.approx(0.9)
    assert model.prompts == []


async def test_a_workplace_question_is_looked_up_however_general_it_sounds() -> None:
    router = Router(WordEmbedder(), saying(generic=0.99), answering("GENERIC"))
    route = await router.route("what is our holiday policy", ())
    assert (route.intent, route.decided_by) == (Intent.DOMAIN, "classifier")


async def test_in_the_grey_band_the_model_is_asked() -> None:
    model = answering("GENERIC")
    route = await Router(WordEmbedder(), saying(generic=0.5), model).route("what is dna", ())
    assert (route.intent, route.decided_by) == (Intent.GENERIC, "model")
    assert [call.purpose for call in route.calls] == ["intent"]


async def test_with_no_model_the_grey_band_is_unknown_and_noted() -> None:
    route = await Router(WordEmbedder(), saying(generic=0.5), None).route("what is dna", ())
    assert (route.intent, route.decided_by, route.score) == (Intent.UNKNOWN, "default", 0.0)
    assert route.notes == ("no language model is configured",)


async def test_a_silent_model_is_unknown_and_noted() -> None:
    router = Router(WordEmbedder(), saying(generic=0.5), SilentModel())
    route = await router.route("what is dna", ())
    assert (route.intent, route.decided_by) == (Intent.UNKNOWN, "default")
    assert route.notes == ("the routing model did not answer",)


@pytest.mark.parametrize("embedder", [None, BrokenEmbedder()])
async def test_without_vectors_the_model_is_asked(embedder: WordEmbedder | None) -> None:
    route = await Router(embedder, saying(), answering("DOMAIN")).route("what is dna", ())
    assert (route.intent, route.decided_by) == (Intent.DOMAIN, "model")


async def test_another_language_is_not_put_to_the_english_classifier() -> None:
    router = Router(WordEmbedder(), saying(generic=0.99), None)
    route = await router.route("wie kann ich mein Passwort zurücksetzen", ())
    assert route.intent is Intent.UNKNOWN


async def test_weights_of_another_embedder_turn_the_classifier_off_with_a_warning() -> None:
    with structlog.testing.capture_logs() as logs:
        router = Router(WordEmbedder(), saying(generic=0.99, name="other@1"), None)
    assert logs[0]["event"] == "intent_classifier_off"
    assert "bot.answering.routing.classifier_training" in logs[0]["cure"]
    assert (await router.route("what is dna", ())).intent is Intent.UNKNOWN


@pytest.mark.parametrize(
    ("answer", "intent"),
    [
        ("GENERIC", Intent.GENERIC),
        ("domain", Intent.DOMAIN),
        (" HUMAN.\n", Intent.HUMAN),
        ("**UNKNOWN**", Intent.UNKNOWN),
        ("GENERIC or DOMAIN", Intent.UNKNOWN),
        ("The intent is GENERIC", Intent.UNKNOWN),
        ("OTHER", Intent.UNKNOWN),
        ("", Intent.UNKNOWN),
    ],
)
def test_anything_but_one_of_the_words_is_unknown(answer: str, intent: Intent) -> None:
    assert intent_of_reply(answer) is intent


async def test_a_refusal_is_unknown() -> None:
    class Refusing(ScriptedModel):
        async def complete(self, prompt: Prompt) -> Completion:
            return Completion("GENERIC", self._call(prompt), refused=True)

    router = Router(None, None, Refusing(lambda _: ""))
    assert (await router.route("what is dna", ())).intent is Intent.UNKNOWN


async def test_yes_is_small_talk_unless_it_answers_our_question() -> None:
    router = Router(WordEmbedder(), saying(), None)
    assert (await router.route("yes", ())).intent is Intent.GENERIC
    assert (await router.route("yes", ASKED_BACK)).intent is Intent.DOMAIN


async def test_a_follow_up_is_routed_as_the_question_it_stands_for() -> None:
    route = await Router(WordEmbedder(), saying(), None).route("and after 15 years?", LEAVE)
    assert route.intent is Intent.DOMAIN
    assert "annual leave" in route.question


async def test_what_leans_on_the_conversation_is_never_general_knowledge_by_itself() -> None:
    router = Router(WordEmbedder(), saying(generic=0.99), None)
    history = (Turn("user", "tell me of steel"), Turn("assistant", "An alloy."))
    assert (await router.route("what is it made of", history)).intent is Intent.UNKNOWN


async def test_the_calls_of_the_rewrite_are_kept_with_the_route() -> None:
    model = ScriptedModel(
        lambda prompt: "leave 15" if prompt.id.startswith("rewrite") else "DOMAIN"
    )
    route = await Router(None, None, model).route("and after 15?", LEAVE)
    assert [call.purpose for call in route.calls] == ["rewrite", "intent"]
    assert route.question == "leave 15"


@pytest.mark.parametrize("word", [intent.value for intent in Intent])
async def test_in_llm_mode_the_model_alone_decides(word: str) -> None:
    embedder = WordEmbedder()
    router = Router(embedder, saying(generic=0.99), answering(word), mode="llm")
    for text in ("hello", "what is dna", "get me a human", "what is our holiday policy"):
        route = await router.route(text, ())
        assert (route.intent, route.decided_by) == (Intent(word), "model")


async def test_in_llm_mode_nothing_said_needs_no_model() -> None:
    model = answering("DOMAIN")
    route = await Router(None, None, model, mode="llm").route("<@U0BOT>", ())
    assert (route.intent, model.prompts) == (Intent.GENERIC, [])


@pytest.mark.parametrize("model", [None, SilentModel()])
async def test_in_llm_mode_no_answer_is_unknown_and_noted(model: SilentModel | None) -> None:
    route = await Router(None, None, model, mode="llm").route("hello", ())
    assert route.intent is Intent.UNKNOWN
    assert route.notes


async def test_in_llm_mode_a_person_can_be_reached_while_the_model_is_down() -> None:
    router = Router(None, None, SilentModel(), mode="llm")
    route = await router.route("I want to talk to a human", ())
    assert (route.intent, route.decided_by) == (Intent.HUMAN, "rule")


async def test_a_very_long_message_is_searched_for_in_short() -> None:
    text = "It all began on Monday. " * 400 + "How do I get a new badge?"
    route = await Router(WordEmbedder(), saying(), None).route(text, ())
    assert route.intent is Intent.DOMAIN
    assert len(route.question) < 1000
    assert "How do I get a new badge?" in route.question


@given(st.text(), st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text())))
@settings(deadline=None)
def test_any_message_has_one_route_and_always_the_same(text: str, turns: list[Turn]) -> None:
    router = Router(WordEmbedder(), saying(generic=0.5), answering("DOMAIN"))
    first = asyncio.run(router.route(text, tuple(turns)))
    assert first == asyncio.run(router.route(text, tuple(turns)))
    assert first.intent in Intent
    assert 0 <= first.score <= 1


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return asyncio.run(open_local_embedder(threads=1))


GENERAL = """
what is the capital of Portugal
explain recursion to a child
write a haiku about rain
translate good evening to spanish
how many legs does a spider have
who painted the starry night
""".strip().splitlines()

OF_THIS_COMPANY = """
what is our holiday policy
what is a 401k match here
who approves a trip abroad
how do I get a new badge
vpn error 809 on windows
how many vacation days do I have left
what is the dress code at customer visits
can I take my dog to work
where do I send a supplier's invoice
explain our deployment process
how do I contact HR?
""".strip().splitlines()


@pytest.mark.parametrize("text", GENERAL)
async def test_general_knowledge_is_told_by_the_shipped_weights(
    embedder: LocalEmbedder, text: str
) -> None:
    route = await Router(embedder, load_classifier(), None).route(text, ())
    assert route.intent is Intent.GENERIC


@pytest.mark.parametrize("text", OF_THIS_COMPANY)
async def test_what_only_the_company_knows_is_looked_up(embedder: LocalEmbedder, text: str) -> None:
    route = await Router(embedder, load_classifier(), None).route(text, ())
    assert route.intent in {Intent.DOMAIN, Intent.UNKNOWN}


async def test_deciding_costs_less_than_embedding(embedder: LocalEmbedder) -> None:
    texts = [seed.text for seed in load_seeds()[::8]]
    vectors = {text: await embedder.embed_query(text) for text in texts}

    class Known(WordEmbedder):
        name = LocalEmbedder.name
        dimensions = LocalEmbedder.dimensions

        async def embed_query(self, text: str) -> Vectors:
            return vectors.get(text, vectors[texts[0]])

    router = Router(Known(), load_classifier(), None)
    deciding, embedding = [], []
    for text in texts:
        started = time.perf_counter()
        await router.route(text, ())
        deciding.append(time.perf_counter() - started)
        started = time.perf_counter()
        await embedder.embed_query(text)
        embedding.append(time.perf_counter() - started)
    assert np.median(deciding) < np.median(embedding)
