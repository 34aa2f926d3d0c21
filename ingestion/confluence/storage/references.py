"""What ``ri:`` elements refer to. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from lxml import etree

from ingestion.confluence.storage.elements import (
    attribute,
    child_named,
    is_macro,
    macro_name,
    name_of,
    parameters,
)
from ingestion.confluence.storage.types import FileRef, Needs, PageRef

INCLUDING = frozenset({"include", "excerpt-include", "excerpt-include-macro"})
_One = TypeVar("_One")
_PAGES = ("ri:page", "ri:blog-post")
_USER_KEYS = ("ri:account-id", "ri:userkey", "ri:username")


def needs_of(root: etree._Element, space: str) -> Needs:
    """Return what a page refers to; ``space`` is the key of its own."""
    users: dict[str | None, None] = {}
    pages: dict[PageRef | None, None] = {}
    includes: dict[PageRef | None, None] = {}
    files: dict[FileRef | None, None] = {}
    for each in root.iter():
        if is_macro(each):
            shown = included(each, space)
            includes[shown] = pages[shown] = None
            continue
        users[user_of(each)] = None
        pages[page_of(each, space)] = None
        if not _in_picture(each):
            files[file_of(each, space)] = None
    return Needs(_found(users), _found(pages), _found(includes), _found(files))


def page_of(element: etree._Element, space: str) -> PageRef | None:
    """Return the page that an ``ri:page`` or ``ri:blog-post`` names."""
    title = attribute(element, "ri:content-title")
    if name_of(element) not in _PAGES or not title:
        return None
    return PageRef(attribute(element, "ri:space-key") or space, title)


def user_of(element: etree._Element) -> str | None:
    """Return the person that an ``ri:user`` names, by whatever id there is."""
    if name_of(element) != "ri:user":
        return None
    return next(filter(None, (attribute(element, key) for key in _USER_KEYS)), None)


def file_of(element: etree._Element, space: str) -> FileRef | None:
    """Return the attachment that an ``ri:attachment`` names."""
    name = attribute(element, "ri:filename")
    if name_of(element) != "ri:attachment" or not name:
        return None
    owner = child_named(element, *_PAGES)
    return FileRef(None if owner is None else page_of(owner, space), name)


def included(macro: etree._Element, space: str) -> PageRef | None:
    """Return the page that an include or excerpt-include shows."""
    if macro_name(macro) not in INCLUDING:
        return None
    for one in parameters(macro, "", "page", "pagetitle"):
        named = next(filter(None, (page_of(each, space) for each in one.iter())), None)
        if named:
            return named
        written = "".join(str(text) for text in one.itertext()).strip()
        if written:
            return _written(written, space)
    return None


def _written(text: str, space: str) -> PageRef:
    """Return a page that is named in text, ``KEY:Title`` or its title alone."""
    key, colon, title = text.partition(":")
    if colon and title.strip() and key.isascii() and key.lstrip("~").isalnum() and key.isupper():
        return PageRef(key, title.strip())
    return PageRef(space, text)


def _in_picture(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and name_of(parent) == "ac:image"


def _found(keys: Iterable[_One | None]) -> tuple[_One, ...]:
    return tuple(key for key in keys if key is not None)
