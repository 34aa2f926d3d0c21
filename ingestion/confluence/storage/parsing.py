"""Storage format to a tree, as XML: no network, no entities but characters, bounded. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.entities import html5

from lxml import etree

from ingestion.confluence.storage.mending import mended
from ingestion.errors import PageUnreadable

MOST_CHARACTERS = 10_000_000
MOST_TAGS = 600_000
"""Opening and closing ones; a page of 5 MB has about 400,000."""

_PREFIXES = {"ac": "ac", "ri": "ri", "at": "at"}
_OPENING = "<r " + " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in _PREFIXES.items()) + ">"
_HEAD = re.compile(
    r"\A\s*(?:<\?xml[^>]*\?>\s*)?(<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>)?", re.IGNORECASE
)
_TOKENS = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<!(?=[A-Za-z])|&(#?[A-Za-z0-9]{1,40};)?",
    re.DOTALL,
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_OWN = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_LAST = 0x10FFFF
_CONTROLS = "characters that nobody can see were left out"
_DOCTYPE = "a document type was left out"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The element that holds a page's content, and what was odd about it."""

    root: etree._Element
    notes: tuple[str, ...] = ()


def parse(storage: str) -> Parsed:
    """Return the tree of a text in storage format; what is malformed is read as far as it goes.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    if len(storage) > MOST_CHARACTERS or storage.count("<") > MOST_TAGS:
        raise PageUnreadable(
            f"is too large ({len(storage)} characters, {storage.count('<')} tags; "
            f"at most {MOST_CHARACTERS} and {MOST_TAGS}); split it"
        )
    head = _HEAD.match(storage)
    text = storage[head.end() :] if head else storage
    visible = xml_text(text)
    notes = [_DOCTYPE] * bool(head and head[1]) + [_CONTROLS] * (visible != text)
    markup = _without_entities(visible)
    del text, visible
    root, trouble = _tree(markup)
    if trouble:
        del root
        root, _ = _tree(mended(markup))
        notes.append(trouble)
    return Parsed(root, tuple(notes))


def xml_text(text: str) -> str:
    """Return a text without the characters that XML does not know."""
    return _NOT_XML.sub("", text)


def _tree(markup: str) -> tuple[etree._Element, str]:
    """Return the tree, and what was not well-formed."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
        strip_cdata=True,
    )
    root = etree.fromstring(f"{_OPENING}{markup}</r>".encode(), parser)
    return etree.Element("r") if root is None else root, _trouble(parser)


def _without_entities(text: str) -> str:
    return _TOKENS.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    """Return a token without entities; a loose ``&``, ``<!`` or an open end is mended."""
    found = match[0]
    if found.startswith("<![CDATA["):
        return found if found.endswith("]]>") else f"{found}]]>"
    if found.startswith("<!"):
        return "" if found.startswith("<!--") else "&lt;!"
    name = match[1]
    if not name or name in _XML_OWN:
        return found if name else "&amp;"
    return _number(name) if name.startswith("#") else _named(name)


def _named(name: str) -> str:
    found = html5.get(name)
    return _escaped(found) if found else f"&amp;{name}"


def _number(name: str) -> str:
    hexadecimal = name[1] in "xX"
    digits, kind = (name[2:-1], 16) if hexadecimal else (name[1:-1], 10)
    if not re.fullmatch("[0-9A-Fa-f]+" if hexadecimal else "[0-9]+", digits):
        return f"&amp;{name}"
    number = int(digits, kind)
    return _escaped(xml_text(chr(number))) if number <= _LAST else ""


def _escaped(text: str) -> str:
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )


def _trouble(parser: etree.XMLParser) -> str:
    """Return what the parser could not take, but for prefixes that nobody declared."""
    if any("depth" in entry.message for entry in parser.error_log):
        raise PageUnreadable("is nested too deeply")
    errors = [entry for entry in parser.error_log if entry.domain_name != "NAMESPACE"]
    if not errors:
        return ""
    first = errors[0]
    column = first.column - len(_OPENING) if first.line == 1 else first.column
    place = f"line {first.line}, character {max(column, 1)}"
    return f"is not well-formed at {place}; it was mended"
