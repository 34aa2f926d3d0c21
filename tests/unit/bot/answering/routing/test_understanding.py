"""Tests of how a message is understood, by rules and with a model's help."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.languages import LanguageDetector
from bot.answering.routing.understanding import (
    MessageReader,
    Reading,
    is_faithful,
    keeps_particulars,
)
from bot.answering.routing.understanding import rewrite_sources as words_from
from bot.domain.messages import Intent
from rag.errors import ModelUnavailable
from rag.ports import ChatModel, Completion, Prompt, Shape, Structured
from rag.types import ModelCall, Turn
from tests.fakes.costs import costs_in_proportion
from tests.fakes.rag_ports import ScriptedModel, understood

HISTORY = (
    Turn("user", "how do I get VPN error 809 solved on Windows"),
    Turn("assistant", "Use a phone hotspot."),
)
BY_RULE = "and on linux? (VPN error 809 solved Windows)"
GERMAN = "Wie setze ich mein Passwort zurück?"
IN_ENGLISH = "How do I reset my password?"
QUERY = "How do I set up the VPN on the phone?"


def saying(question: str, intent: str = "DOMAIN") -> ScriptedModel:
    return ScriptedModel(lambda _: understood(intent, question))


def translating(query: str, question: str = GERMAN, language: str = "de") -> ScriptedModel:
    return ScriptedModel(
        lambda _: understood("DOMAIN", question, language=language, search_query=query)
    )


async def read(
    model: ChatModel | None,
    text: str,
    history: tuple[Turn, ...] = (),
    detector: LanguageDetector | None = None,
) -> Reading:
    """Read as the router does a message that rules and classifier decide."""
    reader = MessageReader(model, detector)
    by_rules = await reader.by_rules(text, history)
    return by_rules if by_rules.clear else await reader.with_model(text, history, by_rules)


@pytest.fixture(scope="module")
def english() -> LanguageDetector:
    return LanguageDetector("en")


class SilentModel:
    """A model that never answers."""

    name = "silent"

    async def complete(self, prompt: Prompt) -> Completion:
        raise ModelUnavailable(f"{prompt.id!r} got no answer; try again.")

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        raise ModelUnavailable(f"{prompt.id!r} got no {shape.__name__!r}; try again.")


class RefusingModel(ScriptedModel):
    """A model that declines whatever it is asked."""

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        del shape
        return Structured(None, ModelCall("understand", "refusing", prompt.id, 1, 0, 0.0), "No.")


async def test_a_follow_up_is_rewritten_by_the_model() -> None:
    model = saying("how do I get VPN error 809 solved on linux")
    asked = await read(model, "and on linux?", HISTORY)
    assert asked.question == "how do I get VPN error 809 solved on linux"
    assert asked.certain
    assert [call.purpose for call in asked.calls] == ["understand"]


async def test_the_model_reads_the_conversation_and_the_message() -> None:
    model = saying("VPN on linux")
    await read(model, "and on linux?", HISTORY)
    sent = model.prompts[0].messages[-1].content
    assert "user: how do I get VPN error 809" in sent
    assert "assistant: Use a phone hotspot." in sent
    assert "and on linux?" in sent


async def test_quotation_marks_around_a_rewrite_are_dropped() -> None:
    model = saying('"VPN error 809 on linux"')
    asked = await read(model, "and on linux?", HISTORY)
    assert asked.question == "VPN error 809 on linux"


async def test_a_new_question_asks_no_model_and_keeps_its_words() -> None:
    model = saying("something else")
    text = "which laptop models can new developers choose this year"
    asked = await read(model, text, HISTORY)
    assert (asked.question, asked.certain, model.prompts) == (text, True, [])


async def test_a_first_message_asks_no_model() -> None:
    model = saying("something else")
    asked = await read(model, "and on linux?", ())
    assert (asked.question, model.prompts) == ("and on linux?", [])


async def test_without_a_model_rules_add_what_is_missing() -> None:
    asked = await read(None, "and on linux?", HISTORY)
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
    asked = await read(saying(rewrite), "and on linux?", HISTORY)
    assert asked.question == BY_RULE
    assert asked.notes == ("the model's reading of the message was not used",)
    assert len(asked.calls) == 1


async def test_a_rewrite_that_loses_an_identifier_is_not_used() -> None:
    model = saying("VPN error solved on Windows")
    asked = await read(model, "and with INC0012345?", HISTORY)
    assert asked.question.startswith("and with INC0012345?")


async def test_a_refusal_falls_back_to_the_rules() -> None:
    asked = await read(RefusingModel(lambda _: ""), "and on linux?", HISTORY)
    assert asked.question == BY_RULE


async def test_a_silent_model_falls_back_to_the_rules_and_is_noted() -> None:
    asked = await read(SilentModel(), "and on linux?", HISTORY)
    assert (asked.question, asked.calls) == (BY_RULE, ())
    assert asked.notes == ("the model did not say how it understood the message",)


async def test_a_pasted_log_is_condensed_to_its_telling_line() -> None:
    log = "10:00:01 INFO start\n10:00:02 INFO go\n10:00:03 ERROR disk full on /var: write failed"
    asked = await read(None, log, ())
    assert asked.question == "disk full on /var: write failed"


def test_a_faithful_rewrite_takes_its_words_from_the_conversation() -> None:
    assert is_faithful("VPN error 809 on linux", "and on linux?", HISTORY)
    assert not is_faithful("vacation days of teachers", "and on linux?", HISTORY)


@given(st.text(max_size=300), st.lists(st.text(max_size=50), max_size=4), st.text(max_size=300))
def test_any_words_of_anyone_give_a_question(text: str, said: list[str], answer: str) -> None:
    history = tuple(Turn("user", turn) for turn in said)
    model = ScriptedModel(lambda _: understood("DOMAIN", answer, search_query=answer))
    asked = asyncio.run(read(model, text, history))
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
async def test_whose_words_a_question_took_is_named(text: str, leaned_on: tuple[str, ...]) -> None:
    assert (await read(None, text, BIKE)).leaned_on == leaned_on


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


async def test_another_language_is_searched_for_in_the_wikis(english: LanguageDetector) -> None:
    model = translating(IN_ENGLISH)
    asked = await read(model, GERMAN, (), english)
    assert (asked.question, asked.language, asked.search_query) == (GERMAN, "de", IN_ENGLISH)
    assert asked.intent is Intent.DOMAIN
    assert len(model.prompts) == 1


async def test_the_model_is_told_the_language_of_the_wiki() -> None:
    model = translating("Wie setze ich es zurück?", "How do I reset it?", "en")
    await read(model, "How do I reset my password?", (), LanguageDetector("de"))
    assert "German (de)" in model.prompts[0].messages[-1].content


async def test_a_question_in_the_wikis_language_asks_no_model(english: LanguageDetector) -> None:
    model = translating(IN_ENGLISH)
    assert await read(model, IN_ENGLISH, (), english) == Reading(IN_ENGLISH)
    assert model.prompts == []


async def test_a_wiki_of_many_languages_translates_nothing() -> None:
    asked = await read(translating(IN_ENGLISH), GERMAN, (), LanguageDetector("mul"))
    assert asked == Reading(GERMAN)


async def test_the_model_may_find_the_language_to_be_the_wikis(english: LanguageDetector) -> None:
    asked = await read(translating("", GERMAN, "en"), GERMAN, (), english)
    assert (asked.language, asked.search_query) == ("", "")


@pytest.mark.parametrize(
    "query",
    ["", "two\nlines", "Wie setze ich mein Passwort zurück?", IN_ENGLISH + " now" * 200],
    ids=["none", "two lines", "not translated", "an answer"],
)
async def test_an_unusable_translation_leaves_the_question_untranslated(
    english: LanguageDetector, query: str
) -> None:
    asked = await read(translating(query), GERMAN, (), english)
    assert (asked.question, asked.language, asked.search_query) == (GERMAN, "de", "")
    assert asked.notes == ("the model's translation of the question was not used",)


async def test_without_a_model_the_language_is_known_all_the_same(
    english: LanguageDetector,
) -> None:
    asked = await read(None, GERMAN, (), english)
    assert (asked.language, asked.search_query, asked.asked) == ("de", "", False)


async def test_a_follow_up_in_another_language_is_completed_and_translated(
    english: LanguageDetector,
) -> None:
    history = (Turn("user", "Wie richte ich das VPN ein?", "e1"),)
    model = translating(
        "How do I set up the VPN on the phone?", "Wie richte ich das VPN auf dem Handy ein?"
    )
    asked = await read(model, "Und wie geht das auf dem Handy?", history, english)
    assert asked.search_query == QUERY
    assert asked.leaned_on == ("e1",)


@pytest.mark.parametrize(
    ("question", "query", "kept"),
    [
        ("Was bedeutet Fehler 809?", "What does error 809 mean?", True),
        ("Was bedeutet Fehler 809?", "What does the error mean?", False),
        ("Was bedeutet der Fehler?", "What does error 809 mean?", False),
        ("VPNエラー809とは?", "What is VPN error 809?", True),
        ("كم يومًا بعد ٣ سنوات؟", "How many days after 3 years?", True),
        ("Was heißt „Kernzeit“ bei uns?", 'What does "Kernzeit" mean here?', True),
        ("Was heißt „Kernzeit“ bei uns?", "What does core time mean here?", False),
        ("Wie viele Tage habe ich?", "How many days do I have after 10 years?", False),
        ("Was gilt für B2B-Kunden?", "What applies to B2B customers?", True),
        ("Was gilt für B2B-Kunden?", "What applies to our customers?", False),
        ("Gilt die 2024er Regel?", "Does the 2024 rule apply?", True),
        ("Gilt die 2024er-Regel noch?", "Does the 2024 rule still apply?", True),
        ("Gilt die 2024er Regel?", "Does the 2023 rule apply?", False),
        ("Wie löse ich den VPN-809-Fehler?", "How do I solve the VPN-809 error?", True),
        ("Правила 2024-го года?", "What are the rules of 2024?", True),
        ("Wo läuft srv01-prod?", "Where does srv01 run?", False),
    ],
)
def test_a_translation_keeps_numbers_codes_and_quoted_text(
    question: str, query: str, *, kept: bool
) -> None:
    assert keeps_particulars(query, question, ()) is kept


def test_the_cost_of_stripping_compounds_grows_with_the_length() -> None:
    def stripped(text: str) -> bool:
        return keeps_particulars(text, text, ())

    for piece in ("1-", "a1", "B2B-Kunden-", "2024er "):
        assert costs_in_proportion(stripped, piece, 40_000)


def test_a_rewrite_in_a_script_without_spaces_is_held_against_its_letters() -> None:
    history = (Turn("user", "VPNの設定方法は?"),)
    assert is_faithful("携帯でのVPNの設定方法は?", "携帯では?", history)
    assert not is_faithful("社員食堂の献立を教えてください", "携帯では?", history)


async def test_a_model_that_answers_badly_is_not_asked_to_repair_it() -> None:
    model = ScriptedModel(lambda _: "certainly!")
    asked = await read(model, "and on linux?", HISTORY)
    assert asked.question == BY_RULE
    assert [prompt.repairs for prompt in model.prompts] == [False]
