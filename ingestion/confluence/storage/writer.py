"""Writes what storage format says as HTML elements, which ingestion.convert_html reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lxml import etree

from ingestion.confluence.storage.elements import body, name_of
from ingestion.confluence.storage.parsing import xml_text
from ingestion.confluence.storage.types import FileRef, PageRef, Resolve
from ingestion.html_inline import all_text

MOST_INCLUDED = 5_000_000
"""Characters in storage format that one page may show of others."""

_DEEPEST = 100
"""Levels; what is nested deeper keeps its text and loses its form."""

_PARTED = frozenset("ul ol table thead tbody tfoot tr".split())
"""Text may stand in their parts only."""


class Rule(Protocol):
    """Writes one element and what is inside it."""

    def __call__(self, element: etree._Element, out: Writer, /) -> None: ...


class Writer:
    """Elements of one page, written in reading order; ``here`` is the page that is being read.

    ``write`` is what turns a single element into calls of this writer.
    """

    def __init__(self, resolve: Resolve, write: Rule) -> None:
        self.resolve = resolve
        self.here = resolve.here
        self.within: tuple[PageRef, ...] = ()
        self.unknown: Counter[str] = Counter()
        self.included: dict[PageRef, None] = {}
        self.notes: dict[str, None] = {}
        self._room = MOST_INCLUDED
        self._depth = 0
        self._write = write
        self._tree = etree.TreeBuilder()
        self._tree.start("body", {})

    def root(self) -> etree._Element:
        """Return all that was written; nothing can be written after this."""
        self._tree.end("body")
        return self._tree.close()

    @contextmanager
    def element(self, tag: str, attributes: dict[str, str] | None = None) -> Iterator[None]:
        """Write an element around what is written meanwhile."""
        given = attributes or {}
        self._tree.start(tag, {name: xml_text(value) for name, value in given.items()})
        yield
        self._tree.end(tag)

    def copy(self, element: etree._Element, attributes: dict[str, str]) -> None:
        """Write an HTML element as it is, with these attributes, and what is inside it."""
        self._tree.start(element.tag, dict(attributes.items()))
        self.inside(element)
        self._tree.end(element.tag)

    def text(self, text: str | None) -> None:
        """Write running text."""
        if text:
            self._tree.data(xml_text(text))

    def paragraph(self, text: str) -> None:
        """Write a paragraph, if there is something in it."""
        if text.strip():
            with self.element("p"):
                self.text(text)

    def lines(self, text: str) -> None:
        """Write text as it stands: its empty lines end paragraphs, its other lines are kept."""
        for part in text.strip().split("\n\n"):
            with self.element("p"):
                for number, line in enumerate(part.strip("\n").split("\n")):
                    if number:
                        with self.element("br"):
                            pass
                    self.text(line)

    def code(self, text: str, language: str = "") -> None:
        """Write verbatim lines."""
        with self.element("pre", {"class": f"language-{language}"} if language else {}):
            self.text(text)

    def link(self, text: str, url: str | None) -> None:
        """Write a link, or its text where nobody knows where it leads."""
        with self.element("a", {"href": url or ""}):
            self.text(text)

    def write(self, element: etree._Element) -> None:
        """Write an element as its rule says, without what follows it."""
        self._write(element, self)

    def inside(self, element: etree._Element) -> None:
        """Write what is inside an element."""
        if self._depth > _DEEPEST and name_of(element) not in _PARTED:
            self.text(all_text(element))
            return
        self._depth += 1
        self._tree.data(element.text or "")
        for child in element:
            self.write(child)
            self._tree.data(child.tail or "")
        self._depth -= 1

    def body(self, macro: etree._Element) -> None:
        """Write what is inside a macro's body, if it has one."""
        found = body(macro)
        if found is not None:
            self.inside(found)

    def note(self, text: str) -> None:
        """Keep something to tell about the page, once."""
        self.notes[text] = None

    def url_of(self, file: FileRef) -> str | None:
        """Return where an attachment is found, that of the page being read by either name."""
        page = file.page or self.here
        own = (
            self.resolve.files.get(FileRef(None, file.name)) if page == self.resolve.here else None
        )
        return self.resolve.files.get(FileRef(page, file.name)) or own

    def may_include(self, page: PageRef, storage: str) -> bool:
        """Whether another page's text may be shown: no circle, and not too much in all."""
        circle = page in {self.resolve.here, *self.within}
        return not circle and len(storage) <= self._room

    @contextmanager
    def reading(self, page: PageRef, storage: str) -> Iterator[None]:
        """Write what is written meanwhile as part of another page."""
        before = self.here, self.within
        self.here, self.within = page, (*self.within, page)
        self.included[page] = None
        self._room -= len(storage)
        yield
        self.here, self.within = before
