"""What to search for when a question comes with files: it, and the lines that tell most; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.domain.types import Attached
from bot.routing.question import SEARCHABLE_CHARACTERS, condense, wrong_lines

MOST_LINES = 3
LONGEST_LINE = 200
_LEAST_ROOM = 300
"""Characters that the lines of files have beside a long question."""

_CODE = re.compile(
    r"\b(?:[A-Z][A-Z0-9]{1,9}[-_]\d{2,7}|[A-Z]{1,6}\d{3,8}|0x[0-9a-fA-F]{8}|E[A-Z]{4,}"
    r"|(?:error|code|status|errno|http|event)(?: id| code)?[ :=#]{1,3}-?\d{2,5})\b",
    re.IGNORECASE,
)
_RAISED = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\bCaused by\b")
_VOLATILE = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b(?:0x)?(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{9,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"
    r"|\b(?:\d{4}-\d{2}-\d{2}[T ])?\d{2}:\d{2}:\d{2}[\d.,]*Z?"
    r"|\b(?:pid|tid|thread|port|line|attempt|took|after)[ :=#]{1,3}\d+\b",
    re.IGNORECASE,
)
"""What differs at each run, so that no page can have it: ids, addresses, times."""


def searched(question: str, attached: Sequence[Attached]) -> str:
    """Return what to search for; the question alone where no file says more.

    Never a whole file: what is asked must not drown. Of a file that came without a question and
    tells of no error, its own questions or its beginning are taken.
    """
    told = telling(attached)
    if not told and not question:
        return condense(attached[0].text) if attached else ""
    room = max(_LEAST_ROOM, SEARCHABLE_CHARACTERS - len(question))
    return " ".join(filter(None, [question, " ".join(told)[:room]]))


def telling(attached: Sequence[Attached]) -> tuple[str, ...]:
    """Return the few lines that tell most of what is wrong, in the order of the files."""
    lines = [stable(line) for each in attached for line in wrong_lines(each.text)]
    distinct = list(dict.fromkeys(filter(None, lines)))
    best = sorted(range(len(distinct)), key=lambda at: (-_weight(distinct[at]), at))[:MOST_LINES]
    return tuple(distinct[at] for at in sorted(best))


def stable(line: str) -> str:
    """Return a line without what is another at each run, and not too long."""
    return " ".join(_VOLATILE.sub(" ", line).split())[:LONGEST_LINE]


def _weight(line: str) -> int:
    return 2 * bool(_CODE.search(line)) + bool(_RAISED.search(line))
