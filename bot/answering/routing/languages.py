"""The languages that questions come in: detect one, and give Frontdesk's own texts in it.

Searching works in the wiki's language alone: the word rules and the embedder know no other. A
language is a BCP-47 primary tag; "" stands for the wiki's own.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from string import Template

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bot.domain.handoff import HANDOFF_QUESTION, HandoffClosing, HandoffWording
from bot.domain.interactions import Route
from rag.types import Turn

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
_DOUBT_HALF_ENGLISH = 0.06
"""The same for several words of which at most half are known English ones, in an English wiki.

This and the next three were chosen with two_words.toml of the tests so that of the routing sets,
the questions of all evaluation sets and the headings of their pages (14,000 texts) no English one
more is taken for a foreign one.
"""
_DOUBT_WITHOUT_ENGLISH, _DOUBT_IN_ANOTHER = 0.1, 0.25
"""The same if none is, and if then one other language has the share _MOST or more."""
_MOST = 0.6
_MOSTLY_ENGLISH = 2 / 3
"""Share of English words from which several words are English, whatever names are among them."""
_SURE = 0.9
"""Share from which one of the other languages is believed."""
_MOST_CHARACTERS = 1000

_NAMES = re.compile(
    r"<[@#!][^>]*>|https?://\S+|\S*@\S+"
    r"|[A-Za-z0-9_.+-]*(?:\d|[a-z][A-Z]|[A-Z]{2})[A-Za-z0-9_.+-]*"
)
"""Mentions, addresses, codes, acronyms and product names, which belong to no language."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_SHORT_ENGLISH = frozenset(
    """
    the are how who why can our you for and not has get any i my to of is it we hi yo he by or at be
    if
    """.split()
)
"""English words of at most _SHORT letters that are in none of the languages with texts."""
_SHORT, _NAMED_FROM = 3, 5
_INFLECTED = ("s", "es", "ed", "ing", "er", "ers", "ment")


@dataclass(frozen=True, slots=True)
class CorrectionTexts:
    """What is said of an answer whose page changed or was closed, in one language."""

    day: str
    changed: str
    closed: str
    note: str

    def line(self, at: datetime, *, closed: bool) -> str:
        """Return the line of a corrected answer; it says nothing of the page."""
        return Template(self.closed if closed else self.changed).substitute(day=self._written(at))

    def about(self, answered_at: datetime, line: str) -> str:
        """Return the line as a note on its own."""
        return Template(self.note).substitute(day=self._written(answered_at), line=line)

    def is_line(self, text: str) -> bool:
        """Return whether a text is a line of this language, of whatever day."""
        around = (each.partition("$day") for each in (self.changed, self.closed))
        return any(text.startswith(begin) and text.endswith(end) for begin, _, end in around)

    def _written(self, at: datetime) -> str:
        return Template(self.day).substitute(date=at.day, month=at.month, name=f"{at:%B}")


@dataclass(frozen=True, slots=True)
class LanguageTexts:
    """Frontdesk's texts in one language; languages.toml says what each is."""

    name: str
    own: str
    translation: str
    search_only: str
    model_failed: str
    closing: HandoffClosing
    correction: CorrectionTexts
    yes: tuple[str, ...]


class LanguageDetector:
    """Detects the language of a question that is not in the wiki's.

    Args:
        wiki: the wiki's language; ANY detects none.
        is_word: whether a word is common English; it makes short questions to an English wiki
            easier to tell. None goes by their letters alone.
    """

    def __init__(self, wiki: str, is_word: Callable[[str], bool] | None = None) -> None:
        self.wiki = wiki
        self._is_word = is_word if wiki == _ENGLISH else None
        self._compared = frozenset({*_texts(), wiki})
        self._model: LanguageIdentifier | None = None
        self._loading = asyncio.Lock()

    async def foreign(self, text: str) -> str:
        """Return the language of a text; "" where it is, or may be, the wiki's.

        The first text that known words alone don't decide loads the model, in a thread.
        """
        words = _WORD.findall(_NAMES.sub(" ", text[:_MOST_CHARACTERS]).lower())
        if self.wiki == ANY or not words or self._is_mostly_english(words):
            return ""
        model = self._model or await self._load()
        # Without the wiki's language to compare with, every question would look foreign.
        return self._compare(words, model) if self.wiki in model.labels else ""

    async def _load(self) -> LanguageIdentifier:
        async with self._loading:
            self._model = self._model or await asyncio.to_thread(load_model)
        return self._model

    def _compare(self, words: Sequence[str], model: LanguageIdentifier) -> str:
        known = self._compared.union(_ALSO_NAMED)
        ranked = model.rank(" ".join(words))
        shares: dict[str, float] = {tag: share for tag, share in ranked if tag in known}
        best = max(shares, key=shares.__getitem__)
        if best not in self._compared and shares[best] >= _SURE * sum(shares.values()):
            return best
        compared = {tag: shares[tag] for tag in self._compared}
        every = sum(compared.values())
        other = max(compared.keys() - {self.wiki}, key=compared.__getitem__)
        if shares[self.wiki] > self._most_doubt(words, compared[other] / every) * every:
            return ""
        return other

    def _is_mostly_english(self, words: Sequence[str]) -> bool:
        known = sum(map(self._is_english, words))
        return len(words) > 1 and known >= _MOSTLY_ENGLISH * len(words)

    def _most_doubt(self, words: Sequence[str], most: float) -> float:
        """Return the largest share of the wiki's language; ``most`` is that of the best other."""
        english = frozenset(filter(self._is_english, words))
        others = [word for word in words if len(word) >= _NAMED_FROM and word not in english]
        if self._is_word is None or len(words) == 1 or not others:
            return _MOST_DOUBT
        if not english:
            return _DOUBT_IN_ANOTHER if most >= _MOST else _DOUBT_WITHOUT_ENGLISH
        half = 2 * sum(word in english for word in words) <= len(words)
        # A place's name may have accents: "Montréal office".
        return _DOUBT_HALF_ENGLISH if half and any(map(str.isascii, others)) else _MOST_DOUBT

    def _is_english(self, word: str) -> bool:
        """Return whether a word is known to be English, inflected or not.

        Not one with accents, which the test of words leaves out.
        """
        if self._is_word is None or not word.isascii():
            return False
        bare = (word.removesuffix(ending) for ending in _INFLECTED)
        forms = {word, *(form for form in bare if len(form) > _SHORT)}
        return word in _SHORT_ENGLISH or any(
            form in _workplace_words() or (len(form) > _SHORT and self._is_word(form))
            for form in forms
        )


@cache
def load_model() -> LanguageIdentifier:
    """Load the model once: half a second and 74 MB; 37 microseconds for a question then."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _workplace_words() -> frozenset[str]:
    """Return the words of three letters or more in the English messages that trained the router."""
    seeds = Path(__file__).with_name("seed")
    texts = [(seeds / name).read_text("utf-8").lower() for name in ("domain.txt", "generic.txt")]
    return frozenset(word for word in _WORD.findall(" ".join(texts)) if len(word) >= _SHORT)


@cache
def _texts() -> Mapping[str, LanguageTexts]:
    read = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
    return {
        tag: LanguageTexts(
            **{
                **texts,
                "closing": HandoffClosing(**texts["closing"]),
                "correction": CorrectionTexts(**texts["correction"]),
                "yes": tuple(texts["yes"]),
            }
        )
        for tag, texts in read.items()
    }


def texts_in(language: str) -> LanguageTexts:
    """Return the texts in a language; the English ones where there are none."""
    return _texts().get(language) or _texts()[_ENGLISH]


def is_correction(text: str) -> bool:
    """Return whether a text is the line of a corrected answer, in any language."""
    return any(texts.correction.is_line(text) for texts in _texts().values())


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


def closing_offered_in(history: Sequence[Turn]) -> HandoffClosing | None:
    """Return the texts in the language in which the bot's last turn offered to ask a person.

    None if it offered nothing, or in the words of a question that could be searched for.
    """
    if not history or history[-1].role != "assistant":
        return None
    closings = (texts.closing for texts in _texts().values())
    return next((each for each in closings if each.offer in history[-1].text), None)


def askers_texts(route: Route) -> LanguageTexts | None:
    """Return the texts for a question that can't be searched for in its own language.

    None for one in the wiki's language, or translated into it, or in a language without texts.
    """
    return None if route.search_query else _texts().get(route.language)


def in_askers_language(wording: HandoffWording, route: Route) -> HandoffWording:
    """Return the wording with the texts for the asker (``askers_texts``), if there are some."""
    texts = askers_texts(route)
    if texts is None:
        return wording
    wiki = _texts().get(wording.wiki_language)
    why = Template(texts.search_only).substitute(wiki=wiki.own if wiki else wording.wiki_language)
    return replace(wording, not_found=why, uncertain=why, closing=texts.closing)
