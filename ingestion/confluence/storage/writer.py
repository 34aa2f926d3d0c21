"""Write storage format as HTML elements, which ingestion.documents.convert_html reads. Pure.

Also defines the references of a page, and accessors for names, attributes, parameters and bodies of
single elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from ingestion.confluence.storage.parsing import xml_text
from ingestion.documents.html_elements import all_text, is_tag
from ingestion.types import Block


class PageRef(NamedTuple):
    """A reference to a page or blog post; ``space`` "" is the space of the referring page."""

    space: str
    title: str


class FileRef(NamedTuple):
    """A reference to an attachment by name; ``page`` None is the referring page."""

    page: PageRef | None
    name: str


@dataclass(frozen=True, slots=True)
class Needs:
    """The references of a page, each once, in reading order.

    ``pages`` are linked or included; ``includes`` are those whose text (or excerpt) the page shows.
    ``users`` are account ids on Cloud, user keys or names on Data Center. ``files`` are linked
    attachments, without pictures.
    """

    users: tuple[str, ...] = ()
    pages: tuple[PageRef, ...] = ()
    includes: tuple[PageRef, ...] = ()
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolve:
    """The resolved references of a page; a missing one is shown by its title.

    ``here`` is the page itself. ``pages`` and ``files`` map to URLs, ``users`` to names,
    ``includes`` to texts in storage format. A file of this page may have its page or None as key.
    """

    here: PageRef = field(default_factory=lambda: PageRef("", ""))
    users: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[PageRef, str] = field(default_factory=dict)
    files: Mapping[FileRef, str] = field(default_factory=dict)
    includes: Mapping[PageRef, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Converted:
    """The blocks of a page.

    ``unknown_macros`` counts by name the macros without a rule, whose text is in the blocks.
    ``included`` are the pages whose text is in the blocks; readers of this page must be allowed to
    read them all. ``notes`` describe problems, worded for the report.
    """

    blocks: tuple[Block, ...]
    unknown_macros: Mapping[str, int] = field(default_factory=dict)
    included: tuple[PageRef, ...] = ()
    notes: tuple[str, ...] = ()


MACRO_TAGS = frozenset({"ac:structured-macro", "ac:macro"})
_BODIES = frozenset({"ac:rich-text-body", "ac:plain-text-body"})


def name_of(element: etree._Element) -> str:
    """Return an element's qualified name, ``ac:link`` or ``p``; "" for a non-element."""
    if not is_tag(element):
        return ""
    tag = str(element.tag)
    return tag[1:].replace("}", ":") if tag.startswith("{") else tag


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute such as ``ac:name`` or ``ri:value``; "" when it is missing."""
    prefix, _, local = name.rpartition(":")
    own = element.get(f"{{{prefix}}}{local}") if prefix else None
    return own or element.get(local) or ""


def children_named(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the children that have one of these names."""
    return (child for child in element if name_of(child) in names)


def child_named(element: etree._Element, *names: str) -> etree._Element | None:
    """Return the first child that has one of these names."""
    return next(children_named(element, *names), None)


def is_macro(element: etree._Element) -> bool:
    """Return whether an element is a macro, in the current or the old form."""
    return name_of(element) in MACRO_TAGS


def macro_name(element: etree._Element) -> str:
    """Return the macro's name in lower case."""
    return attribute(element, "ac:name").strip().lower()


def parameters(macro: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the macro's own parameters that have one of these names."""
    wanted = {name.lower() for name in names}
    for child in children_named(macro, "ac:parameter", "ac:default-parameter"):
        if attribute(child, "ac:name").lower() in wanted:
            yield child


def parameter(macro: etree._Element, *names: str) -> str:
    """Return the text of the first non-empty of these parameters."""
    texts = (" ".join(all_text(one).split()) for one in parameters(macro, *names))
    return next((text for text in texts if text), "")


def body(macro: etree._Element) -> etree._Element | None:
    """Return the macro's body, rich or plain."""
    return next((child for child in macro if name_of(child) in _BODIES), None)


def plain_body(macro: etree._Element) -> str:
    """Return the characters of the macro's body."""
    found = body(macro)
    return "" if found is None else all_text(found)


MOST_INCLUDED = 5_000_000
"""Limit of included text in one page, in characters of storage format."""

_DEEPEST = 100
"""Maximum nesting; deeper elements keep their text and lose their form."""

_PARTED = frozenset("ul ol table thead tbody tfoot tr".split())
"""Elements that allow text only inside their parts."""

Rule = Callable[["etree._Element", "Writer"], None]  # noqa: SLF001 - lxml has no public name
"""Writes one element and its content."""


class Writer:
    """Builds the HTML elements of one page in reading order; ``here`` is the page being read.

    ``write`` is the function that dispatches a single element to this writer.
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
        """Finish and return all elements; nothing can be written after this."""
        self._tree.end("body")
        return self._tree.close()

    @contextmanager
    def element(self, tag: str, attributes: dict[str, str] | None = None) -> Iterator[None]:
        """Enclose what is written inside the block in an element."""
        given = attributes or {}
        self._tree.start(tag, {name: xml_text(value) for name, value in given.items()})
        yield
        self._tree.end(tag)

    def copy(self, element: etree._Element, attributes: dict[str, str]) -> None:
        """Copy an HTML element with these attributes, and write its content."""
        self._tree.start(element.tag, dict(attributes.items()))
        self.inside(element)
        self._tree.end(element.tag)

    def text(self, text: str | None) -> None:
        """Write running text."""
        if text:
            self._tree.data(xml_text(text))

    def paragraph(self, text: str) -> None:
        """Write a paragraph, unless it is empty."""
        if text.strip():
            with self.element("p"):
                self.text(text)

    def lines(self, text: str) -> None:
        """Write preformatted text: empty lines end paragraphs, other line breaks are kept."""
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
        """Write a link, or its text alone without a URL."""
        with self.element("a", {"href": url or ""}):
            self.text(text)

    def write(self, element: etree._Element) -> None:
        """Write an element by its rule, without its tail."""
        self._write(element, self)

    def inside(self, element: etree._Element) -> None:
        """Write the content of an element."""
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
        """Write the content of a macro's body, if it has one."""
        found = body(macro)
        if found is not None:
            self.inside(found)

    def note(self, text: str) -> None:
        """Add a note about the page, once."""
        self.notes[text] = None

    def url_of(self, file: FileRef) -> str | None:
        """Return the URL of an attachment; one of this page may be named with or without it."""
        page = file.page or self.here
        own = (
            self.resolve.files.get(FileRef(None, file.name)) if page == self.resolve.here else None
        )
        return self.resolve.files.get(FileRef(page, file.name)) or own

    def may_include(self, page: PageRef, storage: str) -> bool:
        """Return whether another page's text may be included: no cycle, within the size limit."""
        circle = page in {self.resolve.here, *self.within}
        return not circle and len(storage) <= self._room

    @contextmanager
    def reading(self, page: PageRef, storage: str) -> Iterator[None]:
        """Treat what is written inside the block as part of another page."""
        before = self.here, self.within
        self.here, self.within = page, (*self.within, page)
        self.included[page] = None
        self._room -= len(storage)
        yield
        self.here, self.within = before
