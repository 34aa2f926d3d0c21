"""Task lists, decisions and what else Cloud's editor keeps in its own form. Pure."""

from __future__ import annotations

from lxml import etree

from ingestion.confluence.storage.elements import attribute, child_named, children_named
from ingestion.confluence.storage.writer import Writer
from ingestion.html_inline import all_text


def task_list(element: etree._Element, out: Writer) -> None:
    """Write a task list as a list; lists inside it hang below the task before."""
    with out.element("ul"):
        for child in children_named(element, "ac:task", "ac:task-list"):
            out.write(child)


def task(element: etree._Element, out: Writer) -> None:
    """Write a task with a box, ticked when it is done."""
    status = child_named(element, "ac:task-status")
    done = status is not None and all_text(status).strip() == "complete"
    with out.element("li"):
        out.text("[x] " if done else "[ ] ")
        for part in children_named(element, "ac:task-body"):
            out.inside(part)


def adf_extension(element: etree._Element, out: Writer) -> None:
    """Write what the editor keeps in its own form, or else what stands for it; never both."""
    for node in children_named(element, "ac:adf-node"):
        if any(all_text(part).strip() for part in node.iter("{ac}adf-content")):
            out.write(node)
            return
    for fallback in children_named(element, "ac:adf-fallback"):
        out.inside(fallback)


def adf_node(element: etree._Element, out: Writer) -> None:
    """Write a panel as a quote, decisions as a list, anything else as it comes."""
    tag = _TAGS.get(attribute(element, "type") or attribute(element, "ac:type"))
    if tag is None:
        _content(element, out)
        return
    with out.element(tag):
        _content(element, out)


def _content(element: etree._Element, out: Writer) -> None:
    for child in children_named(element, "ac:adf-content", "ac:adf-node"):
        out.write(child)


_TAGS = {
    "panel": "blockquote",
    "decision-list": "ul",
    "decisionList": "ul",
    "decision-item": "li",
    "decisionItem": "li",
}
