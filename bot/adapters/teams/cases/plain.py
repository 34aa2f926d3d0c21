"""What people and pages wrote, on a card: pure. Nothing of it is markup to Teams, so it is dead.

A TextRun knows no Markdown, unlike a TextBlock; nor does it look for addresses.
"""

from __future__ import annotations

import re

from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import without_functions

_CODE = re.compile(r"```[\w+-]*\n([^`]+)```|(`{1,3})([^`]+)\2")


def plain(text: str, **looks: object) -> Json:
    """Return words as a line of their own; ``looks`` are those of a TextRun."""
    return lines((text, looks))


def lines(*runs: tuple[str, dict[str, object]], **looks: object) -> Json:
    """Return words that look different, one after the other; ``looks`` are those of the block."""
    shown = [{"type": "TextRun", "text": dead(text), **more} for text, more in runs]
    return {"type": "RichTextBlock", "inlines": shown, **looks}


def uncoded(text: str) -> str:
    """Return Markdown's words without the backticks around code, which a TextRun would show."""
    return _CODE.sub(lambda code: code[1] or code[3], text)


def dead(text: str) -> str:
    """Return words without what steers a terminal or a card."""
    kept = "".join(c for c in text if c.isprintable() or c in "\u200d\ufe0f")
    return without_functions(kept)


def paragraphs(text: str, *, most: int) -> list[Json]:
    """Return every line that has words; those beyond ``most`` run on in the last."""
    written = [line.strip() for line in text.splitlines() if line.strip()]
    if len(written) > most:
        written = [*written[: most - 1], " ".join(written[most - 1 :])]
    return [plain(line) for line in written]
