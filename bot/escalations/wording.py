"""What an asker is told of each step: who did what, and that person's own words; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.escalations.life import called
from bot.escalations.types import Notice, Step

_DID: Mapping[Step, str] = {
    "claim": "has taken your question",
    "reply": "answered",
    "resolve": "closed your question",
    "decline": "can't take your question",
    "reopen": "opened your question again",
}
"""What follows a person's name. It says what happened and promises nothing."""

_OTHERWISE = "wrote"


@dataclass(frozen=True, slots=True)
class Said:
    """``name`` and ``words`` are a person's, plain text with nothing escaped; ``did`` is ours.

    ``did`` ends with a colon where words follow. ``words`` may be empty.
    """

    name: str
    did: str
    words: str


def said(notice: Notice) -> Said:
    """Return the parts of a notice to an asker; a name is always among them."""
    words = notice.text.strip()
    did = _DID.get(notice.step, _OTHERWISE)
    name = called(notice.actor.name if notice.actor else "")
    return Said(name, f"{did}:" if words else f"{did}.", words)


def as_plain(news: Said) -> str:
    """Return it as plain text, the person's words set off from ours."""
    return "\n\n".join(part for part in (f"{news.name} {news.did}", news.words) if part)
