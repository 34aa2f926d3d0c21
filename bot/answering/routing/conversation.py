"""Tell follow-up messages from others by rules, and add the words that they leave out; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.answering.routing.message_text import without_mentions
from bot.domain.messages import InteractionId
from rag.text.words import content_words, stem, words
from rag.types import Turn

_MOST_TURNS = 6
_TURN_CHARACTERS = 600


def prompt_turns(history: tuple[Turn, ...]) -> tuple[str, ...]:
    """Return the last turns for a prompt, oldest first, each with its role and truncated."""
    return tuple(_prompt_turn(turn) for turn in history[-_MOST_TURNS:])


def _prompt_turn(turn: Turn) -> str:
    cut = turn.text[:_TURN_CHARACTERS]
    return f"{turn.role}: {cut}{'…' if len(cut) < len(turn.text) else ''}"


Dependence = Literal["alone", "unsure", "leaning"]

_CONTINUES = re.compile(
    r"^(?:(?:ok|okay|nice|great|cool|thanks|thx|hm+|right|good|and|so|but|or|oh|ah|also|then|well"
    r"|yes|no)\b[\s,.!]*)*(?:and|but|or|then|also|so|what about|how about|what if|same|which one"
    r"|why not|how so|since when|like what|such as|instead|otherwise|plus)\b",
    re.IGNORECASE,
)
_ANAPHORA = re.compile(
    r"\b(?:its?|they|them|their|theirs|he|she|him|his|hers?|those|these|ones?|there|that|this"
    r"|the (?:same|other|others|former|latter|first|second|third|last)|same|else|another|others?"
    r"|instead|too|as well|either|both|neither)\b"
)
_EXPLETIVE = re.compile(  # "it" or "there" without a referent, or a calendar phrase
    r"\b(?:is|was|would|will|does|isnt|if|when|can) (?:it|there) (?:\w+ )?(?:possible|ok|okay"
    r"|allowed"
    r"|safe|true|necessary|mandatory|a|an|any|some|take|cost|required|legal|better|worth|mean)\b"
    r"|\b(?:is|are|was|were|will|do|does) there\b|\bthere (?:is|are|was|were)\b"
    r"|\b(?:this|that|last|next|these|those) (?:year|month|week|morning|evening|afternoon|weekend"
    r"|quarter|summer|winter|friday|monday|days?|time)\b|\bit(?:'s| is) (?:broken|slow|down)\b"
    r"|\bhow (?:long )?does it (?:take|cost)\b|\bthis (?:company|office|bot|channel|message)\b"
)
_NUMERAL_ONE = re.compile(  # "on day one", "one week": a numeral, not a pronoun
    r"\b(?:day|week|month|year|quarter|phase|stage|step|part|level|tier|grade|version|point|number"
    r"|page|section|chapter|line|floor|room) one\b"
    r"|\bone (?:hour|day|night|week|month|quarter|year|euro|dollar|pound|person|time)s?\b"
)
_RELATIVE = re.compile(
    r"(?<=\w) (?:that|who|which) (?=(?:i|we|you|is|are|was|were|has|have|can)\b)"
)
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_NAMES_ITS_TOPIC = re.compile(  # "when is payday", but not "what is the price": of what?
    r"^(?:what|who|when|where|how)(?:['\u2019]?s| is| are) (?:(?:my|our|your) )?"
    r"(?P<name>(?!(?:mandatory|necessary|new|free|open|due|\w+(?:ed|ible|able))\b)[\w-]+)"
    r"(?: (?:from|made|due|located|open))?\W*$",
    re.IGNORECASE,
)
_FEW, _CLEAR, _ENOUGH = 2, 4, 5
"""Numbers of content words: with fewer than _FEW a message depends on its context unless it asks
for one by its bare name, from _CLEAR on it is self-contained, and _ENOUGH before a pronoun resolve
that pronoun."""

_EMPTY_WORDS = frozenset(
    """
    tell know find explain describe mean many much long often way ways kind type types thing things
    like look looking want question ask happen happens happened use used using make makes made
    please ok okay nice great thanks work works ever interesting different important main really
    first time good best give take come goes other others another also earn usual
    """.split()
)
_BESIDE_A_NAME = frozenset({"a", "an", "my", "our", "please", "the", "your"})
_MOST_WORDS, _MOST_NAMES = 5, 2
"""Maximum number of words added to a question, and of names among them from the last answer; chosen
on TREC CAsT 2019 and CANARD: more would drown the question."""


def dependence(text: str, history: tuple[Turn, ...]) -> Dependence:
    """Classify whether a message needs its conversation to be understood.

    ``alone``: self-contained; ``leaning``: refers back; ``unsure``: too few content words to
    decide.
    """
    if not history:
        return "alone"
    said = without_mentions(text)
    if _is_context_dependent(said):
        return "leaning"
    return "alone" if len(_topic_words(said)) >= _CLEAR else "unsure"


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word that a message leaves out, with the turn that contains it."""

    word: str
    turn: Turn


def with_missing_words(text: str, history: tuple[Turn, ...]) -> str:
    """Return the message with the missing words of its conversation appended in brackets."""
    missing = missing_words(text, history)
    said = " ".join(without_mentions(text).split())
    return f"{said} ({' '.join(each.word for each in missing)})" if missing else said


def missing_words(text: str, history: tuple[Turn, ...]) -> list[MissingWord]:
    """Return at most _MOST_WORDS topic words of the conversation that the message leaves out."""
    asked = [turn for turn in history if turn.role == "user"]
    if not asked:
        return []
    own = {stem(word) for word in words(text)}
    chosen: dict[str, MissingWord] = {}
    for each in [*_question_topic(asked), *_answer_names(history[-1])]:
        key = stem(_lower(each.word))
        if key not in own:
            chosen.setdefault(key, each)
    return list(chosen.values())[:_MOST_WORDS]


def is_context_dependent(text: str) -> bool:
    """Return whether a message refers back, continues another, or has too few content words."""
    return _is_context_dependent(without_mentions(text))


def is_one_topic_word(text: str) -> bool:
    """Return whether a message is one topic word and nothing else, such as "the printer?"."""
    said = without_mentions(text)
    topic = {_lower(word) for word in _topic_words(said)}
    return len(topic) == 1 and topic.issuperset(set(words(said)) - _BESIDE_A_NAME)


def topic_words(text: str) -> list[str]:
    """Return the content words that name the topic of a message, in lower case."""
    return [_lower(word) for word in _topic_words(without_mentions(text))]


def _question_topic(asked: list[Turn]) -> list[MissingWord]:
    """Return the last question's topic words, and the first one's if the last refers back."""
    turns = [asked[-1], asked[0]] if _is_context_dependent(asked[-1].text) else [asked[-1]]
    return [MissingWord(word, turn) for turn in turns for word in _topic_words(turn.text)]


def _answer_names(answered: Turn) -> list[MissingWord]:
    if answered.role != "assistant":
        return []
    return [MissingWord(word, answered) for word in _names(answered.text)[:_MOST_NAMES]]


def _is_context_dependent(text: str) -> bool:
    return bool(_CONTINUES.match(text)) or _points_back(text) or _says_too_little(text)


def _says_too_little(text: str) -> bool:
    topic = _topic_words(text)
    named = _NAMES_ITS_TOPIC.match(text)
    return len(topic) < _FEW and not (named and named["name"] in topic)


def _points_back(text: str) -> bool:
    lowered = text.replace("IT", "").lower().replace("\u2019", "'")
    lowered = _RELATIVE.sub(" ", _NUMERAL_ONE.sub(" ", _EXPLETIVE.sub(" ", lowered)))
    match = _ANAPHORA.search(lowered)
    return match is not None and len(_topic_words(lowered[: match.start()])) < _ENOUGH


def _topic_words(text: str) -> list[str]:
    """Return the content words that name the topic of a text, as written, without duplicates."""
    kept = {word for word in content_words(text) if word not in _EMPTY_WORDS}
    return _unique(m.group() for m in _WORD.finditer(text) if _lower(m.group()) in kept)


def _names(text: str) -> list[str]:
    """Return the names and identifiers in an answer: capitals or digits inside a sentence."""
    found = re.findall(r"(?<![.!?\n] )(?<!^)\b(?:[A-Z][\w-]*[A-Z0-9][\w-]*|[A-Z][a-z]\w+)", text)
    return _unique(word for word in found if _lower(word) in set(content_words(text)))


def _unique(found: Iterable[str]) -> list[str]:
    return list({_lower(word): word for word in reversed(list(found))}.values())[::-1]


def _lower(word: str) -> str:
    return word.lower().replace("\u2019", "'")


def exchanges_of(turns: Sequence[Turn], history: tuple[Turn, ...]) -> tuple[InteractionId, ...]:
    """Return the exchange ids of some turns, without duplicates, in conversation order."""
    named = {turn.exchange for turn in turns}
    order = dict.fromkeys(turn.exchange for turn in history)
    return tuple(InteractionId(each) for each in order if each and each in named)
