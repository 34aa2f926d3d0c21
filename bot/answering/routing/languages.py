"""The languages that questions come in: detect one, and give Frontdesk's own texts in it.

Searching works in the wiki's language alone: the word rules and the embedder know no other. A
language is a BCP-47 primary tag; "" stands for the wiki's own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bot.domain.handoff import HANDOFF_QUESTION, HandoffClosing, HandoffWording
from bot.domain.interactions import Route

ANY = "mul"
"""The tag of multiple languages: a wiki in which nothing is translated before it is searched."""

_ENGLISH = "en"
_ALSO_NAMED = "cs da el fi he hu id it ko nl no pl ro sv th tr uk vi".split()
"""Languages that are told from those with texts, so that an Italian isn't taken for a Spaniard."""

_MOST_DOUBT = 0.03
"""Largest share of the wiki's language, among those with texts, in a text that is in another one.

The largest tried at which no English question of the routing sets is taken for a foreign one: of
11,311 messages 9 are, "G'day" and eight greetings that are foreign.
"""
_SURE = 0.9
"""Share from which one of the other languages is believed."""
_MOST_CHARACTERS = 1000

_NAMES = re.compile(
    r"<[@#!][^>]*>|https?://\S+|\S*@\S+"
    r"|[A-Za-z0-9_.+-]*(?:\d|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9_.+-]*"
)
"""Mentions, addresses, codes, acronyms and product names, which belong to no language."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class LanguageTexts:
    """Frontdesk's texts in one language; languages.toml says what each is."""

    name: str
    own: str
    translation: str
    search_only: str
    closing: HandoffClosing
    yes: tuple[str, ...]


class LanguageDetector:
    """Detects the language of a question that is not in the wiki's; keeps no state.

    Args:
        wiki: the wiki's language; ANY detects none.
    """

    def __init__(self, wiki: str) -> None:
        self.wiki = wiki
        self._compared = frozenset({*_texts(), wiki})
        # Without the wiki's language to compare with, every question would look foreign.
        self._off = wiki == ANY or wiki not in _identifier().labels

    def foreign(self, text: str) -> str:
        """Return the language of a text; "" where it is, or may be, the wiki's."""
        words = _WORD.findall(_NAMES.sub(" ", text[:_MOST_CHARACTERS]))
        if self._off or not words:
            return ""
        known = self._compared.union(_ALSO_NAMED)
        ranked = _identifier().rank(" ".join(words).lower())
        shares: dict[str, float] = {tag: share for tag, share in ranked if tag in known}
        best = max(shares, key=shares.__getitem__)
        if best not in self._compared and shares[best] >= _SURE * sum(shares.values()):
            return best
        compared = {tag: shares[tag] for tag in self._compared}
        if shares[self.wiki] > _MOST_DOUBT * sum(compared.values()):
            return ""
        return max(compared, key=compared.__getitem__)


@cache
def _identifier() -> LanguageIdentifier:
    """Load the model once: half a second, 37 microseconds for a question then."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _texts() -> Mapping[str, LanguageTexts]:
    read = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
    return {
        tag: LanguageTexts(
            **{
                **texts,
                "closing": HandoffClosing(**texts["closing"]),
                "yes": tuple(texts["yes"]),
            }
        )
        for tag, texts in read.items()
    }


def texts_in(language: str) -> LanguageTexts:
    """Return the texts in a language; the English ones where there are none."""
    return _texts().get(language) or _texts()[_ENGLISH]


def agreements() -> tuple[str, ...]:
    """Return the words of every language that accept an offer, as regular expressions."""
    return tuple(re.escape(word) for texts in _texts().values() for word in texts.yes)


def language_name(language: str) -> str:
    """Return a language as a model is told it: "German (de)", or the tag alone."""
    known = _texts().get(language)
    return f"{known.name} ({language})" if known else language


def offers() -> tuple[str, ...]:
    """Return the question whether to ask a person, in every language that has texts."""
    return (HANDOFF_QUESTION, *(texts.closing.offer for texts in _texts().values()))


def in_askers_language(wording: HandoffWording, route: Route) -> HandoffWording:
    """Return the wording for a question that can't be searched for in its own language.

    Unchanged for one in the wiki's language, or translated into it.
    """
    if not route.language or route.search_query or route.language not in _texts():
        return wording
    texts = _texts()[route.language]
    wiki = _texts().get(wording.wiki_language)
    why = Template(texts.search_only).substitute(wiki=wiki.own if wiki else wording.wiki_language)
    return replace(wording, not_found=why, uncertain=why, closing=texts.closing)
