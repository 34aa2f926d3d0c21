"""The HTML in which Teams shows a message: its words, and what it quotes of others. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_LONGEST = 100_000
"""Characters that are read; Teams takes messages of 28 KB."""

_BLOCKS = frozenset("blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split())
_UNSAID = frozenset({"script", "style"})
_FORWARD = "http://schema.skype.com/Forward"


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody else wrote. ``author_id`` is as Teams names them (28:… is a bot), or ""."""

    text: str
    author: str = ""
    author_id: str = ""
    forwarded: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The writer's own words, what they quote, and the ids of what is attached at a place."""

    text: str
    quotes: tuple[Quote, ...] = ()
    attached: tuple[str, ...] = ()


def written(html: str) -> Written:
    """Return what a message's HTML says; whatever it is, it is read without an error."""
    reader = _Reader()
    reader.feed(html[:_LONGEST])
    reader.close()
    quotes = (quote.read() for quote in reader.quotes)
    return Written(
        text=_tidy(reader.own),
        quotes=tuple(quote for quote in quotes if quote.text),
        attached=tuple(reader.attached),
    )


class _Quoted:
    """A quote that is being read."""

    def __init__(self, *, forwarded: bool) -> None:
        self.words: list[str] = []
        self.author: list[str] = []
        self.author_id = ""
        self.forwarded = forwarded

    def read(self) -> Quote:
        return Quote(_tidy(self.words), _tidy(self.author), self.author_id, self.forwarded)


class _Reader(HTMLParser):
    """Collects words by where they stand. A quote within a quote belongs to the outer one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.own: list[str] = []
        self.quotes: list[_Quoted] = []
        self.attached: list[str] = []
        self._quoting = 0
        self._unsaid = 0
        self._naming = ""
        self._names_open = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "blockquote":
            if not self._quoting:
                self.quotes.append(_Quoted(forwarded=told.get("itemtype") == _FORWARD))
            self._quoting += 1
        self._unsaid += tag in _UNSAID
        self._names_open += tag == self._naming
        if self._quoting and told.get("itemprop") == "mri" and not self._naming:
            self._naming, self._names_open = tag, 1
            self.quotes[-1].author_id = told.get("itemid", "")
        elif tag in _BLOCKS:
            self._say("\n")
        elif tag in {"img", "emoji"}:
            self._say(told.get("alt", ""))
        elif tag == "attachment" and told.get("id"):
            self.attached.append(told["id"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "blockquote" and self._quoting:
            self._quoting -= 1
        self._unsaid -= tag in _UNSAID and self._unsaid > 0
        if tag == self._naming:
            self._names_open -= 1
            self._naming = self._naming if self._names_open else ""
        if tag in _BLOCKS:
            self._say("\n")

    def handle_data(self, data: str) -> None:
        if not self._unsaid:
            self._say(data)

    def _say(self, words: str) -> None:
        if not self._quoting:
            self.own.append(words)
        elif self._naming:
            self.quotes[-1].author.append(words)
        else:
            self.quotes[-1].words.append(words)


def _tidy(words: list[str]) -> str:
    """Join words; lines as they are shown, no empty ones."""
    lines = "".join(words).replace("\u00a0", " ").splitlines()
    tidied = (re.sub(r"[ \t]+", " ", line).strip() for line in lines)
    return "\n".join(line for line in tidied if line)
