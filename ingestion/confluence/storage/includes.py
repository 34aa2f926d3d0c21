"""Pages shown on other pages, whole or their excerpt. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from ingestion.confluence.storage.elements import body, is_macro, macro_name, parameter
from ingestion.confluence.storage.parsing import parse
from ingestion.confluence.storage.references import included
from ingestion.confluence.storage.types import PageRef
from ingestion.confluence.storage.writer import Writer
from ingestion.errors import PageUnreadable

DEEPEST = 2
"""An included page's own includes are shown too, and theirs are links."""


def include(macro: etree._Element, out: Writer) -> None:
    """Write the text of another page, or a link to it where its text is not to be had."""
    page = included(macro, out.here.space)
    if page is None:
        out.note("an include names no page")
        return
    parts = _parts(macro, page, out)
    if parts is None:
        with out.element("p"):
            out.link(page.title, out.resolve.pages.get(page))
        return
    with out.reading(page, out.resolve.includes[page]):
        for part in parts:
            with out.element("div"):
                out.inside(part)


def _parts(macro: etree._Element, page: PageRef, out: Writer) -> list[etree._Element] | None:
    """Return what is shown of the page; None, with a note, where it becomes a link."""
    storage = out.resolve.includes.get(page)
    if storage is None:
        out.note(
            f"the included page {page.title!r} can't be read, or not by all readers of this page; "
            "it became a link"
        )
        return None
    if len(out.within) >= DEEPEST or not out.may_include(page, storage):
        out.note(f"the included page {page.title!r} is nested or too much; it became a link")
        return None
    try:
        root = parse(storage).root
    except PageUnreadable as error:
        out.note(f"the included page {page.title!r} {error}; it became a link")
        return None
    if macro_name(macro) == "include":
        return [root]
    return _chosen(root, parameter(macro, "name"))


def _chosen(root: etree._Element, name: str) -> list[etree._Element]:
    """Return the excerpt of that name, else the first one, as Confluence does."""
    excerpts = list(_excerpts(root))
    named = [one for one in excerpts if name and parameter(one, "name") == name]
    bodies = (body(one) for one in (named or excerpts)[:1])
    return [one for one in bodies if one is not None]


def _excerpts(root: etree._Element) -> Iterator[etree._Element]:
    return (each for each in root.iter() if is_macro(each) and macro_name(each) == "excerpt")
