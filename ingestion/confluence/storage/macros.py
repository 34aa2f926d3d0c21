"""Write the content of macros: callouts, code, excerpts, included pages, page properties. Pure.

Page properties are tables of names and values, written as lines "name: value".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lxml import etree

from ingestion.confluence.storage.links import (
    file_of,
    included,
    link_target,
    may_be_followed,
    user_of,
    write_mention,
)
from ingestion.confluence.storage.parsing import parse
from ingestion.confluence.storage.writer import (
    PageRef,
    Rule,
    Writer,
    body,
    children_named,
    is_macro,
    macro_name,
    name_of,
    parameter,
    parameters,
    plain_body,
)
from ingestion.documents.html_elements import all_text
from ingestion.errors import PageUnreadable

DEEPEST = 2
"""Depth to which includes within included pages are shown; deeper ones are links."""


def write_include(macro: etree._Element, out: Writer) -> None:
    """Write the text of another page, or a link to it where its text is unavailable."""
    page = included(macro, out.here.space)
    if page is None:
        out.note("an include names no page")
        return
    parts = _included_elements(macro, page, out)
    if parts is None:
        with out.element("p"):
            out.link(page.title, out.resolve.pages.get(page))
        return
    with out.reading(page, out.resolve.includes[page]):
        for part in parts:
            with out.element("div"):
                out.inside(part)


def _included_elements(
    macro: etree._Element, page: PageRef, out: Writer
) -> list[etree._Element] | None:
    """Return the included elements; None, with a note, where only a link is written."""
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
    return _chosen_excerpts(root, parameter(macro, "name"))


def _chosen_excerpts(root: etree._Element, name: str) -> list[etree._Element]:
    """Return the excerpt of that name, else the first one, as Confluence does."""
    excerpts = list(_excerpts(root))
    named = [one for one in excerpts if name and parameter(one, "name") == name]
    bodies = (body(one) for one in (named or excerpts)[:1])
    return [one for one in bodies if one is not None]


def _excerpts(root: etree._Element) -> Iterator[etree._Element]:
    return (each for each in root.iter() if is_macro(each) and macro_name(each) == "excerpt")


_TABLE_PARTS = ("thead", "tbody", "tfoot")
_PAIR = 2


def write_details(macro: etree._Element, out: Writer) -> None:
    """Write the macro's body, its property tables as lists of properties."""
    found = body(macro)
    if found is None:
        return
    out.text(found.text)
    for child in found:
        pairs = _pairs(child) if child.tag == "table" else []
        if pairs:
            _listed(pairs, out)
        else:
            out.write(child)
        out.text(child.tail)


def _listed(pairs: list[tuple[etree._Element, etree._Element]], out: Writer) -> None:
    with out.element("dl"):
        for name, value in pairs:
            with out.element("dt"):
                out.inside(name)
            with out.element("dd"):
                out.inside(value)


def _pairs(table: etree._Element) -> list[tuple[etree._Element, etree._Element]]:
    """Return names and values from rows or columns; empty for any other table."""
    rows = [list(children_named(row, "td", "th")) for row in _rows(table)]
    if rows and all(len(row) == _PAIR and row[0].tag == "th" != row[1].tag for row in rows):
        return [(row[0], row[1]) for row in rows]
    if len(rows) == _PAIR and _are_names(rows[0]) and len(rows[0]) == len(rows[1]):
        return list(zip(*rows, strict=True))
    return []


def _are_names(row: list[etree._Element]) -> bool:
    return bool(row) and all(cell.tag == "th" for cell in row)


def _rows(table: etree._Element) -> list[etree._Element]:
    parts = [table, *children_named(table, *_TABLE_PARTS)]
    return [row for part in parts for row in children_named(part, "tr")]


_LABELS = {"info": "Info", "note": "Note", "tip": "Tip", "warning": "Warning"}
_NO_LANGUAGE = frozenset({"none", "text", "plain", "plaintext"})
_DROPPED = frozenset(
    """
    anchor attachments blog-posts change-history children content-report-table contentbylabel
    contributors contributors-summary create-from-template detailssummary favpages gallery
    global-reports index labels-list listlabels livesearch navmap network pagetree pagetreesearch
    popular-labels profile-picture recently-updated recently-updated-dashboard recently-used-labels
    related-labels search space-attachments space-details spaces tasks-report-macro toc userlister
    """.split()
)
_UNWRAPPED = frozenset("section column toc-zone div span center excerpt-body".split())


def write_macro(element: etree._Element, out: Writer) -> None:
    """Write a macro; one without a rule is counted and its text kept."""
    name = macro_name(element)
    rule = _RULES.get(name)
    if rule is not None:
        rule(element, out)
        return
    out.unknown[name or "without a name"] += 1
    _unknown(element, out)


def _unknown(element: etree._Element, out: Writer) -> None:
    found = body(element)
    if found is not None and name_of(found) == "ac:plain-text-body":
        out.paragraph(parameter(element, "title"))
        out.lines(plain_body(element))
    else:
        # The class says that its colours are not known.
        with out.element("div", {"class": "macro"}):
            _titled(element, out)


def _titled(element: etree._Element, out: Writer) -> None:
    """Write a title in bold, then the body."""
    title = parameter(element, "title", "label")
    if title:
        with out.element("p"), out.element("strong"):
            out.text(title)
    with out.element("div"):
        out.body(element)


def _html(element: etree._Element, out: Writer) -> None:
    """Write the elements of an HTML macro, not its markup: what they hide stays hidden."""
    with out.element("div"):
        out.inside(parse(plain_body(element)).root)


def _unwrapped(element: etree._Element, out: Writer) -> None:
    out.body(element)


def _callout(element: etree._Element, out: Writer) -> None:
    with out.element("blockquote"):
        out.paragraph(parameter(element, "title") or _LABELS.get(macro_name(element), ""))
        out.body(element)


def _code(element: etree._Element, out: Writer) -> None:
    language = "".join(re.findall(r"[A-Za-z0-9_+#-]", parameter(element, "language").lower()))
    named = "" if macro_name(element) == "noformat" or language in _NO_LANGUAGE else language
    out.paragraph(parameter(element, "title"))
    out.code(plain_body(element), named)


def _drawn(element: etree._Element, out: Writer) -> None:
    """Write a diagram whose source is text."""
    text = plain_body(element)
    if text.strip():
        out.code(text, macro_name(element).removesuffix("-macro"))


def _excerpt(element: etree._Element, out: Writer) -> None:
    if parameter(element, "hidden").lower() != "true":
        out.body(element)


def _status(element: etree._Element, out: Writer) -> None:
    title = parameter(element, "title") or parameter(element, "colour", "color")
    if title:
        out.text(f"[{title}]")


def _jira(element: etree._Element, out: Writer) -> None:
    key = parameter(element, "key", "issuekey")
    query = parameter(element, "jqlquery", "jql")
    out.text(key or (f"[Jira: {query}]" if query else ""))


def _formula(element: etree._Element, out: Writer) -> None:
    text = " ".join((plain_body(element) or parameter(element, "body", "")).split())
    if text:
        with out.element("code"):
            out.text(text)


def _formula_block(element: etree._Element, out: Writer) -> None:
    out.code(plain_body(element) or parameter(element, "body", ""), "latex")


def _file(element: etree._Element, out: Writer) -> None:
    """Write the name of an embedded file, linked to its URL."""
    for one in parameters(element, "name", "", "file", "filename"):
        for each in one.iter():
            file = file_of(each, out.here.space)
            if file:
                out.link(f"[File: {file.name}]", out.url_of(file))
                return
    name = parameter(element, "name", "file", "filename", "")
    if name:
        out.text(f"[File: {name}]")


def _diagram(element: etree._Element, out: Writer) -> None:
    name = parameter(element, "diagramname", "diagramdisplayname", "name", "title")
    if name:
        out.text(f"[Diagram: {name}]")


def _address(element: etree._Element, out: Writer) -> None:
    """Write content embedded from another site as a link."""
    for one in parameters(element, "url", "src", "link", ""):
        targets = [each for each in one if name_of(each).startswith("ri:")]
        shown, url = link_target(targets[0], out) if targets else (None, all_text(one).strip())
        if url and may_be_followed(url):
            with out.element("p"):
                out.link(parameter(element, "title", "label") or shown or url, url)
            return


def _profile(element: etree._Element, out: Writer) -> None:
    for one in parameters(element, "user", ""):
        for each in one.iter():
            person = user_of(each)
            if person:
                write_mention(person, out)
                return


def _sheet(_element: etree._Element, out: Writer) -> None:
    """Write an empty style sheet: the page has one, so its colours are not known."""
    with out.element("style"):
        pass


def _dropped(_element: etree._Element, _out: Writer) -> None:
    """Write nothing: the macro is navigation, or generated from other pages."""


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_DROPPED, _dropped),
    **dict.fromkeys(_UNWRAPPED, _unwrapped),
    **dict.fromkeys((*_LABELS, "panel", "success", "error", "ui-panel"), _callout),
    **dict.fromkeys(("expand", "ui-expand", "ui-tab", "localtab", "tab", "card"), _titled),
    **dict.fromkeys(("ui-tabs", "localtabgroup", "deck", "tabs-group"), _unwrapped),
    **dict.fromkeys(("code", "noformat", "code-block"), _code),
    **dict.fromkeys(("plantuml", "mermaid", "mermaid-macro", "graphviz"), _drawn),
    **dict.fromkeys(("include", "excerpt-include"), write_include),
    **dict.fromkeys(("jira", "jiraissues"), _jira),
    **dict.fromkeys(("mathinline", "eazy-math-inline", "easy-math-inline"), _formula),
    **dict.fromkeys(
        ("mathblock", "math", "latex", "eazy-math-block", "easy-math-block"), _formula_block
    ),
    **dict.fromkeys("view-file viewpdf viewdoc viewxls viewppt viewfile multimedia".split(), _file),
    **dict.fromkeys(("drawio", "gliffy", "lucidchart", "drawio-sketch", "inc-drawio"), _diagram),
    **dict.fromkeys(("widget", "iframe", "ui-button", "button"), _address),
    "details": write_details,
    "excerpt": _excerpt,
    "html": _html,
    "profile": _profile,
    "status": _status,
    "style": _sheet,
}
