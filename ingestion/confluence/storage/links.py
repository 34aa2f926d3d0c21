"""Resolve ``ri:`` elements, and write links, mentions and images as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from lxml import etree

from ingestion.confluence.storage.writer import (
    FileRef,
    Needs,
    PageRef,
    Writer,
    attribute,
    child_named,
    is_macro,
    macro_name,
    name_of,
    parameters,
)
from ingestion.documents.html_elements import all_text

INCLUDING = frozenset({"include", "excerpt-include", "excerpt-include-macro"})
_One = TypeVar("_One")
_PAGES = ("ri:page", "ri:blog-post")
_USER_KEYS = ("ri:account-id", "ri:userkey", "ri:username")


def needs_of(root: etree._Element, space: str) -> Needs:
    """Return a page's references; ``space`` is its space's key."""
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
    return Needs(_distinct(users), _distinct(pages), _distinct(includes), _distinct(files))


def page_of(element: etree._Element, space: str) -> PageRef | None:
    """Return the page that an ``ri:page`` or ``ri:blog-post`` refers to."""
    title = attribute(element, "ri:content-title")
    if name_of(element) not in _PAGES or not title:
        return None
    return PageRef(attribute(element, "ri:space-key") or space, title)


def user_of(element: etree._Element) -> str | None:
    """Return the id of the person in an ``ri:user``, of whichever kind there is."""
    if name_of(element) != "ri:user":
        return None
    return next(filter(None, (attribute(element, key) for key in _USER_KEYS)), None)


def file_of(element: etree._Element, space: str) -> FileRef | None:
    """Return the attachment that an ``ri:attachment`` refers to."""
    name = attribute(element, "ri:filename")
    if name_of(element) != "ri:attachment" or not name:
        return None
    owner = child_named(element, *_PAGES)
    return FileRef(None if owner is None else page_of(owner, space), name)


def included(macro: etree._Element, space: str) -> PageRef | None:
    """Return the page that an include or excerpt-include macro shows."""
    if macro_name(macro) not in INCLUDING:
        return None
    for one in parameters(macro, "", "page", "pagetitle"):
        named = next(filter(None, (page_of(each, space) for each in one.iter())), None)
        if named:
            return named
        written = "".join(str(text) for text in one.itertext()).strip()
        if written:
            return _page_in_text(written, space)
    return None


def _page_in_text(text: str, space: str) -> PageRef:
    """Parse a page reference in text, ``KEY:Title`` or the title alone."""
    key, colon, title = text.partition(":")
    if colon and title.strip() and key.isascii() and key.lstrip("~").isalnum() and key.isupper():
        return PageRef(key, title.strip())
    return PageRef(space, text)


def _in_picture(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and name_of(parent) == "ac:image"


def _distinct(keys: Iterable[_One | None]) -> tuple[_One, ...]:
    return tuple(key for key in keys if key is not None)


SOMEBODY = "@somebody"
"""Shown for a person whose name is unknown."""

_LINK_BODIES = ("ac:link-body", "ac:plain-text-link-body")


def write_link(element: etree._Element, out: Writer) -> None:
    """Write an ``ac:link`` with its own text, else the name of its target."""
    target = next((each for each in element if name_of(each).startswith("ri:")), None)
    person = None if target is None else user_of(target)
    if person:
        write_mention(person, out)
        return
    words = child_named(element, *_LINK_BODIES)
    shown, url = ("", None) if target is None else link_target(target, out)
    anchor = attribute(element, "ac:anchor")
    with out.element("a", {"href": _with_address(url, anchor)}):
        if words is not None and all_text(words).strip():
            out.inside(words)
        else:
            out.text(shown or anchor)


def link_target(target: etree._Element, out: Writer) -> tuple[str, str | None]:
    """Return the text for the target of an ``ri:`` element, and its URL."""
    page = page_of(target, out.here.space)
    if page:
        return page.title, out.resolve.pages.get(page)
    file = file_of(target, out.here.space)
    if file:
        return file.name, out.url_of(file)
    person = user_of(target)
    if person:
        return _named_space(person, out), None
    return _other_target(target)


def may_be_followed(url: str) -> bool:
    """Return whether an address has a safe scheme: web or mail, nothing executable."""
    return url.strip().lower().startswith(("http://", "https://", "mailto:"))


def write_mention(person: str, out: Writer) -> None:
    """Write a person's name."""
    out.text(_named_space(person, out))


def _named_space(person: str, out: Writer) -> str:
    name = out.resolve.users.get(person, "").strip()
    return f"@{name}" if name else SOMEBODY


def _other_target(target: etree._Element) -> tuple[str, str | None]:
    """Return the text for a web address, a space or a short link to another site."""
    url = attribute(target, "ri:value")
    if may_be_followed(url):
        return url, url
    return attribute(target, "ri:space-key") or attribute(target, "ri:parameter"), None


def _with_address(url: str | None, anchor: str) -> str:
    if not url or not anchor:
        return url or ""
    return f"{url.partition('#')[0]}#{quote(anchor)}"


_RUNNING = frozenset("p span a strong em b i u code h1 h2 h3 h4 h5 h6 ac:link-body".split())
_WRAPS = frozenset({"p", "div"})


def write_image(element: etree._Element, out: Writer) -> None:
    """Write an ``ac:image``, inline in running text, else as a paragraph."""
    parent = element.getparent()
    if parent is not None and name_of(parent) in _RUNNING:
        out.text(" ")
        _words(element, out)
        out.text(" ")
        return
    with out.element("p"):
        _words(element, out)


def _words(element: etree._Element, out: Writer) -> None:
    """Write ``[Image: alt - caption - file]`` without repetitions."""
    caption = child_named(element, "ac:caption")
    written = "" if caption is None else " ".join(all_text(caption).split())
    file = _file_name(element)
    alt = " ".join((attribute(element, "ac:alt") or attribute(element, "ac:title")).split())
    alt = "" if alt.casefold() in {file.casefold(), written.casefold()} else alt
    if not (alt or written or file):
        return
    out.text("[Image: " + alt + (" - " if alt and written else ""))
    if caption is not None and written:
        _inline(caption, out)
    out.text((" - " if file and (alt or written) else "") + file + "]")


def _inline(caption: etree._Element, out: Writer) -> None:
    """Write a caption inline, without its paragraphs."""
    with out.element("span"):
        out.text(caption.text)
        for child in caption:
            if name_of(child) in _WRAPS:
                with out.element("span"):
                    out.inside(child)
                out.text(" ")
            else:
                out.write(child)
            out.text(child.tail)


def _file_name(element: etree._Element) -> str:
    """Return the file name: of an external image, the last part of its address."""
    for child in element:
        name = attribute(child, "ri:filename")
        if name:
            return name
        address = attribute(child, "ri:value")
        if address:
            return unquote(_path(address).rstrip("/").rpartition("/")[2])
    return ""


def _path(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:
        return ""
