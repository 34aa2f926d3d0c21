"""What an asker is told of files that were not read, or not read whole; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.attachments.kinds import READ
from bot.domain.text.markdown import clip

Why = Literal[
    "other_kind",
    "too_large",
    "too_many",
    "too_long",
    "not_handed_out",
    "not_text",
    "pdf_without_text",
    "empty",
]

_LONGEST_NAME = 80
_MOST_NAMES = 5
_BECAUSE: Mapping[Why, str] = {
    "other_kind": f"I read {READ} only.",
    "too_large": "I read files of up to 2 MB.",
    "too_many": "I read three files of a message, and 20,000 characters in all.",
    "not_handed_out": "it was not handed out to me.",
    "not_text": "there is no text in it that I can read.",
    "pdf_without_text": "I could not get text out of that PDF.",
    "empty": "there is nothing in it.",
}


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that was not read, or ("too_long") not whole."""

    name: str
    why: Why


def remarks_of(unread: Sequence[Unread]) -> tuple[str, ...]:
    """Return one sentence a reason, in the order in which they came up."""
    by_reason: dict[Why, list[str]] = {}
    for each in unread:
        by_reason.setdefault(each.why, []).append(_name(each.name))
    return tuple(_remark(why, names) for why, names in by_reason.items())


def _remark(why: Why, names: Sequence[str]) -> str:
    if why == "too_long":
        return f"I read only parts of {_listed(names)}: it is long."
    because = _BECAUSE[why]
    if len(names) > 1:
        because = because.replace("it was", "they were").replace("in it", "in them")
    return f"I did not read {_listed(names)}: {because}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _name(name: str) -> str:
    """Return a file's name on one line; its writer may have named it anything."""
    return clip(" ".join(name.split()), _LONGEST_NAME) or "a file without a name"
