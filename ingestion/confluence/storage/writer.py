"""Write storage format as HTML elements, which ingestion.documents.convert_html reads. Pure.

Here are also the values that a page refers to, and how names, attributes, parameters and bodies
of single elements are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from lxml import etree

from ingestion.confluence.storage.parsing import xml_text
from ingestion.documents.html_elements import all_text, is_tag
from ingestion.types import Block


class PageRef(NamedTuple):
    """A page or blog post as another one names it; ``space`` "" is the space of that other one."""

    space: str
    title: str


class FileRef(NamedTuple):
    """An attachment by its name, on a page; ``page`` None is the page that names it."""

    page: PageRef | None
    name: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What a page refers to, each once, in reading order.

    ``pages`` are linked or included; ``includes`` are those whose text (or excerpt) the page
    shows. ``users`` are account ids on Cloud, user keys or names on Data Center. ``files`` are
    attachments that are linked; pictures are no part of it.
    """

    users: tuple[str, ...] = ()
    pages: tuple[PageRef, ...] = ()
    includes: tuple[PageRef, ...] = ()
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolve:
    """What the references stand for, looked up beforehand; what is missing is named by its title.

    ``here`` is the page itself. ``pages`` and ``files`` hold URLs, ``users`` names, ``includes``
    texts in storage format. A file of this page may be named with its page or with None.
    """

    here: PageRef = field(default_factory=lambda: PageRef("", ""))
    users: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[PageRef, str] = field(default_factory=dict)
    files: Mapping[FileRef, str] = field(default_factory=dict)
    includes: Mapping[PageRef, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Converted:
    """A page's blocks.

    ``unknown_macros`` counts by name the macros that have no rule: what text they hold is in the
    blocks. ``included`` are the pages whose text is in the blocks, so that who may not read all of
    them must not read this one. ``notes`` say what was odd, fit for the report.
    """

    blocks: tuple[Block, ...]
    unknown_macros: Mapping[str, int] = field(default_factory=dict)
    included: tuple[PageRef, ...] = ()
    notes: tuple[str, ...] = ()


MACRO_TAGS = frozenset({"ac:structured-macro", "ac:macro"})
_BODIES = frozenset({"ac:rich-text-body", "ac:plain-text-body"})


def name_of(element: etree._Element) -> str:
    """Return an element's name as it is written, ``ac:link`` or ``p``; "" for what is none."""
    if not is_tag(element):
        return ""
    tag = str(element.tag)
    return tag[1:].replace("}", ":") if tag.startswith("{") else tag


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute named as ``ac:name`` or ``ri:value``; "" when it is missing."""
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
    """Whether an element is a macro, in today's form or the old one."""
    return name_of(element) in MACRO_TAGS


def macro_name(element: etree._Element) -> str:
    """Return what kind of macro it is, in small letters."""
    return attribute(element, "ac:name").strip().lower()


def parameters(macro: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the macro's own parameters that have one of these names."""
    wanted = {name.lower() for name in names}
    for child in children_named(macro, "ac:parameter", "ac:default-parameter"):
        if attribute(child, "ac:name").lower() in wanted:
            yield child


def parameter(macro: etree._Element, *names: str) -> str:
    """Return the text of the first of these parameters that says something."""
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
