"""What is read of single elements: names, attributes, parameters, bodies. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from ingestion.html_inline import all_text, is_tag

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
