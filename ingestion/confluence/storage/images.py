"""Pictures as words: what stands for them, what is written below, the file's name. Pure."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from lxml import etree

from ingestion.confluence.storage.elements import attribute, child_named, name_of
from ingestion.confluence.storage.writer import Writer
from ingestion.html_inline import all_text

_RUNNING = frozenset("p span a strong em b i u code h1 h2 h3 h4 h5 h6 ac:link-body".split())
_WRAPS = frozenset({"p", "div"})


def image(element: etree._Element, out: Writer) -> None:
    """Write an ``ac:image``; inside running text it stays there, else it is a paragraph."""
    parent = element.getparent()
    if parent is not None and name_of(parent) in _RUNNING:
        out.text(" ")
        _words(element, out)
        out.text(" ")
        return
    with out.element("p"):
        _words(element, out)


def _words(element: etree._Element, out: Writer) -> None:
    """Write ``[Image: alt - caption - file]``, saying nothing twice."""
    caption = child_named(element, "ac:caption")
    written = "" if caption is None else " ".join(all_text(caption).split())
    file = _file(element)
    alt = " ".join((attribute(element, "ac:alt") or attribute(element, "ac:title")).split())
    alt = "" if alt.casefold() in {file.casefold(), written.casefold()} else alt
    if not (alt or written or file):
        return
    out.text("[Image: " + alt + (" - " if alt and written else ""))
    if caption is not None and written:
        _inline(caption, out)
    out.text((" - " if file and (alt or written) else "") + file + "]")


def _inline(caption: etree._Element, out: Writer) -> None:
    """Write a caption without its paragraphs."""
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


def _file(element: etree._Element) -> str:
    """Return the name of the file, the last part of an address elsewhere."""
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
