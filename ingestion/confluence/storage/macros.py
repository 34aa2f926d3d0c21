"""What each macro shows. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree

from ingestion.confluence.storage.elements import (
    body,
    macro_name,
    name_of,
    parameter,
    parameters,
    plain_body,
)
from ingestion.confluence.storage.includes import include
from ingestion.confluence.storage.links import leads_to, may_be_followed, mention
from ingestion.confluence.storage.properties import details
from ingestion.confluence.storage.references import file_of, user_of
from ingestion.confluence.storage.writer import Rule, Writer
from ingestion.html_inline import all_text

_LABELS = {"info": "Info", "note": "Note", "tip": "Tip", "warning": "Warning"}
_NO_LANGUAGE = frozenset({"none", "text", "plain", "plaintext"})
_DROPPED = frozenset(
    """
    anchor attachments blog-posts change-history children content-report-table contentbylabel
    contributors contributors-summary create-from-template detailssummary favpages gallery
    global-reports index labels-list listlabels livesearch navmap network pagetree pagetreesearch
    popular-labels profile-picture recently-updated recently-updated-dashboard recently-used-labels
    related-labels search space-attachments space-details spaces style tasks-report-macro toc
    userlister
    """.split()
)
_UNWRAPPED = frozenset("section column toc-zone div span center excerpt-body".split())


def macro(element: etree._Element, out: Writer) -> None:
    """Write what a macro shows; what has no rule is counted, its text kept."""
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
        _titled(element, out)


def _titled(element: etree._Element, out: Writer) -> None:
    """Write a title in bold, then the body."""
    title = parameter(element, "title", "label")
    if title:
        with out.element("p"), out.element("strong"):
            out.text(title)
    with out.element("div"):
        out.body(element)


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
    """Write a diagram that is kept as text."""
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
    """Write the name of a file that the page shows, with where it is."""
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
    """Write what is embedded from elsewhere as a link."""
    for one in parameters(element, "url", "src", "link", ""):
        targets = [each for each in one if name_of(each).startswith("ri:")]
        shown, url = leads_to(targets[0], out) if targets else (None, all_text(one).strip())
        if url and may_be_followed(url):
            with out.element("p"):
                out.link(parameter(element, "title", "label") or shown or url, url)
            return


def _profile(element: etree._Element, out: Writer) -> None:
    for one in parameters(element, "user", ""):
        for each in one.iter():
            person = user_of(each)
            if person:
                mention(person, out)
                return


def _dropped(_element: etree._Element, _out: Writer) -> None:
    """Write nothing: it is navigation, or made of other pages."""


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_DROPPED, _dropped),
    **dict.fromkeys(_UNWRAPPED, _unwrapped),
    **dict.fromkeys((*_LABELS, "panel", "success", "error", "ui-panel"), _callout),
    **dict.fromkeys(("expand", "ui-expand", "ui-tab", "localtab", "tab", "card"), _titled),
    **dict.fromkeys(("ui-tabs", "localtabgroup", "deck", "tabs-group"), _unwrapped),
    **dict.fromkeys(("code", "noformat", "code-block"), _code),
    **dict.fromkeys(("plantuml", "mermaid", "mermaid-macro", "graphviz"), _drawn),
    **dict.fromkeys(("include", "excerpt-include"), include),
    **dict.fromkeys(("jira", "jiraissues"), _jira),
    **dict.fromkeys(("mathinline", "eazy-math-inline", "easy-math-inline"), _formula),
    **dict.fromkeys(
        ("mathblock", "math", "latex", "eazy-math-block", "easy-math-block"), _formula_block
    ),
    **dict.fromkeys("view-file viewpdf viewdoc viewxls viewppt viewfile multimedia".split(), _file),
    **dict.fromkeys(("drawio", "gliffy", "lucidchart", "drawio-sketch", "inc-drawio"), _diagram),
    **dict.fromkeys(("widget", "iframe", "ui-button", "button"), _address),
    "details": details,
    "excerpt": _excerpt,
    "profile": _profile,
    "status": _status,
}
