"""A message as the rules see it: no mentions, no emoji, one spelling of everything."""

from __future__ import annotations

import re
import unicodedata

_MENTION = re.compile(
    r"<[@!#][^<>\s]{1,80}>|<at\b[^>]{0,200}>[^<]{0,200}</at>|(?<!\S)@\w[\w.'-]*(?:\u00a0[^\s@]+){0,5}",
    re.IGNORECASE,
)
"""A name of several words has no-break spaces between them."""

_EMOJI_NAME = re.compile(r"(?<!\S):[a-z0-9_+-]{2,40}:(?!\S)")
_APOSTROPHE = re.compile(r"['`\u00b4\u2018\u2019\u02bc]")
_CLAUSE_END = re.compile(r"[.!?;:,\n()\u3002\uff01\uff1f\u2026\u2014]+|\s-+\s")
_LONG_RUN = re.compile(r"([^\W\d_])\1{2,}")
_QUESTION = "?"


def without_mentions(text: str) -> str:
    """Return the text without platform mentions; everything else stays as written."""
    return _MENTION.sub(" ", text).strip()


def plain(text: str) -> str:
    """Return lower-case words with single spaces, clauses apart by ``" . "`` or ``" ? "``.

    Mentions, emoji, apostrophes, accents and invisible characters are gone, so that what looks
    alike is alike. Empty when the message says nothing.
    """
    text = _EMOJI_NAME.sub(" ", without_mentions(_letters(without_mentions(text))))
    text = _APOSTROPHE.sub("", text.casefold())
    text = _CLAUSE_END.sub(_mark, text)
    words = (_word(part) for part in text.split())
    return " ".join(word for word in words if word).strip(" .?")


def clauses(plain_text: str) -> list[str]:
    """Split what ``plain`` returned into its clauses."""
    return [part for part in (p.strip() for p in re.split(r"[.?]", plain_text)) if part]


def shortened(plain_text: str) -> str:
    """Return it with drawn-out letters said once: "hiiii" is "hi"."""
    return _LONG_RUN.sub(r"\1", plain_text)


def _letters(text: str) -> str:
    """Drop accents of Latin letters and whatever is neither letter, number nor punctuation."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if not _unseen(c))
    return unicodedata.normalize("NFC", kept)


def _unseen(character: str) -> bool:
    if character in "\n\t":
        return False
    latin_accent = "\u0300" <= character <= "\u036f"
    return latin_accent or unicodedata.category(character) in {"Cf", "Cc", "So", "Sk", "Cs", "Co"}


def _mark(match: re.Match[str]) -> str:
    return f" {_QUESTION} " if "?" in match[0] or "\uff1f" in match[0] else " . "


def _word(part: str) -> str:
    if part in {".", _QUESTION}:
        return part
    return part.strip('"*_~#<>[]{}|\\/=+^%&$-\u201c\u201d\u00ab\u00bb\u00bf\u00a1')
