"""What an asker is told of each step: who did what, and that person's own words; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.escalations.life import called
from bot.escalations.types import Notice, Step
from bot.rendering.markdown import disarm

_DID: Mapping[Step, str] = {
    "claim": "has taken your question",
    "reply": "answered",
    "resolve": "closed your question",
    "decline": "can't take your question",
    "reopen": "opened your question again",
}
"""What follows a person's name. It says what happened and promises nothing."""

_OTHERWISE = "wrote"
_LIVE = re.compile(r"[\\`*_{}\[\]()<>#|~!]")


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


def as_markdown(news: Said) -> str:
    """Return it as Markdown: the words quoted, and nothing in them or in the name is live."""
    name = _LIVE.sub(r"\\\g<0>", news.name)
    opening = f"**{name}** {news.did}"
    if not news.words:
        return opening
    quoted = "\n".join(f"> {line}".rstrip() for line in disarm(news.words).split("\n"))
    return f"{opening}\n\n{quoted}"
