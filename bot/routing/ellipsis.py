"""Does a message lean on the conversation, and what does it leave out? Rules only. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bot.routing.intents.plain import without_mentions
from rag.text.words import content_words, stem, words
from rag.types import Turn

Dependence = Literal["alone", "unsure", "leaning"]

_CONTINUES = re.compile(
    r"^(?:(?:ok|okay|nice|great|cool|thanks|thx|hm+|right|good|and|so|but|or|oh|ah|also|then|well"
    r"|yes|no)\b[\s,.!]*)*(?:and|but|or|then|also|so|what about|how about|what if|same|which one"
    r"|why not|how so|since when|like what|such as|instead|otherwise|plus)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:its?|they|them|their|theirs|he|she|him|his|hers?|those|these|ones?|there|that|this"
    r"|the (?:same|other|others|former|latter|first|second|third|last)|same|else|another|others?"
    r"|instead|too|as well|either|both|neither|either)\b"
)
_EMPTY_IT = re.compile(  # an "it" or "there" that stands for nothing, or points at the calendar
    r"\b(?:is|was|would|will|does|isnt|if|when|can) (?:it|there) (?:\w+ )?(?:possible|ok|okay"
    r"|allowed"
    r"|safe|true|necessary|mandatory|a|an|any|some|take|cost|required|legal|better|worth|mean)\b"
    r"|\b(?:is|are|was|were|will|do|does) there\b|\bthere (?:is|are|was|were)\b"
    r"|\b(?:this|that|last|next|these|those) (?:year|month|week|morning|evening|afternoon|weekend"
    r"|quarter|summer|winter|friday|monday|days?|time)\b|\bit(?:'s| is) (?:broken|slow|down)\b"
    r"|\bhow (?:long )?does it (?:take|cost)\b|\bthis (?:company|office|bot|channel|message)\b"
)
_NUMERAL_ONE = re.compile(  # "on day one", "one week": a number, and nothing said before
    r"\b(?:day|week|month|year|quarter|phase|stage|step|part|level|tier|grade|version|point|number"
    r"|page|section|chapter|line|floor|room) one\b"
    r"|\bone (?:hour|day|night|week|month|quarter|year|euro|dollar|pound|person|time)s?\b"
)
_RELATIVE = re.compile(
    r"(?<=\w) (?:that|who|which) (?=(?:i|we|you|is|are|was|were|has|have|can)\b)"
)
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_FEW, _CLEAR, _ENOUGH = 2, 4, 5
"""Content words: fewer say too little alone; so many say enough; so many before a pronoun give
it its meaning."""

_EMPTY_WORDS = frozenset(
    """
    tell know find explain describe mean many much long often way ways kind type types thing things
    like look looking want question ask happen happens happened use used using make makes made
    please ok okay nice great thanks work works ever interesting different important main really
    first time good best give take come goes other others another also earn usual
    """.split()
)
_MOST_WORDS, _MOST_NAMES = 5, 2
"""Words of the conversation (of them, names in its last answer) that are added to a question;
chosen on TREC CAsT 2019 and CANARD: more would drown the question."""


def dependence(text: str, history: tuple[Turn, ...]) -> Dependence:
    """Tell whether the message can be understood without the conversation."""
    if not history:
        return "alone"
    said = without_mentions(text)
    if _leans(said):
        return "leaning"
    return "alone" if len(_telling(said)) >= _CLEAR else "unsure"


@dataclass(frozen=True, slots=True)
class Missing:
    """A word that a message leaves out, and the turn that says it."""

    word: str
    turn: Turn


def combine(text: str, history: tuple[Turn, ...]) -> str:
    """Return the message with the words of the conversation that it leaves out, in brackets."""
    missing = missing_words(text, history)
    said = " ".join(without_mentions(text).split())
    return f"{said} ({' '.join(each.word for each in missing)})" if missing else said


def missing_words(text: str, history: tuple[Turn, ...]) -> list[Missing]:
    """Return the topic of the conversation: what the message does not say itself."""
    asked = [turn for turn in history if turn.role == "user"]
    if not asked:
        return []
    own = {stem(word) for word in words(text)}
    chosen: dict[str, Missing] = {}
    for each in [*_topic(asked), *_named(history[-1])]:
        key = stem(_lower(each.word))
        if key not in own:
            chosen.setdefault(key, each)
    return list(chosen.values())[:_MOST_WORDS]


def leans(text: str) -> bool:
    """Tell whether a message points back, goes on, or says too little by itself."""
    return _leans(without_mentions(text))


def telling_words(text: str) -> list[str]:
    """Return the words that say what a message is about, in small letters."""
    return [_lower(word) for word in _telling(without_mentions(text))]


def _topic(asked: list[Turn]) -> list[Missing]:
    """Return the last question's words; when that leans too, the first one's as well."""
    turns = [asked[-1], asked[0]] if _leans(asked[-1].text) else [asked[-1]]
    return [Missing(word, turn) for turn in turns for word in _telling(turn.text)]


def _named(answered: Turn) -> list[Missing]:
    if answered.role != "assistant":
        return []
    return [Missing(word, answered) for word in _names(answered.text)[:_MOST_NAMES]]


def _leans(text: str) -> bool:
    return bool(_CONTINUES.match(text)) or _points_back(text) or len(_telling(text)) < _FEW


def _points_back(text: str) -> bool:
    lowered = text.replace("IT", "").lower().replace("\u2019", "'")
    lowered = _RELATIVE.sub(" ", _NUMERAL_ONE.sub(" ", _EMPTY_IT.sub(" ", lowered)))
    match = _POINTS_BACK.search(lowered)
    return match is not None and len(_telling(lowered[: match.start()])) < _ENOUGH


def _telling(text: str) -> list[str]:
    """Return the words that say what a message is about, as written, each once."""
    kept = {word for word in content_words(text) if word not in _EMPTY_WORDS}
    return _unique(m.group() for m in _WORD.finditer(text) if _lower(m.group()) in kept)


def _names(text: str) -> list[str]:
    """Return names and identifiers of an answer: capitals or digits inside a sentence."""
    found = re.findall(r"(?<![.!?\n] )(?<!^)\b(?:[A-Z][\w-]*[A-Z0-9][\w-]*|[A-Z][a-z]\w+)", text)
    return _unique(word for word in found if _lower(word) in set(content_words(text)))


def _unique(found: Iterable[str]) -> list[str]:
    return list({_lower(word): word for word in reversed(list(found))}.values())[::-1]


def _lower(word: str) -> str:
    return word.lower().replace("\u2019", "'")
