"""Understand a message: rules first, and where they are unsure one small call of a model.

The call returns the intent, the message as a standalone question and, where the wiki is in another
language, that question in the wiki's. What it returns is checked; if it fails, the rules' reading
holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import structlog
from pydantic import BaseModel, field_validator

from bot.answering.routing.conversation import (
    dependence,
    exchanges_of,
    missing_words,
    prompt_turns,
    with_missing_words,
)
from bot.answering.routing.languages import ANY, LanguageDetector, language_name
from bot.answering.routing.message_text import condense
from bot.domain.messages import Intent, InteractionId
from prompts.files import load_prompt
from rag.errors import RagError
from rag.ports import ChatModel
from rag.prompt_rendering import to_prompt
from rag.text.words import content_words, identifiers, stems
from rag.types import ModelCall, Turn

_log = structlog.get_logger(__name__)

_MOST_GROWTH = 400
"""Maximum number of characters that a rewrite adds; a longer one is an answer, not a question."""
_LEAST_KNOWN = 0.6
"""Minimum share of a rewrite's content words that the conversation contains."""

_NO_ANSWER = "the model did not say how it understood the message"
_NOT_USED = "the model's reading of the message was not used"
_QUERY_NOT_USED = "the model's translation of the question was not used"

_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(
    '[\u201c\u201e\u00ab"]([^\u201c\u201d\u201e\u00ab\u00bb"]+)[\u201d\u201c\u00bb"]|`([^`]+)`'
)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
"""Letters of scripts that put no spaces between words: kana, Chinese characters, Thai."""
_TAG = re.compile(r"[a-z]{2,3}")
_COMPOUND = re.compile(
    r"\b(?=[^\W\d_]*-?\d)(\w+(?:-\d\w*){0,4})"
    r"-(?=[A-Z\u00c4\u00d6\u00dc][a-z\u00e4\u00f6\u00fc\u00df]{2})[^\W\d_]+(?:-[^\W\d_]+){0,4}(?![\w-])"
)
"""A code with the nouns of a German compound, as in "B2B-Kunden"; "srv01-prod" is all code."""
_ENDING = re.compile(
    r"(?<![\w-])(\d+)"
    r"(?:er[ns]?|s?te[mnrs]?|s|st|nd|rd|th|\u00e8me|\u00e8re|[\u00ba\u00aa]|-?[\u0430-\u044f]{1,3})\b"
)
"""A number with the ending that a language gives it: "2024er", "3ten", "90s"."""


class Understanding(BaseModel):
    """What the model is asked to give; prompts/understand.md says what each field means."""

    language: str
    question: str
    search_query: str = ""
    intent: Literal["GENERIC", "DOMAIN", "HUMAN", "UNKNOWN"]

    @field_validator("intent", mode="before")
    @classmethod
    def _known_or_unknown(cls, value: object) -> object:
        word = value.strip().upper() if isinstance(value, str) else ""
        return word if word in set(Intent) else "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as it was understood.

    ``certain`` unless the question may still depend on the conversation. ``leaned_on`` are the
    exchanges that its added words come from, oldest first. ``language`` is "" for the wiki's;
    ``search_query`` is the question in the wiki's language where that is another. ``asked``: a
    model was asked; ``intent`` is what it said, None if nothing usable.
    """

    question: str
    certain: bool = True
    leaned_on: tuple[InteractionId, ...] = ()
    language: str = ""
    search_query: str = ""
    intent: Intent | None = None
    asked: bool = False
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def searched(self) -> str:
        """The question in the language of the search, as far as it could be translated."""
        return self.search_query or self.question

    @property
    def clear(self) -> bool:
        """Whether rules understood it: no follow-up, and in the wiki's language."""
        return self.certain and not self.language


class MessageReader:
    """Reads messages by rules, and with the model's help.

    Args:
        model: None reads by rules alone.
        detector: None takes every message to be in the wiki's language.
    """

    def __init__(self, model: ChatModel | None, detector: LanguageDetector | None = None) -> None:
        self._model = model
        self._detector = detector
        self._wiki = detector.wiki if detector else "en"
        self._prompt = load_prompt("understand")

    async def by_rules(self, text: str, history: tuple[Turn, ...]) -> Reading:
        """Return the message as a standalone question by rules; never raises.

        A self-contained message is only condensed, whatever the conversation was about. When that
        is uncertain, only a model may change it, as in a language that the rules don't know.
        """
        question = condense(text)
        leaning = dependence(question, history)
        language = await self._detector.foreign(question) if self._detector else ""
        if language:
            return Reading(question, certain=not history, language=language)
        if leaning != "leaning":
            return Reading(question, certain=leaning == "alone")
        turns = [each.turn for each in missing_words(question, history)]
        return Reading(
            with_missing_words(question, history),
            certain=False,
            leaned_on=exchanges_of(turns, history),
        )

    async def with_model(self, text: str, history: tuple[Turn, ...], by_rules: Reading) -> Reading:
        """Return the reading with what the model adds; never raises.

        Asks at most once: a reading that a model was asked for is returned as it is.
        """
        if self._model is None or by_rules.asked:
            return by_rules
        question, wiki = condense(text), language_name(self._wiki)
        prompt = to_prompt(self._prompt, wiki=wiki, history=prompt_turns(history), message=question)
        tried = replace(by_rules, asked=True)
        try:
            # A repair would take the time, and the call, of the answer.
            prompt = replace(prompt, repairs=False, shown=False)
            answered = await self._model.structured(prompt, Understanding)
        except RagError as error:
            _log.warning("understanding_failed", why=str(error))
            return replace(tried, calls=error.calls, notes=(_NO_ANSWER,))
        tried = replace(tried, calls=(answered.call,))
        if answered.value is None:
            return replace(tried, notes=(_NO_ANSWER,))
        return await self._checked(answered.value, question, history, tried)

    async def _checked(
        self, told: Understanding, question: str, history: tuple[Turn, ...], rules: Reading
    ) -> Reading:
        """Return the reading with each part of the model's that passes its checks."""
        read = replace(rules, intent=Intent(told.intent))
        if not rules.certain:
            line = _one_line(told.question)
            if not is_faithful(line, question, history):
                return replace(read, notes=(_NOT_USED,))
            sources = rewrite_sources(line, question, history)
            read = replace(read, question=line, certain=True, leaned_on=sources)
        return await self._translated(told, read, history)

    async def _translated(
        self, told: Understanding, read: Reading, history: tuple[Turn, ...]
    ) -> Reading:
        """Return the reading with the question in the wiki's language, where that is another."""
        tag = told.language.partition("-")[0].strip().lower()
        if self._wiki in {tag, ANY}:
            return replace(read, language="")
        query = _one_line(told.search_query)
        if not query and not read.language:
            return read
        foreign = await self._detector.foreign(query) if self._detector else ""
        if foreign or not keeps_particulars(query, read.question, history):
            return replace(read, notes=(_QUERY_NOT_USED,))
        language = tag if _TAG.fullmatch(tag) else read.language
        return replace(read, language=language, search_query=query if language else "")


def is_faithful(rewrite: str, question: str, history: tuple[Turn, ...]) -> bool:
    """Return whether a rewrite keeps the question's identifiers and adds few unknown words.

    A rewrite that is empty, or more than _MOST_GROWTH characters longer, is not faithful.
    """
    if not rewrite or len(rewrite) > len(question) + _MOST_GROWTH:
        return False
    if not _codes(question) <= _codes(rewrite):
        return False
    said = _units(rewrite)
    known = set(_units(_all_said(question, history)))
    return sum(word in known for word in said) >= _LEAST_KNOWN * len(said)


def keeps_particulars(query: str, question: str, history: tuple[Turn, ...]) -> bool:
    """Return whether a translated question keeps identifiers, numbers and quoted text.

    The nouns of a German compound and the ending of a number are translated with the rest: what is
    kept of "B2B-Kunden" is "B2B". It may contain no number that was not said. An empty one, or one
    that is more than _MOST_GROWTH characters longer, keeps nothing.
    """
    if not query or len(query) > len(question) + _MOST_GROWTH:
        return False
    said = _all_said(question, history)
    numbers = _numbers(query)
    quoted = (one or other for one, other in _QUOTED.findall(question))
    return (
        _bare_codes(question) <= _bare_codes(query) <= _bare_codes(said)
        and _numbers(question) <= numbers <= _numbers(said)
        and all(each.strip().casefold() in query.casefold() for each in quoted)
    )


def rewrite_sources(
    rewrite: str, question: str, history: tuple[Turn, ...]
) -> tuple[InteractionId, ...]:
    """Return the exchanges that a rewrite took its added words from, chosen greedily to be few.

    Of exchanges that cover equally many words, the last is chosen. If the added words occur in no
    turn, the asker's own last exchange is returned.
    """
    added = set(stems(rewrite)) - set(stems(question))
    said = {turn.exchange: set[str]() for turn in history}
    for turn in history:
        said[turn.exchange] |= added.intersection(stems(turn.text))
    chosen: set[str] = set()
    missing = set[str]().union(*said.values())
    while missing:
        # max() takes the first of equals, which is the last exchange here.
        best = max(reversed(said), key=lambda each: len(said[each] & missing))
        chosen.add(best)
        missing -= said[best]
    turns = [turn for turn in history if turn.exchange in chosen]
    if added and not turns:
        turns = [turn for turn in history if turn.own][-1:]
    return exchanges_of(turns, history)


def _all_said(question: str, history: Iterable[Turn]) -> str:
    return " ".join([question, *(turn.text for turn in history)])


def _units(text: str) -> list[str]:
    """Return the content words of a text; in scripts without spaces the letters."""
    spaced = content_words(_UNSPACED.sub(" ", text))
    return [*spaced, *dict.fromkeys(_UNSPACED.findall(text))]


def _codes(text: str) -> frozenset[str]:
    return identifiers(_UNSPACED.sub(" ", text))


def _bare_codes(text: str) -> frozenset[str]:
    """Return the codes in a text without what its language adds to them: "b2b" of "B2B-Kunden"."""
    return _codes(_ENDING.sub(r"\1", _COMPOUND.sub(r"\1", text)))


def _numbers(text: str) -> frozenset[int]:
    """Return the whole numbers in a text, in the digits of any script."""
    # int() refuses thousands of digits, which are no number that anybody asks about.
    return frozenset(int(each[:100]) for each in _DIGITS.findall(text))


def _one_line(text: str) -> str:
    """Return the text without enclosing quotation marks; "" for several lines."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return lines[0].strip("\"'\u201c\u201d ") if len(lines) == 1 else ""
