"""Tests of the languages that questions come in."""

from __future__ import annotations

import asyncio
import tomllib
from dataclasses import astuple
from pathlib import Path

import pytest

from bot.answering.routing.intent_rules import Rules
from bot.answering.routing.languages import LanguageDetector, in_askers_language, texts_in
from bot.domain.handoff import (
    HANDOFF_QUESTION,
    HandoffWording,
    as_ephemeral,
    as_list_only,
    as_thread_reply,
)
from bot.domain.interactions import Escalation, EscalationReason, Route
from bot.domain.messages import Intent
from rag.embedding import word_test
from rag.models.local_embedder import open_local_embedder
from rag.types import Turn

TEN = "en zh hi es fr ar pt de ja ru".split()
SHORT = tomllib.loads((Path(__file__).parents[4] / "evals" / "asked_in.toml").read_text("utf-8"))
TWO_WORDS = tomllib.loads(Path(__file__).with_name("two_words.toml").read_text("utf-8"))
FOREIGN = [tag for tag in TWO_WORDS if tag != "en"]
WORDING = HandoffWording(
    not_found="Not there.", uncertain="Not sure.", asks_people=frozenset({"slack"})
)


@pytest.fixture(scope="module")
def english() -> LanguageDetector:
    return LanguageDetector("en")


@pytest.fixture(scope="module")
def knowing_words() -> LanguageDetector:
    return LanguageDetector("en", word_test(asyncio.run(open_local_embedder(threads=1))))


def route(language: str, search_query: str = "") -> Route:
    return Route(Intent.DOMAIN, 1.0, "default", "?", language=language, search_query=search_query)


@pytest.mark.parametrize("text", SHORT["en"])
async def test_names_and_codes_make_no_english_question_foreign(
    english: LanguageDetector, text: str
) -> None:
    assert await english.foreign(text) == ""


@pytest.mark.parametrize("language", [tag for tag in TEN if tag != "en"])
async def test_most_short_questions_are_told_to_be_in_their_language(
    english: LanguageDetector, language: str
) -> None:
    told = [await english.foreign(text) for text in SHORT[language]]
    assert told.count(language) >= 0.7 * len(told)
    assert len(told) - told.count(language) - told.count("") <= 1


@pytest.mark.parametrize("language", FOREIGN)
async def test_two_words_are_hardly_taken_for_english(
    knowing_words: LanguageDetector, language: str
) -> None:
    told = [await knowing_words.foreign(text) for text in TWO_WORDS[language]]

    assert len(told) >= 40
    assert told.count("") <= 0.16 * len(told)
    assert told.count(language) >= 0.75 * len(told)


@pytest.mark.parametrize("text", TWO_WORDS["en"])
async def test_two_english_words_are_not_taken_for_another_language(
    knowing_words: LanguageDetector, text: str
) -> None:
    assert await knowing_words.foreign(text) == ""


async def test_common_words_of_english_say_nothing_of_another_wiki() -> None:
    plain, knowing = LanguageDetector("de"), LanguageDetector("de", lambda _: True)

    for text in (*TWO_WORDS["en"], *TWO_WORDS["de"]):
        assert await knowing.foreign(text) == await plain.foreign(text)


@pytest.mark.parametrize("text", ["", "809", "KB5031234", "<@U0BOT>", "https://x.example/über"])
async def test_what_has_no_words_is_in_no_other_language(
    english: LanguageDetector, text: str
) -> None:
    assert await english.foreign(text) == ""


async def test_a_language_without_texts_is_not_taken_for_one_that_has_them(
    english: LanguageDetector,
) -> None:
    polish = "Jak mogę zresetować hasło do komputera i poczty służbowej?"
    assert await english.foreign(polish) == "pl"


async def test_in_another_wiki_english_is_the_other_language() -> None:
    german = LanguageDetector("de")
    assert await german.foreign("How do I reset my password?") == "en"
    assert await german.foreign("Wie setze ich mein Passwort zurück?") == ""


@pytest.mark.parametrize("language", TEN)
def test_every_language_has_its_own_texts(language: str) -> None:
    texts, others = texts_in(language), [texts_in(tag) for tag in TEN if tag != language]
    assert "$wiki" in texts.search_only
    for name in ("name", "own", "translation", "search_only", "model_failed"):
        assert getattr(texts, name)
        assert getattr(texts, name) not in [getattr(each, name) for each in others]
    for said in astuple(texts.closing):
        assert said
        assert said not in [said for each in others for said in astuple(each.closing)]
    for line in (texts.correction.changed, texts.correction.closed):
        assert line.count("$day") == 1
        assert line not in [said for each in others for said in astuple(each.correction)]


@pytest.mark.parametrize("language", TEN)
def test_a_question_that_cannot_be_translated_is_told_so_in_its_language(language: str) -> None:
    wording = in_askers_language(WORDING, route(language))
    texts = texts_in(language)
    assert "English" in wording.not_found
    assert wording.not_found.startswith(texts.search_only[:10])
    assert wording.uncertain == wording.not_found


@pytest.mark.parametrize("asked", [route(""), route("de", "How?"), route("pl")])
def test_all_others_are_told_as_always(asked: Route) -> None:
    assert in_askers_language(WORDING, asked) == WORDING


@pytest.mark.parametrize("reason", ["nothing_found", "low_confidence"])
@pytest.mark.parametrize("language", TEN)
def test_nothing_but_the_askers_language_follows_the_line_in_it(
    language: str, reason: EscalationReason
) -> None:
    wording, closing = in_askers_language(WORDING, route(language)), texts_in(language).closing
    in_private = wording.text(reason, private=True, platform="web", leaned=True)
    on_the_list = wording.text(reason, private=False, platform="web")
    to_experts = wording.text(reason, private=False, platform="slack")
    on_a_terminal = wording.text(reason, private=True, platform="cli")

    assert in_private == f"{wording.not_found} {closing.offer} {closing.seen}"
    assert on_the_list == to_experts == f"{wording.not_found} {closing.passed_on}"
    assert on_a_terminal == f"{wording.not_found} {closing.help_desk}"
    assert closing.offer not in wording.statement(reason)


def test_a_failure_is_told_in_english_throughout() -> None:
    wording = in_askers_language(WORDING, route("de"))
    assert wording.text("unavailable", private=True, platform="web") == WORDING.text(
        "unavailable", private=True, platform="web"
    )


@pytest.mark.parametrize("language", [tag for tag in TEN if tag != "en"])
def test_a_text_in_another_language_stays_where_the_experts_channel_fails(language: str) -> None:
    text = in_askers_language(WORDING, route(language)).text(
        "nothing_found", private=False, platform="slack"
    )
    handed = Escalation(text, reason="nothing_found", question="?")
    assert as_list_only(handed) == as_ephemeral(handed) == as_thread_reply(handed) == handed


@pytest.mark.parametrize("language", TEN)
def test_an_offer_is_accepted_in_every_language(language: str) -> None:
    for offer in (HANDOFF_QUESTION, texts_in(language).closing.offer):
        history = (Turn("user", "?"), Turn("assistant", f"Hm. {offer} Reply."))
        for word in texts_in(language).yes:
            ruling = Rules().decide(word, history)
            assert ruling is not None
            assert ruling.intent is Intent.HUMAN
