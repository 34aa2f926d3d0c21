"""The HTML in which Teams shows a message: its words, and what it quotes of others. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree, html

_LONGEST = 100_000
"""Characters that are read; Teams takes messages of 28 KB."""

_BLOCKS = frozenset("blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split())
_PICTURES = frozenset({"img", "emoji"})
_UNSAID = frozenset({"script", "style", "head"})
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


def written(source: str) -> Written:
    """Return what a message's HTML says; whatever it is, it is read without an error.

    What is nested deeper than anybody writes (256 elements) is left out.
    """
    root = _parsed(source[:_LONGEST])
    if root is None:
        return Written("")
    reader = _Reader()
    for event, element in etree.iterwalk(root, events=("start", "end")):
        reader.begin(element) if event == "start" else reader.end(element)
    quotes = (quote.read() for quote in reader.quotes)
    return Written(
        text=_tidy(reader.own),
        quotes=tuple(quote for quote in quotes if quote.text),
        attached=tuple(reader.attached),
    )


def _parsed(source: str) -> etree._Element | None:
    """Return the tree, None for nothing. html.parser takes minutes for "<a <a <a"."""
    parser = html.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True
    )
    encoded = source.encode("utf-8", "replace")
    if not encoded.strip():
        return None
    try:
        return html.document_fromstring(encoded, parser=parser)
    except etree.ParserError:
        return None


class _Quoted:
    """A quote that is being read."""

    def __init__(self, element: etree._Element) -> None:
        self.element = element
        self.words: list[str] = []
        self.author: list[str] = []
        self.author_id = ""

    def read(self) -> Quote:
        return Quote(
            text=_tidy(self.words),
            author=_tidy(self.author),
            author_id=self.author_id,
            forwarded=self.element.get("itemtype") == _FORWARD,
        )


class _Reader:
    """Collects words by where they stand. A quote within a quote belongs to the outer one."""

    def __init__(self) -> None:
        self.own: list[str] = []
        self.quotes: list[_Quoted] = []
        self.attached: list[str] = []
        self._quoting: _Quoted | None = None
        self._naming: etree._Element | None = None
        self._unsaid = 0

    def begin(self, element: etree._Element) -> None:
        """Take an element and what it begins with."""
        if element.tag == "blockquote" and self._quoting is None:
            self._quoting = _Quoted(element)
            self.quotes.append(self._quoting)
        elif self._quoting and element.get("itemprop") == "mri":
            self._naming, self._quoting.author_id = element, element.get("itemid") or ""
        self._unsaid += element.tag in _UNSAID
        if element.tag == "attachment" and element.get("id"):
            self.attached.append(element.get("id") or "")
        self._say("\n" if element.tag in _BLOCKS else "")
        self._say(element.get("alt") if element.tag in _PICTURES else element.text)

    def end(self, element: etree._Element) -> None:
        """Leave an element; take what stands behind it."""
        self._unsaid -= element.tag in _UNSAID
        self._say("\n" if element.tag in _BLOCKS else "")
        if self._naming is element:
            self._naming = None
        if self._quoting and self._quoting.element is element:
            self._quoting = None
        self._say(element.tail)

    def _say(self, words: str | None) -> None:
        if not words or self._unsaid:
            return
        if self._quoting is None:
            self.own.append(words)
        elif self._naming is not None:
            self._quoting.author.append(words)
        else:
            self._quoting.words.append(words)


def _tidy(words: list[str]) -> str:
    """Join words; lines as they are shown, no empty ones."""
    lines = "".join(words).replace("\u00a0", " ").splitlines()
    tidied = (re.sub(r"[ \t]+", " ", line).strip() for line in lines)
    return "\n".join(line for line in tidied if line)
