"""Tests of who may see the words of somebody else's question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.messages import InteractionId
from bot.learning.question_words import QuestionFacts, Viewer, may_see_words

PRIVATE = QuestionFacts(InteractionId("1"), asker="ada", chunk_ids=frozenset({"a", "b"}))
VIEWER = Viewer(frozenset({"lena", "slack:U1"}), readable=frozenset({"a", "b", "c"}))
KNOWN = {
    "their own": replace(PRIVATE, asker="lena"),
    "of a case they worked on": replace(PRIVATE, workers=frozenset({"slack:U1"})),
    "agreed to": replace(PRIVATE, agreed=True),
    "asked by three": replace(PRIVATE, askers=3),
    "asked in public": replace(PRIVATE, public=True),
}


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_a_known_question_is_shown_to_readers_of_its_pages(known: QuestionFacts) -> None:
    assert may_see_words(known, VIEWER)
    assert not may_see_words(known, replace(VIEWER, readable=frozenset({"a"})))


def test_a_question_of_one_or_two_people_is_theirs() -> None:
    assert not may_see_words(PRIVATE, VIEWER)
    assert not may_see_words(replace(PRIVATE, askers=2), VIEWER)
    assert not may_see_words(replace(PRIVATE, workers=frozenset({"ada"})), VIEWER)
