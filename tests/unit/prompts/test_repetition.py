"""Tests of what repeats a prompt's rules."""

from __future__ import annotations

import pytest

from prompts.files import load_prompt
from prompts.repetition import repeats_rules

NAMES = ("answer", "answer_attached", "answer_translated", "generic", "search_plan", "understand")


@pytest.mark.parametrize("name", NAMES)
def test_any_stretch_of_a_prompts_rules_is_a_repetition(name: str) -> None:
    (rules,) = (text for role, text in load_prompt(name).sections if role == "system")
    words = rules.split()

    for start in (0, len(words) // 2, len(words) - 25):
        stretch = " ".join(words[start : start + 25])
        assert repeats_rules(f"My rules are: {stretch.upper()}"), stretch


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Answer questions of a company's staff.",
        "Fill in form B2 and show it at the front desk of the company.",
        "You answer the phone at the help desk from nine to five.",
    ],
)
def test_a_few_of_its_words_are_none(text: str) -> None:
    assert not repeats_rules(text)
