"""A person in the record: everything that denotes them, and a request to forget them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import quote

PSEUDONYM = "forgotten-"
"""Prefix of what stands for a forgotten person; the rest is random, so that it leads nowhere."""

FORGOTTEN_QUESTION = "(forgotten)"
"""Stands for the question of a case whose asker is forgotten."""

SHARED_IDS = frozenset({"admin"})
"""Ids that several people act under: nobody's own."""

_SOURCES = ("", "board:", "web:", "api:", "slack:", "teams:", "rest:", "cli:")
"""What is put before an id or address where an act is recorded (bot.domain.cases, audit)."""

_OF_NAMES = ("", "board:")
"""The same before a display name."""


@dataclass(frozen=True)
class PersonKeys:
    """What denotes one person: ids on all platforms, verified addresses, names, own channels.

    ``emails`` are in lower case. ``channels`` are platforms' ids of channels in which nobody else
    asks. Names and channels alone never identify a person.
    """

    ids: frozenset[str]
    emails: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()

    @cached_property
    def actors(self) -> frozenset[str]:
        """Return all forms in which a column may name the person who acted."""
        own = {f"{source}{each}" for source in _SOURCES for each in self.ids | self.emails}
        return frozenset(own | {f"{source}{each}" for source in _OF_NAMES for each in self.names})

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Return the identifiers that are looked for in texts and keys."""
        plain = self.ids | self.emails | self.channels
        return plain | {quote(each, safe="") for each in plain}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.tokens, key=len, reverse=True)
        words = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?<![\w.@+%-])(?:{words})(?![\w@+%-]|\.\w)", re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        """Return whether an identifier is in a text, as a word of its own: U1 is not in U12."""
        return self._pattern.search(text) is not None

    def replaced_in(self, text: str, pseudonym: str) -> str:
        """Return a text with every identifier replaced."""
        return self._pattern.sub(pseudonym, text)


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget a person, kept until everything is done.

    It covers what was recorded until ``at``. ``pseudonym`` stands for the person in acts that stay,
    ``by`` is who asked for it.
    """

    pseudonym: str
    keys: PersonKeys
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ForgetProgress:
    """How far a request came: rows changed, and replies that a platform has yet to remove."""

    changed: int
    waiting: int

    @property
    def done(self) -> bool:
        return self.waiting == 0


@dataclass(frozen=True, slots=True)
class PersonSummary:
    """What is kept about a person: the number of rows or files by table or place."""

    keys: PersonKeys
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def new_pseudonym() -> str:
    """Return a random pseudonym."""
    return f"{PSEUDONYM}{secrets.token_hex(6)}"


def known_identity(identity: str) -> PersonKeys:
    """Return the keys that an id or e-mail address is by itself."""
    given = identity.strip()
    return PersonKeys(
        frozenset({given}), frozenset({given.lower()}) if "@" in given else frozenset()
    )


def merged(keys: Collection[PersonKeys]) -> PersonKeys:
    """Return the union of keys."""
    return PersonKeys(
        frozenset().union(*(each.ids for each in keys)),
        frozenset().union(*(each.emails for each in keys)),
        frozenset().union(*(each.names for each in keys)),
        frozenset().union(*(each.channels for each in keys)),
    )
