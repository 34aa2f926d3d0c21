"""Links of storage format: to pages, people, files, spaces and places. Pure."""

from __future__ import annotations

from urllib.parse import quote

from lxml import etree

from ingestion.confluence.storage.elements import attribute, child_named, name_of
from ingestion.confluence.storage.references import file_of, page_of, user_of
from ingestion.confluence.storage.writer import Writer
from ingestion.html_inline import all_text

SOMEBODY = "@somebody"
"""A person whose name is not known."""

_BODIES = ("ac:link-body", "ac:plain-text-link-body")


def link(element: etree._Element, out: Writer) -> None:
    """Write an ``ac:link``: its own words, else what it leads to."""
    target = next((each for each in element if name_of(each).startswith("ri:")), None)
    person = None if target is None else user_of(target)
    if person:
        mention(person, out)
        return
    words = child_named(element, *_BODIES)
    shown, url = ("", None) if target is None else leads_to(target, out)
    anchor = attribute(element, "ac:anchor")
    with out.element("a", {"href": _at(url, anchor)}):
        if words is not None and all_text(words).strip():
            out.inside(words)
        else:
            out.text(shown or anchor)


def leads_to(target: etree._Element, out: Writer) -> tuple[str, str | None]:
    """Return the words for what an ``ri:`` element names, and where it is."""
    page = page_of(target, out.here.space)
    if page:
        return page.title, out.resolve.pages.get(page)
    file = file_of(target, out.here.space)
    if file:
        return file.name, out.url_of(file)
    person = user_of(target)
    if person:
        return _named(person, out), None
    return _other(target)


def may_be_followed(url: str) -> bool:
    """Whether an address is of a kind that is shown: a page or a mailbox, nothing that runs."""
    return url.strip().lower().startswith(("http://", "https://", "mailto:"))


def mention(person: str, out: Writer) -> None:
    """Write a person's name."""
    out.text(_named(person, out))


def _named(person: str, out: Writer) -> str:
    name = out.resolve.users.get(person, "").strip()
    return f"@{name}" if name else SOMEBODY


def _other(target: etree._Element) -> tuple[str, str | None]:
    """Return words for a web address, a space or a short form of another site."""
    url = attribute(target, "ri:value")
    if may_be_followed(url):
        return url, url
    return attribute(target, "ri:space-key") or attribute(target, "ri:parameter"), None


def _at(url: str | None, anchor: str) -> str:
    if not url or not anchor:
        return url or ""
    return f"{url.partition('#')[0]}#{quote(anchor)}"
