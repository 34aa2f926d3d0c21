"""What one can say to Frontdesk, by what one may do; pure."""

from __future__ import annotations

from bot.orders.types import Spelling

_WHAT = (
    "I answer questions from the company's pages, with the sources to look at. Where I am not "
    "sure, a person can be asked."
)
_WHY = "why your newest question here got the answer it got, or none"


def help_text(spelling: Spelling, *, admin: bool) -> str:
    """Return it as lines; what only admins may do is told to them alone."""
    command, reindexing = spelling.command, spelling.reindexing
    lines = [
        _WHAT,
        f"{command}help: this list",
        f"{command}status: what I answer from, and how fresh it is",
    ]
    if command:
        lines[1:1] = [
            f"{command}ask QUESTION: only you see the answer",
            f"{command}why: {_WHY}",
        ]
    else:
        lines.append(f"/why: {_WHY}")
    if admin:
        lines += [
            f"{command}settings: what this channel allows",
            f"{reindexing('SPACE')}: bring a space up to date; or one page by its address, or all",
            f"{reindexing('SPACE', '--dry-run')}: only say what would change",
            f"{reindexing('status')}: how far the runs are",
            f"{reindexing('cancel')}: stop a run; what it has written stays",
        ]
    return "\n".join(lines)
