"""What ingestion says, in the catalogue.

Ingestion imports nothing of ``bot``: its refusals, and the problems in its records, are English
sentences. Here they are recognised and get a text of the catalogue. Unknown ones stay English.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from bot.domain.texts import Message, Text, changed, join_texts, number_text, tr
from bot.domain.texts.ingestion_sentences import COUNTS, CURES, FACTS, SENTENCES

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z'])")
_ABOUT_A_FILE = re.compile(r"(?P<name>'[^']*'|\"[^\"]*\") (?P<what>.*)\.", re.DOTALL)
_NUMBER = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?|\d+\.\d+")
_VALUE = re.compile(r"\\{(\w+)\\}")

_LONGEST = 1000
"""Longer texts stay English: matching takes more than linear time, and reads values in turn."""

_DATA = frozenset("address host name names other page path request run space text type".split())
"""Values that people or servers wrote: they are no sentences of ingestion, whatever they say."""

_NUMBERS = frozenset(
    "bytes characters count expected indexed most most_tags others removed seconds share status "
    "tags usd".split()
)
"""Values without a space: with them a pattern has fewer ways to match."""

Messages = tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def ingestion_text(english: str) -> str:
    """Return a text of the catalogue for what ingestion says; the same words if there is none."""
    if isinstance(english, Text) or not 0 < len(english) <= _LONGEST:
        return english
    return next(filter(None, (read(english) for read in _READINGS)), english)


def _sentences(english: str) -> str | None:
    """Return one or several sentences; the reason of a problem comes without its full stop."""
    if not english.endswith((".", "!", "?")):
        whole = _sentences(f"{english}.")
        return None if whole is None else changed(whole, _without_stop)
    known = [_known(each, SENTENCES) for each in _BETWEEN_SENTENCES.split(english)]
    found = [each for each in known if each is not None]
    return join_texts(" ", found) if len(found) == len(known) else None


def _fragment(english: str) -> str | None:
    """Return a fact, with its cure after a semicolon if it has one."""
    said, _, after = english.partition("; ")
    fact, cure = _known(said, FACTS), _known(after, CURES)
    if fact is None or (after and cure is None):
        return None
    return fact if cure is None else join_texts("; ", (fact, cure))


def _cure(english: str) -> str | None:
    """Return a cure of which a sentence was made."""
    fragment = _known(f"{english[:1].lower()}{english[1:].removesuffix('.')}", CURES)
    return None if fragment is None else changed(fragment, _as_sentence)


def _about_a_file(english: str) -> str | None:
    """Return a sentence of a file's name in quotes and a fragment."""
    found = _ABOUT_A_FILE.fullmatch(english)
    what = _fragment(found["what"]) if found else None
    return tr("{name} {what}.", name=found["name"], what=what) if found and what else None


def _count(english: str) -> str | None:
    """Return a number, or a count or price as it stands in a sentence."""
    return number_text(english) if _NUMBER.fullmatch(english) else _known(english, COUNTS)


_READINGS: Sequence[Callable[[str], str | None]] = (
    _count,
    _sentences,
    _fragment,
    _cure,
    _about_a_file,
)


def _known(english: str, messages: Messages) -> Text | None:
    """Return the text of the message that these words are made of, with their values."""
    for message, pattern in _patterns(messages):
        found = pattern.fullmatch(english)
        if found is not None:
            values = found.groupdict()
            ours = {name: ingestion_text(values[name]) for name in values.keys() - _DATA}
            return Text.of(Message(message, values=values | ours))
    return None


@functools.cache
def _patterns(messages: Messages) -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the messages with their patterns, those with the most words of their own first."""
    return tuple(sorted(_each_pattern(messages), key=lambda each: -len(each[1].pattern)))


def _each_pattern(messages: Messages) -> Iterator[tuple[str, re.Pattern[str]]]:
    for message in messages:
        yield message, re.compile(_VALUE.sub(_value, re.escape(message)), re.DOTALL)


def _value(found: re.Match[str]) -> str:
    words = r"\S+?" if found[1] in _NUMBERS else ".+?"
    return f"(?P<{found[1]}>{words})"


def _as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _without_stop(words: str) -> str:
    return words.removesuffix(".")
