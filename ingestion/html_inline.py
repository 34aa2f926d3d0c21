"""Running text of an HTML element: emphasis gone, links spelled out, code in backticks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from lxml import etree

from ingestion.text import clean

DROPPED = frozenset(
    """
    script style noscript template head nav iframe object embed applet canvas svg video audio map
    select textarea input datalist source track param meta link base dialog
    """.split()
)
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?:\.0+)?\s*(?:[a-z%;]|$)",
    re.IGNORECASE,
)
_WHITE = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAK = re.compile(r" *\n *")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")


def hidden(element: etree._Element) -> bool:
    """Whether a browser shows nothing of the element."""
    if not is_tag(element) or element.tag in DROPPED:
        return True
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return _HIDDEN_STYLE.search(element.get("style") or "") is not None


def is_tag(element: etree._Element) -> bool:
    """Whether a node is an element, and no comment or processing instruction."""
    tag: object = element.tag
    return isinstance(tag, str)


def all_text(element: etree._Element) -> str:
    """Return every character inside an element."""
    return "".join(str(text) for text in element.itertext())


def tidy(text: str) -> str:
    """Collapse white space; a newline that is left is one the reader sees."""
    return _AROUND_BREAK.sub("\n", re.sub(r"[ \t]+", " ", clean(text))).strip()


def white(text: str | None) -> str:
    """Return a text node with its white space as HTML means it."""
    return _WHITE.sub(" ", text or "")


def inline(element: etree._Element) -> str:
    """Return what an element and its children say, not yet tidied, its tail left out."""
    if hidden(element):
        return ""
    tag = str(element.tag)
    if tag == "br":
        return "\n"
    if tag in {"code", "tt", "samp"} and next(element.iterancestors("pre"), None) is None:
        return _code(all_text(element))
    inside = children(element)
    marked = _MARKED.get(tag)
    return marked(element, inside) if marked else inside


def children(element: etree._Element) -> str:
    """Return the element's own text and that of its children."""
    parts = [white(element.text)]
    for child in element:
        parts.append(inline(child))
        parts.append(white(child.tail))
    return "".join(parts)


def alternatives(element: etree._Element) -> str:
    """Return the texts that stand for the images inside."""
    alts = (image.get("alt") or "" for image in element.iter("img"))
    return " ".join(" ".join(alt.split()) for alt in alts if alt.strip())


def code_span(text: str) -> str:
    """Return text in as many backticks as it needs."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def link(text: str, target: str) -> str:
    """Return a link as text that keeps where it leads, if that says something."""
    shown = text.strip()
    if not shown:
        return text
    target = target.strip()
    if re.match(r"https?://\S", target, re.IGNORECASE) and not re.search(r"\s", target):
        return target if _same(shown, target) else _around(text, "", f" ({target})")
    if target.lower().startswith("mailto:"):
        address = unquote(target[7:].partition("?")[0]).strip()
        if address and address.lower() not in shown.lower():
            return _around(text, "", f" ({address})")
    return text


def _link(element: etree._Element, inside: str) -> str:
    target = element.get("href") or ""
    if target.startswith("#") and inside.strip() in {"¶", "#", "§", "🔗", "↩", "↩︎"}:
        return ""
    return link(inside if inside.strip() else alternatives(element), target)


def _same(text: str, target: str) -> bool:
    return _bare(text) == _bare(target)


def _bare(address: str) -> str:
    return re.sub(r"^https?://", "", address, flags=re.IGNORECASE).rstrip("/").lower()


def _around(text: str, before: str, after: str) -> str:
    """Put marks around text, inside its outer white space."""
    shown = text.strip()
    if not shown:
        return text
    start = text.index(shown)
    return text[:start] + before + shown + after + text[start + len(shown) :]


def _raised(element: etree._Element, inside: str) -> str:
    """Keep 10⁶ from reading as 106; a mark that leads to a footnote goes."""
    shown = inside.strip()
    if any((anchor.get("href") or "").startswith("#") for anchor in element.iter("a")):
        return ""
    if re.fullmatch(r"\[\d+\]", shown):
        return ""
    if re.fullmatch(r"[-+]?\d{1,4}|n", shown):
        return shown.translate(_RAISED)
    return inside


def _code(text: str) -> str:
    text = " ".join(text.split())
    return code_span(text) if text else ""


def _struck(_element: etree._Element, inside: str) -> str:
    return _around(inside, "~~", "~~")


_MARKED: dict[str, Callable[[etree._Element, str], str]] = {
    "a": _link,
    "s": _struck,
    "del": _struck,
    "strike": _struck,
    "q": lambda _element, inside: _around(inside, "\u201c", "\u201d"),
    "sup": _raised,
}
