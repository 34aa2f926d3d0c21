"""Emoticons as characters. Pure."""

from __future__ import annotations

from lxml import etree

from ingestion.confluence.storage.elements import attribute
from ingestion.confluence.storage.writer import Writer

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


def emoticon(element: etree._Element, out: Writer) -> None:
    """Write the character that is shown, else the name between colons."""
    name = attribute(element, "ac:name")
    shown = attribute(element, "ac:emoji-fallback")
    short = attribute(element, "ac:emoji-shortname") or (f":{name}:" if name else "")
    out.text(shown if shown and not shown.startswith(":") else _SIGNS.get(name, short))
