"""Makes markup well-formed without losing its text: ends are matched, loose signs escaped. Pure."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO

# Possessive throughout: what does not match fails at once, so that time stays linear.
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*+(?::[A-Za-z_][A-Za-z0-9_.-]*+)?+"
_ATTRIBUTE = re.compile(
    rf"({_NAME})(?:\s*+=\s*+(?:\"([^\"<]*+)\"|'([^'<]*+)'|([^\s\"'<>=]++)))?+", re.ASCII
)
_TOKENS = re.compile(
    rf"<!\[CDATA\[.*?\]\]>|<(/?)({_NAME})((?:\"[^\"<]*+\"|'[^'<]*+'|[^<>\"']++)*+)>|[<>]",
    re.DOTALL | re.ASCII,
)
_LOOSE = {"<": "&lt;", ">": "&gt;"}


def mended(markup: str) -> str:
    """Return the markup with each element closed where its parent ends, and nothing else closed.

    What looks like no tag is text. Entities must be resolved beforehand.
    """
    written = StringIO()
    open_names: list[str] = []
    counts: Counter[str] = Counter()
    end = 0
    for match in _TOKENS.finditer(markup):
        written.write(markup[end : match.start()])
        written.write(_written(match, open_names, counts))
        end = match.end()
    written.write(markup[end:])
    written.writelines(f"</{name}>" for name in reversed(open_names))
    return written.getvalue()


def _written(match: re.Match[str], open_names: list[str], counts: Counter[str]) -> str:
    token, name = match[0], match[2]
    if not name:
        return _LOOSE.get(token, token)
    if match[1]:
        return _closed(name, open_names, counts)
    attributes = match[3].rstrip()
    if attributes.endswith("/"):
        return f"<{name}{_attributes(attributes[:-1])}/>"
    open_names.append(name)
    counts[name] += 1
    return f"<{name}{_attributes(attributes)}>"


def _closed(name: str, open_names: list[str], counts: Counter[str]) -> str:
    """Return the ends of all that is open inside ``name``, or nothing where it is not open."""
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
