"""What an asker is told of a step: who did what, and that person's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.escalations.life import SOMEBODY
from bot.escalations.types import Notice, Step

_DID: Mapping[Step, str] = {
    "claim": "is looking into your question.",
    "reply": "answered:",
    "resolve": "closed your question.",
    "decline": "can't take your question:",
    "reopen": "opened your question again.",
}


@dataclass(frozen=True, slots=True)
class Said:
    """``name`` and ``words`` are a person's, plain text with nothing escaped; ``did`` is ours."""

    name: str
    did: str
    words: str


def said(notice: Notice) -> Said:
    """Return the parts of a notice to an asker; a person's name is always among them."""
    name = notice.actor.name if notice.actor else ""
    return Said(name.strip() or SOMEBODY, _DID.get(notice.step, "wrote:"), notice.text.strip())
