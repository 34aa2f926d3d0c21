"""Convert a page in storage format to blocks, each element by way of equivalent HTML. Pure.

Emoticons become characters; task lists and other elements of Cloud's editor format (ADF) become
lists and quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lxml import etree

from ingestion.confluence.storage.links import needs_of, write_image, write_link
from ingestion.confluence.storage.macros import write_macro
from ingestion.confluence.storage.parsing import parse
from ingestion.confluence.storage.writer import (
    MACRO_TAGS,
    Converted,
    Needs,
    Resolve,
    Rule,
    Writer,
    attribute,
    child_named,
    children_named,
    name_of,
)
from ingestion.documents.convert_html import blocks_in
from ingestion.documents.html_elements import all_text
from ingestion.errors import PageUnreadable

_SIGNS = {
    "smile": "🙂",
    "sad": "🙁",
    "cheeky": "😛",
    "laugh": "😀",
    "wink": "😉",
    "thumbs-up": "👍",
    "thumbs-down": "👎",
    "information": "\N{INFORMATION SOURCE}",
    "tick": "✅",
    "cross": "❌",
    "warning": "⚠",
    "plus": "\N{HEAVY PLUS SIGN}",
    "minus": "\N{HEAVY MINUS SIGN}",
    "question": "❓",
    "light-on": "💡",
    "light-off": "💡",
    "yellow-star": "⭐",
    "red-star": "⭐",
    "green-star": "⭐",
    "blue-star": "⭐",
    "heart": "❤",
    "broken-heart": "💔",
}


def write_emoticon(element: etree._Element, out: Writer) -> None:
    """Write an emoticon as a character, else as its name between colons."""
    name = attribute(element, "ac:name")
    shown = attribute(element, "ac:emoji-fallback")
    short = attribute(element, "ac:emoji-shortname") or (f":{name}:" if name else "")
    out.text(shown if shown and not shown.startswith(":") else _SIGNS.get(name, short))


def write_task_list(element: etree._Element, out: Writer) -> None:
    """Write a task list as a list; nested lists go below the preceding task."""
    with out.element("ul"):
        for child in children_named(element, "ac:task", "ac:task-list"):
            out.write(child)


def write_task(element: etree._Element, out: Writer) -> None:
    """Write a task with a check box, ticked when it is done."""
    status = child_named(element, "ac:task-status")
    done = status is not None and all_text(status).strip() == "complete"
    with out.element("li"):
        out.text("[x] " if done else "[ ] ")
        for part in children_named(element, "ac:task-body"):
            out.inside(part)


def write_adf_extension(element: etree._Element, out: Writer) -> None:
    """Write an ADF element, or else its fallback; never both."""
    for node in children_named(element, "ac:adf-node"):
        if any(all_text(part).strip() for part in node.iter("{ac}adf-content")):
            out.write(node)
            return
    for fallback in children_named(element, "ac:adf-fallback"):
        out.inside(fallback)


def write_adf_node(element: etree._Element, out: Writer) -> None:
    """Write a panel as a quote, decisions as a list, anything else without its form."""
    tag = _TAGS.get(attribute(element, "type") or attribute(element, "ac:type"))
    if tag is None:
        _write_content(element, out)
        return
    with out.element(tag):
        _write_content(element, out)


def _write_content(element: etree._Element, out: Writer) -> None:
    for child in children_named(element, "ac:adf-content", "ac:adf-node"):
        out.write(child)


_TAGS = {
    "panel": "blockquote",
    "decision-list": "ul",
    "decisionList": "ul",
    "decision-item": "li",
    "decisionItem": "li",
}


_KEPT = frozenset(
    """
    href colspan rowspan start value class style hidden role aria-hidden color bgcolor
    data-highlight-colour
    """.split()
)
_DROPPED = frozenset(
    """
    ac:placeholder ac:parameter ac:default-parameter ac:adf-mark ac:adf-attribute ac:adf-fallback
    ac:task-id ac:task-uuid ac:task-status ac:caption
    """.split()
)


def write_element(element: etree._Element, out: Writer) -> None:
    """Write one element and its content."""
    name = name_of(element)
    rule = _RULES.get(name)
    if rule is not None:
        rule(element, out)
    elif name in _DROPPED or name.startswith("ri:"):
        return
    elif ":" in name:
        out.inside(element)
    elif name:
        out.copy(element, _attributes(element))


def _attributes(element: etree._Element) -> dict[str, str]:
    return {name: value for name, value in _write_given(element) if name in _KEPT}


def _write_given(element: etree._Element) -> Iterable[tuple[str, str]]:
    return ((str(name), str(value)) for name, value in element.items())


def _write_date(element: etree._Element, out: Writer) -> None:
    out.text(all_text(element).strip() or element.get("datetime"))


def _write_block(element: etree._Element, out: Writer) -> None:
    with out.element("div"):
        out.inside(element)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(MACRO_TAGS, write_macro),
    **dict.fromkeys(("ac:layout", "ac:layout-section", "ac:layout-cell"), _write_block),
    "ac:adf-extension": write_adf_extension,
    "ac:adf-node": write_adf_node,
    "ac:emoticon": write_emoticon,
    "ac:image": write_image,
    "ac:link": write_link,
    "ac:task": write_task,
    "ac:task-list": write_task_list,
    "time": _write_date,
}


def needs(storage: str, space: str = "") -> Needs:
    """Return a page's references; ``space`` is its space's key.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    return needs_of(parse(storage).root, space)


def convert(storage: str, resolve: Resolve) -> Converted:
    """Return the blocks of a page, with its references resolved.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    out = Writer(resolve, write_element)
    try:
        notes = _writer_notes(storage, out)
        blocks = blocks_in(out.root())
    except RecursionError as error:
        raise PageUnreadable("is nested too deeply") from error
    return Converted(
        blocks=blocks,
        unknown_macros=dict(sorted(out.unknown.items())),
        included=tuple(out.included),
        notes=(*notes, *out.notes),
    )


def _writer_notes(storage: str, out: Writer) -> tuple[str, ...]:
    """Write a page and return the notes about it; the output of the writer is discarded."""
    parsed = parse(storage)
    out.text(parsed.root.text)
    for element in parsed.root:
        out.write(element)
        out.text(element.tail)
        element.clear()
    return parsed.notes
