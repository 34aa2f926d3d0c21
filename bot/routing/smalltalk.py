"""Small talk: which topic a message is about, if it is about nothing else, and a written reply."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import cast

from bot.routing.intents.plain import plain, shortened

NOTHING_SAID = "nothing_said"
JOKE = "joke"
ACKNOWLEDGEMENT = "acknowledgement"

_FILLER = re.compile(
    r"(?:bot|frontdesk|front desk|robot|there|team|all|everyone|everybody|folks|guys|friend|mate"
    r"|man|buddy|dear|sir|madam|again|today|now|please|pls|here|wait"
    r"|and|but|so|oh|ok|okay|well|very|a lot"
    r"|much|really|just|then|help ?desk|assistant|you|u|my|to you|in advance|for now|x|xx|d|p"
    r"|\d)(?= |$)"
)
_MOST_WORDS = 25
"""Longer messages are about something."""


class SmallTalk:
    """What is said and replied comes from smalltalk.toml; the reply depends on the text alone."""

    def __init__(self) -> None:
        source = (
            resources.files("bot.routing").joinpath("smalltalk.toml").read_text(encoding="utf-8")
        )
        topics = cast("Mapping[str, Mapping[str, Sequence[str]]]", tomllib.loads(source))
        self._replies = {topic: tuple(entry["replies"]) for topic, entry in topics.items()}
        self._said = {
            topic: tuple(re.compile(rf"(?:{said})(?= |$)") for said in entry["said"])
            for topic, entry in topics.items()
        }

    def topic(self, text: str) -> str | None:
        """Return what the small talk is about, or None when the message is about something."""
        said = shortened(plain(text))
        if not re.search(r"\w", said):
            return NOTHING_SAID
        if len(said.split()) > _MOST_WORDS:
            return None
        found = [self._of(clause) for clause in re.split(r"[.?]", said) if clause.strip()]
        if any(topics is None for topics in found):
            return None
        order = list(self._said)
        return min((topic for topics in found for topic in topics or ()), key=order.index)

    def reply(self, topic: str, text: str) -> str:
        """Return a written reply; the same text always gets the same one."""
        replies = self._replies[topic]
        return replies[zlib.crc32(text.encode("utf-8", "surrogatepass")) % len(replies)]

    def _of(self, clause: str) -> list[str] | None:
        """Return the topics that together make up the clause, or None."""
        words = clause.strip()
        topics: list[str] = []
        while words:
            topic, end = self._longest(words)
            if not end:
                return None
            topics += [topic] if topic else []
            words = words[end:].lstrip()
        return topics or [ACKNOWLEDGEMENT]

    def _longest(self, words: str) -> tuple[str, int]:
        """Return the topic whose phrase reaches furthest, and where it ends (0: none)."""
        best, reach = "", 0
        for topic, patterns in self._said.items():
            end = max((_end(pattern, words) for pattern in patterns), default=0)
            if end > reach:
                best, reach = topic, end
        return (best, reach) if reach else ("", _end(_FILLER, words))


def _end(pattern: re.Pattern[str], words: str) -> int:
    match = pattern.match(words)
    return match.end() if match else 0
