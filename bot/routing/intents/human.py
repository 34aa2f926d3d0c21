"""Hears that a person is wanted: in many phrasings, misspelt, and in other languages.

A request must not be missed, yet "how do I contact HR?" is a question for the pages. So a rule
looks at one clause: what is asked *of us* is a request; how, where or when something is done is
a question, unless what is sought is plainly a human instead of the bot.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources

from bot.routing.intents.distress import speaks_of_self_harm
from bot.routing.intents.english import (
    ABOUT_THE_BOT,
    NAMED_DESK,
    NO_HUMAN,
    PLAINLY,
    QUESTION,
    REQUESTS,
    SOMEBODY_ELSE,
)
from bot.routing.intents.plain import clauses, plain
from bot.routing.intents.spelling import mended

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


class HumanRequests:
    """Hears requests for a person; the phrases of other languages come from a file."""

    def __init__(self) -> None:
        source = (
            resources.files("bot.routing.intents")
            .joinpath("human.toml")
            .read_text(encoding="utf-8")
        )
        phrases = tomllib.loads(source)
        self._foreign = re.compile("|".join(p for group in phrases.values() for p in group))

    def heard(self, text: str) -> bool:
        """Whether a person or a ticket is asked for, the bot is blamed, or the asker in danger."""
        said = mended(plain(text))
        return bool(self._foreign.search(said)) or _bare(said) or any(map(_asks, clauses(said)))


def names_no_topic(text: str) -> bool:
    """Tell whether a request for a person says nothing of what it is about: "human please"."""
    said = mended(plain(text))
    words = _words(said)
    rest = {word for word in words if word not in _FILLER | _ASKING}
    return len(words) <= _MOST_BARE_WORDS and rest <= _TARGETS and not _WHO_TO_CALL.fullmatch(said)


def _words(said: str) -> list[str]:
    return [word for word in NAMED_DESK.sub("helpdesk", said).split() if word not in {".", "?"}]


def _bare(said: str) -> bool:
    """Whether nothing is said but who is wanted: "agent", "no. human pls"."""
    if _WHO_TO_CALL.fullmatch(said):
        return True
    words = _words(said)
    rest = [word for word in words if word not in _FILLER]
    return bool(rest) and len(words) <= _MOST_BARE_WORDS and _TARGETS.issuperset(rest)


def _asks(clause: str) -> bool:
    if speaks_of_self_harm(clause):
        return True
    clause = NO_HUMAN.sub(" ", clause)
    if SOMEBODY_ELSE.search(clause) or ABOUT_THE_BOT.search(clause):
        return False
    if any(pattern.search(clause) for pattern in PLAINLY):
        return True
    if QUESTION.search(clause):
        return False
    return any(pattern.search(clause) for pattern in REQUESTS)
