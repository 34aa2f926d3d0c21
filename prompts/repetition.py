"""Detect that a text repeats the rules of a prompt, which are for a model alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from prompts.files import load_prompt

LEAST_REPEATED = 8
"""Words in a row that are taken for a repetition: shorter runs also occur by chance."""

_WORD = re.compile(r"\w+")


def repeats_rules(text: str) -> bool:
    """Return whether a text has eight words in a row of the system part of any prompt.

    Case, punctuation and compatibility forms don't count. A translation or an encoding of the
    rules is not recognised.
    """
    return not _rule_runs().isdisjoint(_runs(text))


@cache
def _rule_runs() -> frozenset[tuple[str, ...]]:
    names = (path.stem for path in Path(__file__).parent.glob("*.md"))
    sections = (section for name in names for section in load_prompt(name).sections)
    return frozenset(run for role, rules in sections if role == "system" for run in _runs(rules))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return zip(*(words[at:] for at in range(LEAST_REPEATED)), strict=False)
