"""Each element of storage format as the HTML that says the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lxml import etree

from ingestion.confluence.storage.elements import MACRO_TAGS, name_of
from ingestion.confluence.storage.emoticons import emoticon
from ingestion.confluence.storage.images import image
from ingestion.confluence.storage.links import link
from ingestion.confluence.storage.macros import macro
from ingestion.confluence.storage.tasks import adf_extension, adf_node, task, task_list
from ingestion.confluence.storage.writer import Rule, Writer
from ingestion.html_inline import all_text

_KEPT = frozenset("href colspan rowspan start value class style hidden role".split())
_DROPPED = frozenset(
    """
    ac:placeholder ac:parameter ac:default-parameter ac:adf-mark ac:adf-attribute ac:adf-fallback
    ac:task-id ac:task-uuid ac:task-status ac:caption
    """.split()
)


def write(element: etree._Element, out: Writer) -> None:
    """Write one element and what is inside it."""
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
    return {name: value for name, value in _given(element) if name in _KEPT}


def _given(element: etree._Element) -> Iterable[tuple[str, str]]:
    return ((str(name), str(value)) for name, value in element.items())


def _date(element: etree._Element, out: Writer) -> None:
    out.text(all_text(element).strip() or element.get("datetime"))


def _block(element: etree._Element, out: Writer) -> None:
    with out.element("div"):
        out.inside(element)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(MACRO_TAGS, macro),
    **dict.fromkeys(("ac:layout", "ac:layout-section", "ac:layout-cell"), _block),
    "ac:adf-extension": adf_extension,
    "ac:adf-node": adf_node,
    "ac:emoticon": emoticon,
    "ac:image": image,
    "ac:link": link,
    "ac:task": task,
    "ac:task-list": task_list,
    "time": _date,
}
