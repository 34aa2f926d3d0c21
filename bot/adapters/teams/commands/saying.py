"""What the bot says about what somebody ordered, as messages and cards in which nothing is live."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.teams.showing.elements import text_block
from bot.adapters.teams.showing.sizes import ROOM, size
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_plain, teams_plain
from bot.domain.text.markdown import split

_BULLET = "- "


def said(text: str, *live: str) -> tuple[Json, ...]:
    """Return lines of plain text as messages, in order, each within what Teams takes.

    ``live`` is Markdown that code built, below it.
    """
    parts = split("\n\n".join([_markdown(text), *live]), ROOM, size)
    return tuple({"type": "message", "text": part, "textFormat": "markdown"} for part in parts)


def paragraphs(text: str) -> Sequence[Json]:
    """Return lines of plain text as pieces of a card."""
    return [
        text_block(card_plain(line), spacing="Default" if number == 0 else "Small")
        for number, line in enumerate(filter(str.strip, text.split("\n")))
    ]


def _markdown(text: str) -> str:
    """Return lines each on its own, for Markdown joins those that follow each other."""
    shown = ""
    for line in filter(str.strip, text.split("\n")):
        listed = line.startswith(_BULLET)
        words = teams_plain(line.removeprefix(_BULLET) if listed else line)
        after_item = listed and shown.rpartition("\n")[2].startswith(_BULLET)
        joint = "" if not shown else "\n" if after_item else "\n\n"
        shown += joint + (f"{_BULLET}{words}" if listed else words)
    return shown
