"""What somebody typed after a command, as an order; pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from bot.orders.types import (
    Ask,
    Everything,
    Help,
    Misunderstood,
    Order,
    PageAt,
    ReindexCancel,
    ReindexOrder,
    ReindexStatus,
    Settings,
    SpaceNamed,
    Spelling,
    Status,
    Target,
    Why,
)
from bot.orders.words import Word, shown, words_of

_ALONE: Mapping[str, Order] = {
    "help": Help(),
    "status": Status(),
    "why": Why(),
    "settings": Settings(),
}
_ALL = frozenset({"all", "everything", "*"})
_CANCEL = frozenset({"cancel", "stop"})
_DRY_RUN, _MASS_DELETE = "dryrun", "allowmassdelete"
_FLAGS = frozenset({_DRY_RUN, _MASS_DELETE})
_WHY_IN_WORDS = re.compile(
    r"/?why (?:(?:did (?:i|you) (?:get|give|give me|say) )?(?:this|that|the|the last|no)"
    r" (?:answer|reply)|a question back|a person)[ ?!.\u2026]*",
    re.IGNORECASE,
)
"""What the button below an answer is called, and what people write instead of pressing it."""

_MEANT = 0.85
"""From this likeness on a word is taken for a command with a slip in it."""

_LONGEST_COMMAND = 4
"""Words of a message that can still be nothing but a reindex command."""


def command_order(text: str, spelling: Spelling) -> Order | Misunderstood:
    """Read what follows the bot's own command: a word of its own, or else a question."""
    first, rest = _parted(text)
    if not first or asks_why(text):
        return Why() if first else Help()
    match _key(first):
        case "ask":
            return _question(rest, spelling)
        case "reindex":
            return reindex_order(rest, spelling)
        case key if not rest:
            return _ALONE.get(key) or _unknown(first, spelling)
        case key if difflib.get_close_matches(key, ["reindex"], cutoff=_MEANT):
            return Misunderstood(f"Did you mean {spelling.reindexing(_meant(rest))}?")
        case _:
            return Ask(text.strip())


def message_order(text: str, spelling: Spelling) -> Order | Misunderstood | None:
    """Read a message that may be a command; None for what is rather meant as a question.

    For platforms without commands of their own. "Why?" asks what anybody may ask; "/why" and "Why
    this answer?" do not.
    """
    written = text.strip()
    if asks_why(written):
        return Why()
    first, rest = _parted(written.removeprefix("/"))
    key = first.casefold()
    if key == "reindex":
        order = reindex_order(rest, spelling)
        many = len(text.split()) > _LONGEST_COMMAND
        return None if many and isinstance(order, Misunderstood) else order
    if rest or written.casefold() == "why":
        return None
    return _ALONE.get(key)


def asks_why(text: str) -> bool:
    """Tell whether a text asks in words why the last answer was given, and nothing else."""
    return _WHY_IN_WORDS.fullmatch(" ".join(text.split())) is not None


def reindex_order(text: str, spelling: Spelling) -> Order | Misunderstood:
    """Read what follows the reindex command."""
    words = words_of(text)
    flags = {_flag(word): word.text for word in words if _flag(word)}
    unknown = [written for flag, written in flags.items() if flag not in _FLAGS]
    if unknown:
        return _say(f"I don't know {', '.join(map(shown, unknown))}.", spelling)
    named = [word for word in words if not _flag(word)]
    match named[0].key if named else "":
        case "help":
            return Help()
        case "status":
            return ReindexStatus()
        case key if key in _CANCEL:
            return _cancelling(named[1:], spelling)
    if len(named) != 1:
        return _say(_not_one(named), spelling)
    return ReindexOrder(_target(named[0]), _DRY_RUN in flags, _MASS_DELETE in flags)


def _parted(text: str) -> tuple[str, str]:
    """Return the first word, and what comes after it."""
    parts = text.split(maxsplit=1)
    return (parts[0] if parts else ""), (parts[1].strip() if len(parts) > 1 else "")


def _flag(word: Word) -> str:
    """Return a flag's name; the known ones also where somebody left their dashes out."""
    bare = word.key.replace("-", "")
    return word.flag or (bare if bare in _FLAGS else "")


def _target(word: Word) -> Target:
    if word.key in _ALL:
        return Everything()
    return PageAt(word.text) if "/" in word.text else SpaceNamed(word.text)


def _cancelling(named: Sequence[Word], spelling: Spelling) -> Order | Misunderstood:
    if len(named) > 1:
        return _say("I can stop one run at a time.", spelling)
    if not named:
        return ReindexCancel()
    return ReindexCancel("all" if named[0].key in _ALL else named[0].text)


def _not_one(named: Sequence[Word]) -> str:
    if not named:
        return "Say what to reindex."
    return f"One at a time, or all: you named {', '.join(shown(each.text) for each in named)}."


def _question(rest: str, spelling: Spelling) -> Order | Misunderstood:
    if rest:
        return Ask(rest)
    example = f"{spelling.command}ask How do I book leave?"
    return Misunderstood(f"Say what you would like to know, such as: {example}")


def _unknown(word: str, spelling: Spelling) -> Misunderstood:
    near = difflib.get_close_matches(_key(word), [*_ALONE, "reindex", "ask"], n=1)
    meant = f" Did you mean {spelling.command}{near[0]}?" if near else ""
    ask = f"{spelling.command}ask {_meant(word)}"
    return Misunderstood(
        f"I don't know the command {shown(word)}.{meant} To ask about it: {ask}\n"
        f"What can be said here: {spelling.command}help"
    )


def _say(trouble: str, spelling: Spelling) -> Misunderstood:
    reindexing = spelling.reindexing
    lines = (
        trouble,
        f"{reindexing('SPACE')} for a space, such as {reindexing('HR')}",
        f"{reindexing('PAGE-URL')} for one page, also a new one",
        f"{reindexing('all')} for everything",
        "Add --dry-run to see what would be done, --allow-mass-delete where many pages may go.",
        f"{reindexing('status')} tells how far it is, {reindexing('cancel')} stops it.",
    )
    return Misunderstood("\n".join(lines))


def _key(word: str) -> str:
    return word.casefold().strip(".,:;!?\"'")


def _meant(rest: str) -> str:
    """Return what somebody typed, to be typed again: on one line, and not without end."""
    return shown(rest)[1:-1]
