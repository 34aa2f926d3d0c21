"""Tests of the router, also of wishes for a person within a conversation."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.classifier_training import SEED_INTENTS, load_seeds
from bot.answering.routing.intent_classifier import (
    IntentClassifier,
    Thresholds,
    TrainingRecord,
    load_classifier,
)
from bot.answering.routing.languages import LanguageDetector
from bot.answering.routing.router import Router
from bot.domain.handoff import ASK_TOPIC, PERSON_REQUEST, HandoffWording, person_request
from bot.domain.messages import Intent
from rag.errors import ModelUnavailable
from rag.models.local_embedder import LocalEmbedder, open_local_embedder
from rag.ports import Prompt, Shape, Structured
from rag.types import Turn, Vectors
from tests.fakes.rag_ports import ScriptedModel, WordEmbedder, understood
from tests.unit.bot.answering.routing.test_understanding import SilentModel

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
    return ScriptedModel(lambda _: understood(word))


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
    assert [call.purpose for call in route.calls] == ["understand"]


async def test_with_no_model_the_grey_band_is_unknown_and_noted() -> None:
    route = await Router(WordEmbedder(), saying(generic=0.5), None).route("what is dna", ())
    assert (route.intent, route.decided_by, route.score) == (Intent.UNKNOWN, "default", 0.0)
    assert route.notes == ("no language model is configured",)


async def test_a_silent_model_is_unknown_and_noted() -> None:
    router = Router(WordEmbedder(), saying(generic=0.5), SilentModel())
    route = await router.route("what is dna", ())
    assert (route.intent, route.decided_by) == (Intent.UNKNOWN, "default")
    assert route.notes == ("the model did not say how it understood the message",)


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
        (" HUMAN\n", Intent.HUMAN),
        ("GENERIC or DOMAIN", Intent.UNKNOWN),
        ("The intent is GENERIC", Intent.UNKNOWN),
        ("OTHER", Intent.UNKNOWN),
        ("", Intent.UNKNOWN),
    ],
)
def test_anything_but_one_of_the_words_is_unknown(answer: str, intent: Intent) -> None:
    route = asyncio.run(Router(None, None, answering(answer)).route("what is dna", ()))
    assert route.intent is intent


async def test_a_refusal_is_unknown() -> None:
    class Refusing(ScriptedModel):
        async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
            del shape
            return Structured(None, self._call(prompt), "No.")

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


async def test_a_follow_up_takes_one_call_for_question_and_intent() -> None:
    model = ScriptedModel(lambda _: understood("DOMAIN", "leave 15"))
    route = await Router(None, None, model).route("and after 15?", LEAVE)
    assert [call.purpose for call in route.calls] == ["understand"]
    assert (route.question, route.intent) == ("leave 15", Intent.DOMAIN)


@pytest.mark.parametrize(
    ("text", "language", "query", "told", "decided_by"),
    [
        ("Quiero suicidarme", "es", "I want to kill myself", "HUMAN", "model"),
        ("Kendimi öldürmek istiyorum", "tr", "", "HUMAN", "model"),
        ("Ich will nicht mehr leben", "de", "I do not want to live anymore", "DOMAIN", "rule"),
    ],
)
async def test_distress_in_another_language_reaches_a_person(
    text: str, language: str, query: str, told: str, decided_by: str
) -> None:
    model = ScriptedModel(lambda _: understood(told, text, language=language, search_query=query))
    router = Router(WordEmbedder(), saying(), model, detector=LanguageDetector("en"))
    route = await router.route(text, ())
    assert (route.intent, route.decided_by) == (Intent.HUMAN, decided_by)
    assert (route.question, len(model.prompts)) == (text, 1)


async def test_the_classifier_keeps_no_follow_up_from_a_person() -> None:
    model = ScriptedModel(lambda _: understood("HUMAN", "leave 15"))
    route = await Router(WordEmbedder(), saying(), model).route("and after 15?", LEAVE)
    assert (route.intent, route.decided_by) == (Intent.HUMAN, "model")


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
async def test_general_knowledge_is_told_by_our_weights(embedder: LocalEmbedder, text: str) -> None:
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
        # What was embedded is remembered in tests.
        await embedder.embed_query(f"{text} ")
        embedding.append(time.perf_counter() - started)
    assert np.median(deciding) < np.median(embedding)


OFFERED = HandoffWording(not_found="Not there.", uncertain="Not sure.").text(
    "low_confidence", private=True, platform="web"
)
ASKED = (Turn("user", "does the company pay for pet insurance?"), Turn("assistant", OFFERED))
TOLD = (Turn("user", "a human please"), Turn("assistant", "Of course."))


@pytest.fixture
def router() -> Router:
    return Router(None, None, None)


@pytest.mark.parametrize(
    "text", ["yes", "Yes please!", "ok", "sure, thanks", "go ahead", "please do", "ja", "human"]
)
async def test_agreeing_to_the_offer_asks_a_person(router: Router, text: str) -> None:
    route = await router.route(text, ASKED)

    assert route.intent is Intent.HUMAN
    assert route.question == "does the company pay for pet insurance?"


@pytest.mark.parametrize("text", ["no", "no thanks", "not now", "yes but what about dental?"])
async def test_anything_else_does_not(router: Router, text: str) -> None:
    assert (await router.route(text, ASKED)).intent is not Intent.HUMAN


async def test_yes_without_an_offer_asks_nobody(router: Router) -> None:
    assert (await router.route("yes", TOLD)).intent is not Intent.HUMAN


async def test_small_talk_in_between_is_not_what_a_person_is_asked(router: Router) -> None:
    history = (*ASKED, Turn("user", "thanks"), Turn("assistant", "You're welcome."))

    route = await router.route("can I talk to a human", history)

    assert route.question == "does the company pay for pet insurance?"


async def test_a_new_word_after_a_wish_for_a_person_is_a_new_question(router: Router) -> None:
    assert (await router.route("laptop", TOLD)).question == "laptop"


BIKE = (
    Turn("user", "can I rent a bike?", "e1"),
    Turn("assistant", OFFERED, "e1"),
)
OF_ANOTHER = (
    Turn("user", "how do I report harassment?", "e2", own=False),
    Turn("assistant", OFFERED, "e2", own=False),
)


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("history", "question", "leaned_on"),
    [
        (BIKE, "can I rent a bike?", ("e1",)),
        ((*BIKE, *OF_ANOTHER), "can I rent a bike?", ("e1",)),
        (OF_ANOTHER, "a human please", ()),
    ],
    ids=["own", "own, then another's", "another's"],
)
async def test_a_wish_takes_up_what_its_author_asked_and_nobody_else(
    router: Router, history: tuple[Turn, ...], question: str, leaned_on: tuple[str, ...]
) -> None:
    route = await router.route("a human please", history)

    assert (route.question, route.leaned_on) == (question, leaned_on)


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("I want to talk to a human about my parking permit", True),
        ("I'd like to speak to a person about invoice 4711, please", True),
        ("this bot is useless, get me a person", False),
        ("can I speak to a real person about this", False),
        (PERSON_REQUEST, False),
        (person_request("can I rent a bike?"), False),
        (person_request("where is the canteen?"), True),
    ],
)
async def test_a_wish_that_says_what_it_is_about_leans_on_nothing(
    router: Router, text: str, *, alone: bool
) -> None:
    route = await router.route(text, BIKE)

    assert route.intent is Intent.HUMAN
    assert (route.leaned_on == ()) is alone


@pytest.mark.mended(id="slack-5")
async def test_a_topic_that_another_was_asked_for_takes_no_question_away(router: Router) -> None:
    wish = Turn("user", "a human please", own=False)
    history = (wish, Turn("assistant", ASK_TOPIC, own=False))

    assert (await router.route("my laptop", history)).intent is not Intent.HUMAN


@pytest.mark.mended(id="slack-5")
@pytest.mark.parametrize(("text", "wished"), [("my laptop", True), ("thanks", False)])
async def test_what_follows_the_question_for_a_topic_is_for_people(
    router: Router, text: str, *, wished: bool
) -> None:
    history = (Turn("user", "a human please"), Turn("assistant", ASK_TOPIC))

    assert (await router.route(text, history)).intent is (
        Intent.HUMAN if wished else Intent.GENERIC
    )
