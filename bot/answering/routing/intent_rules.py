"""Classify requests for a person, small talk and logs by rules, before any model.

Requests for a person must be recognized in many phrasings, misspelt, and in other languages
(human.toml); yet "how do I contact HR?" is a question for the pages. So rules match single clauses:
an order to the bot is a request; how, where or when something is done is a question, unless it
plainly asks for a human instead of the bot. A message about self-harm always goes to a person,
whatever else it asks.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bot.answering.routing.english_requests import (
    ABOUT_THE_BOT,
    NAMED_DESK,
    NO_HUMAN,
    QUESTION,
    SOMEBODY_ELSE,
    requests,
    unconditional_requests,
)
from bot.answering.routing.generic_replies import ACKNOWLEDGEMENT, NOTHING_SAID, SmallTalk
from bot.answering.routing.languages import agreements, offers
from bot.answering.routing.message_text import clauses, is_log, normalized
from bot.domain.handoff import asks_topic
from bot.domain.messages import Intent
from rag.types import Turn

_INTENTION = (
    r"(?:want|wanna|going|gonna|plan\w*|about|need|wish|like|might|will|could|should|thinking"
    r"|think|ready|have|cant wait|tempted|decided|hope)"
)
_HARM = (
    r"(?:(?:kill|cut|hurt|harm|hang|shoot|drown|burn|stab|poison|starve)(?:ting|ing|ning|ming)?"
    r" my ?self|commit(?:ting)? suicide|overdos\w+|end(?:ing)? (?:it all|my (?:own )?life)"
    r"|tak(?:e|ing) my (?:own )?life|(?:take|swallow) (?:\w+ ){0,3}pills|die|be dead|drown"
    r"|jump (?:off|from|out of|in front of) (?:\w+ )?(?:bridge|building|roof|window|train|cliff))"
)
_SELF_HARM = re.compile(  # the asker's own death or self-harm
    rf"\b(?:i|im|id|ill|ive) (?:\w+ ){{0,6}}?(?:to )?{_INTENTION} (?:\w+ ){{0,4}}?{_HARM}\b"
    r"|\b(?:i|im|ive)(?: \w+){0,6} (?:suicidal|kill(?:ing)? my ?self)\b"
    rf"|\bshould i (?:just )?{_HARM}\b|\blife (?:isnt|is not) worth\b|\bif i (?:was|were) dead\b"
    r"|\bi wish (?:that )?i (?:was|were|am) (?:dead|never born)\b|\bbetter off dead\b"
    r"|\bi (?:dont|do not) want to (?:live|be alive|exist|wake up|be here anymore)\b"
    r"|\bno reason to (?:live|go on)\b|\b(?:want|need) the pain to (?:end|stop)\b"
    r"|\b(?:wont|not) be alive (?:much )?long|\bbeing dead would\b|\bi (?:welcome|want) death\b"
)


CORRECTED_WORDS = tuple(
    """
    human person people agent operator representative someone somebody ticket incident speak
    talk connect transfer escalate support technician supervisor colleague please useless
    complaint complain chatbot contact helpdesk assistant helpful advisor understand
    """.split()
)

_NEVER_CORRECTED = frozenset(
    """
    persona personal humane humans agents agency tickets persons operators supports supported
    speaks connects connected transfers transferred contacts assistance assistants complaints
    complains peoples talks talked talking connection colleagues incidents complained humanly
    tak talc tack spear spoke contract contracts contrast connector operate operated escalated
    escalates escalator technical speaker teak tale tall tank task pleased pleasure pleas
    personnel operates assist helpfully advisory advisors adviser advise supporter supporting
    """.split()
)
_SHORT, _LONG = 5, 8
_MOST_CORRECTED_WORDS = 80
"""Words corrected at each end of a long text; a request is found there, not in the middle."""


def with_spelling_corrected(plain_text: str) -> str:
    """Return the text with misspellings of CORRECTED_WORDS replaced."""
    words, ends = plain_text.split(" "), _MOST_CORRECTED_WORDS
    return " ".join(
        _corrected_word(word) if at < ends or at >= len(words) - ends else word
        for at, word in enumerate(words)
    )


@functools.lru_cache(maxsize=8192)
def _corrected_word(word: str) -> str:
    if (
        len(word) < _SHORT - 1
        or word in CORRECTED_WORDS
        or word in _NEVER_CORRECTED
        or not word.isalpha()
    ):
        return word
    return next((meant for meant in CORRECTED_WORDS if _is_misspelling(word, meant)), word)


def _is_misspelling(word: str, meant: str) -> bool:
    """Return whether ``word`` is ``meant`` with one slip (two from _LONG letters on).

    The first letter must match, or be swapped with the second.
    """
    slips = 2 if len(meant) >= _LONG else 1
    if abs(len(word) - len(meant)) > slips:
        return False
    if word[0] != meant[0] and word[:2] != meant[1::-1]:
        return False
    if len(meant) < _SHORT:  # "talk": "walk" and "tall" are words, "tlak" and "tallk" are not
        return sorted(word) == sorted(meant) or _without_doubles(word) == meant
    return _distance(word, meant) <= slips


def _without_doubles(word: str) -> str:
    return "".join(c for i, c in enumerate(word) if not i or c != word[i - 1])


def _distance(left: str, right: str) -> int:
    """Return the Damerau edit distance: insertions, deletions, replacements and swaps."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


_FILLER = frozenset(
    """
    please pls plz now hello hi hey ok okay no nope yes i want need get me a an the to speak talk
    chat with just give connect real asap immediately instead only thanks thank you can could may
    let us go and then would like id wanna live any some this is for right here urgent urgently
    service customer tech it your there
    """.split()
)
_TARGETS = frozenset(
    """
    human humans person agent agents operator representative rep support helpdesk someone somebody
    escalate ticket advisor adviser supervisor technician callback handoff handover receptionist
    """.split()
)
_ASKING = frozenset("ask asking contact reach call find bring put through transfer send".split())
_MOST_BARE_WORDS = 12
_WHO_TO_CALL = re.compile(
    r"(?:(?:hi|hey|hello|ok|so)(?: there)? (?:\. )?)?(?:who|whom|what number) (?:can|could) i"
    r" (?:call|phone|ring|speak to|talk to)"
    r"(?: (?:right now|now|please|then|instead|directly))*"
)


def names_no_topic(text: str) -> bool:
    """Return whether a request for a person names no topic, as in "human please"."""
    said = with_spelling_corrected(normalized(text))
    words = _words(said)
    rest = {word for word in words if word not in _FILLER | _ASKING}
    return len(words) <= _MOST_BARE_WORDS and rest <= _TARGETS and not _WHO_TO_CALL.fullmatch(said)


def _words(said: str) -> list[str]:
    return [word for word in NAMED_DESK.sub("helpdesk", said).split() if word not in {".", "?"}]


def _names_only_a_person(said: str) -> bool:
    """Return whether the text names a person and nothing else: "agent", "no. human pls"."""
    if _WHO_TO_CALL.fullmatch(said):
        return True
    words = _words(said)
    rest = [word for word in words if word not in _FILLER]
    return bool(rest) and len(words) <= _MOST_BARE_WORDS and _TARGETS.issuperset(rest)


def _requests_person(clause: str) -> bool:
    if _SELF_HARM.search(clause):
        return True
    clause = NO_HUMAN.sub(" ", clause)
    if SOMEBODY_ELSE.search(clause) or ABOUT_THE_BOT.search(clause):
        return False
    if any(pattern.search(clause) for pattern in unconditional_requests()):
        return True
    if QUESTION.search(clause):
        return False
    return any(pattern.search(clause) for pattern in requests())


_READ_CHARACTERS = 3000
"""Characters read at each end of a very long message to find a request or small talk."""

_AGREED = (
    r"(?:(?:yes|yeah|yep|yup|ya|yea|y|sure|ok|okay|please|pls|do|do it|do so|do that|go ahead"
    r"|of course|absolutely|definitely|that would be (?:good|great|nice)|si|%s)"
    r"[\s,.!\u2026\u3002\uff01\u0964]*(?:thanks|thank you)?[\s,.!]*)+"
)
"""Agreement and nothing else, with room for the other languages' words."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The intent that the rules decided; ``empty`` marks a message without words."""

    intent: Intent
    empty: bool = False


class Rules:
    """Rules for empty messages, requests for a person, small talk and logs.

    Phrases of requests in other languages come from human.toml.
    """

    def __init__(self) -> None:
        self._smalltalk = SmallTalk()
        phrases = tomllib.loads(Path(__file__).with_name("human.toml").read_text("utf-8"))
        self._agreed = re.compile(_AGREED % "|".join(agreements()), re.IGNORECASE)
        self._foreign = re.compile("|".join(p for group in phrases.values() for p in group))

    def decide(self, text: str, history: tuple[Turn, ...]) -> Ruling | None:
        """Return the ruling, or None when no rule matches; never raises."""
        read = _head_and_tail(text)
        topic = self._smalltalk.topic(read)
        if topic == NOTHING_SAID:
            return Ruling(Intent.GENERIC, empty=True)
        agreed = _was_offered(history) and self._agreed.fullmatch(read.strip())
        if agreed or self.requests_person(read):
            return Ruling(Intent.HUMAN)
        if topic is None and was_asked_for_topic(history):
            return Ruling(Intent.HUMAN)
        if topic is not None and not (topic == ACKNOWLEDGEMENT and _was_asked(history)):
            return Ruling(Intent.GENERIC)
        return Ruling(Intent.DOMAIN) if is_log(text) else None

    def requests_person(self, text: str) -> bool:
        """Return whether a text asks for a person or a ticket.

        Also true where it blames the bot, or where the asker may be in danger.
        """
        said = with_spelling_corrected(normalized(text))
        return (
            bool(self._foreign.search(said))
            or _names_only_a_person(said)
            or any(map(_requests_person, clauses(said)))
        )


def _head_and_tail(text: str) -> str:
    if len(text) <= 2 * _READ_CHARACTERS:
        return text
    return f"{text[:_READ_CHARACTERS]}\n{text[-_READ_CHARACTERS:]}"


def was_asked_for_topic(history: tuple[Turn, ...]) -> bool:
    """Return whether the bot's last turn asked this author what they want a person for."""
    last = history[-1] if history else None
    return last is not None and last.own and last.role == "assistant" and asks_topic(last.text)


def _was_offered(history: tuple[Turn, ...]) -> bool:
    """Return whether the bot's last turn offered to ask a person, so that "yes" accepts."""
    if not history or history[-1].role != "assistant":
        return False
    return any(offer in history[-1].text for offer in offers())


def _was_asked(history: tuple[Turn, ...]) -> bool:
    """Return whether the bot's last turn was a question, so that "yes" is no small talk."""
    return bool(history) and history[-1].role == "assistant" and "?" in history[-1].text[-200:]
