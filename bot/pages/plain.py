"""A person's own words as HTML: text with its line breaks, and plain https links that work."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from markupsafe import Markup, escape

_LINK = re.compile(r"https://[^\s<>\"'`\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_ANCHOR = Markup('<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>')
_ENDING = ".,;:!?)]}"
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""What is not shown, and what turns the direction of the text around it."""


def plain_html(text: str) -> Markup:
    """Return text as HTML; its line breaks need ``white-space: pre-wrap``.

    Only https addresses become links, and each shows where it leads: none is linked that has a
    user before the host, which would look like another's.
    """
    seen = _UNSEEN.sub("", text.replace("\r\n", "\n"))
    parts: list[Markup] = []
    end = 0
    for found in _LINK.finditer(seen):
        address = found.group().rstrip(_ENDING)
        if not _leads_where_it_says(address):
            continue
        parts += [escape(seen[end : found.start()]), _link(address)]
        end = found.start() + len(address)
    return Markup("").join([*parts, escape(seen[end:])])


def _leads_where_it_says(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.netloc.isascii() and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _link(address: str) -> Markup:
    return _ANCHOR.format(address)
