"""How what people typed is taken apart into words, and quoted; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.rendering.markdown import clip

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_DASH = re.compile(f"[{_DASHES}_]+")
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02`", '"'))
_SLACK_LINK = re.compile(r"<(https?://[^\s<>|]+)(?:\|([^<>\n]*))?>", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"\[[^\[\]\n]*\]\((https?://[^\s()]+)\)", re.IGNORECASE)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_STRAY = "\"'\u2018\u2019\u201a"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it was meant; ``plain`` says that it stood in quotes, and is a name as it is."""

    text: str
    plain: bool = False

    @property
    def key(self) -> str:
        """The word for comparing with those that are known; "" for one in quotes."""
        return "" if self.plain else self.text.casefold().strip(".,:;!?")

    @property
    def flag(self) -> str:
        """The name of a flag, without dashes; "" for every other word."""
        if self.plain or self.text[:1] not in _DASHES:
            return ""
        return _DASH.sub("", self.text).casefold()


def words_of(text: str) -> tuple[Word, ...]:
    """Take a text apart: links to their addresses, quotes off, whatever dashes phones make."""
    linked = _MARKDOWN_LINK.sub(r" \1 ", _SLACK_LINK.sub(_address, text)).translate(_QUOTES)
    return tuple(_words(linked))


def shown(text: str) -> str:
    """Return what somebody typed as a message quotes it: printable, and not too long."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    return f"\u201c{clip(printable, _SHOWN)}\u201d"


def _words(text: str) -> Iterator[Word]:
    for quoted, bare in _WORD.findall(text):
        if quoted.strip():
            yield Word(quoted.strip(), plain=True)
        elif (word := bare.strip(_STRAY)).strip(_DASHES):
            yield Word(word)


def _address(link: re.Match[str]) -> str:
    """Return a link's address; a name that only looks like a host, as its writer put it."""
    address, label = link[1].replace("&amp;", "&"), link[2] or ""
    made_up = label and address.rstrip("/").casefold() == f"http://{label}".casefold()
    return f" {label if made_up else address} "
