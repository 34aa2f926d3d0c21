"""Parse storage format as XML to a tree: no network, only character entities, bounded. Pure.

Malformed markup is repaired without losing its text: end tags are matched, stray characters
escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html.entities import html5
from io import StringIO

from lxml import etree

from ingestion.errors import PageUnreadable

# Possessive quantifiers throughout: a mismatch fails at once, so time stays linear.
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*+(?::[A-Za-z_][A-Za-z0-9_.-]*+)?+"
_ATTRIBUTE = re.compile(
    rf"({_NAME})(?:\s*+=\s*+(?:\"([^\"<]*+)\"|'([^'<]*+)'|([^\s\"'<>=]++)))?+", re.ASCII
)
_MARKUP_TOKENS = re.compile(
    rf"<!\[CDATA\[.*?\]\]>|<(/?)({_NAME})((?:\"[^\"<]*+\"|'[^'<]*+'|[^<>\"']++)*+)>|[<>]",
    re.DOTALL | re.ASCII,
)
_LOOSE = {"<": "&lt;", ">": "&gt;"}


def well_formed(markup: str) -> str:
    """Return the markup with each element closed where its parent ends, and nothing else closed.

    Anything that is no valid tag becomes text. Entities must be resolved beforehand.
    """
    written = StringIO()
    open_names: list[str] = []
    counts: Counter[str] = Counter()
    end = 0
    for match in _MARKUP_TOKENS.finditer(markup):
        written.write(markup[end : match.start()])
        written.write(_repaired_tag(match, open_names, counts))
        end = match.end()
    written.write(markup[end:])
    written.writelines(f"</{name}>" for name in reversed(open_names))
    return written.getvalue()


def _repaired_tag(match: re.Match[str], open_names: list[str], counts: Counter[str]) -> str:
    token, name = match[0], match[2]
    if not name:
        return _LOOSE.get(token, token)
    if match[1]:
        return _closing_tags(name, open_names, counts)
    attributes = match[3].rstrip()
    if attributes.endswith("/"):
        return f"<{name}{_attributes(attributes[:-1])}/>"
    open_names.append(name)
    counts[name] += 1
    return f"<{name}{_attributes(attributes)}>"


def _closing_tags(name: str, open_names: list[str], counts: Counter[str]) -> str:
    """Return end tags for everything open inside ``name``, or "" where ``name`` is not open."""
    if not counts[name]:
        return ""
    ends = []
    while True:
        last = open_names.pop()
        counts[last] -= 1
        ends.append(f"</{last}>")
        if last == name:
            return "".join(ends)


def _attributes(written: str) -> str:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(written):
        value = next((each for each in match.groups()[1:] if each is not None), match[1])
        found.setdefault(match[1], value.replace('"', "&quot;"))
    return "".join(f' {name}="{value}"' for name, value in found.items())


MOST_CHARACTERS = 10_000_000
MOST_TAGS = 600_000
"""Limit of start and end tags; a page of 5 MB has about 400,000."""

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
    """The root element of a page's content, and notes about malformed markup."""

    root: etree._Element
    notes: tuple[str, ...] = ()


def parse(storage: str) -> Parsed:
    """Return the tree of a text in storage format; malformed markup is parsed as far as possible.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    if len(storage) > MOST_CHARACTERS or storage.count("<") > MOST_TAGS:
        raise PageUnreadable(
            f"is too large ({len(storage)} of at most {MOST_CHARACTERS} characters, "
            f"{storage.count('<')} of at most {MOST_TAGS} tags); split it"
        )
    head = _HEAD.match(storage)
    text = storage[head.end() :] if head else storage
    visible = xml_text(text)
    notes = [_DOCTYPE] * bool(head and head[1]) + [_CONTROLS] * (visible != text)
    markup = _TOKENS.sub(_xml_token, visible)
    del text, visible
    root, trouble = _tree(markup)
    if trouble:
        del root
        root, _ = _tree(well_formed(markup))
        notes.append(trouble)
    return Parsed(root, tuple(notes))


def xml_text(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _NOT_XML.sub("", text)


def _tree(markup: str) -> tuple[etree._Element, str]:
    """Return the tree, and a note about what was not well-formed."""
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
    return etree.Element("r") if root is None else root, _parse_errors(parser)


def _xml_token(match: re.Match[str]) -> str:
    """Return a token without entities; a stray ``&``, ``<!`` or unclosed tag is repaired."""
    found = match[0]
    if found.startswith("<![CDATA["):
        return found if found.endswith("]]>") else f"{found}]]>"
    if found.startswith("<!"):
        return "" if found.startswith("<!--") else "&lt;!"
    name = match[1]
    if not name or name in _XML_OWN:
        return found if name else "&amp;"
    return _numbered_entity(name) if name.startswith("#") else _named_entity(name)


def _named_entity(name: str) -> str:
    found = html5.get(name)
    return _escaped(found) if found else f"&amp;{name}"


def _numbered_entity(name: str) -> str:
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


def _parse_errors(parser: etree.XMLParser) -> str:
    """Return the parser's errors, except those about undeclared prefixes."""
    if any("depth" in entry.message for entry in parser.error_log):
        raise PageUnreadable("is nested too deeply")
    errors = [entry for entry in parser.error_log if entry.domain_name != "NAMESPACE"]
    if not errors:
        return ""
    first = errors[0]
    column = first.column - len(_OPENING) if first.line == 1 else first.column
    place = f"line {first.line}, character {max(column, 1)}"
    return f"is not well-formed at {place}; it was mended"
