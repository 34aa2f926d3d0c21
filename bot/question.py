"""What to search for when a message is long or a pasted log: its question and the telling line."""

from __future__ import annotations

import re

from bot.intents.plain import without_mentions

SEARCHABLE_CHARACTERS = 800
"""More than an embedder reads; the message itself is kept whole elsewhere."""

_LINE_CHARACTERS = 300
_LEAST_LOG_LINES = 3
_TELLING_LINES = 2
_STAMP = re.compile(
    r"^[\[(]?(?:\d{4}[-/.]\d{2}[-/.]\d{2}[T ]?|\d{2}[-/.]\d{2}[-/.]\d{2,4} )?\d{1,2}:\d{2}:\d{2}"
    r"(?:[.,]\d+)?(?: ?[AP]M)?(?:Z|[+-]\d{2}:?\d{2})?[\])]?\s*|^[A-Z][a-z]{2} +\d{1,2} [\d:]{8}"
    r" \S+ "
    r"|^\[ *\d+\.\d+\] "
)
_LEVEL = re.compile(
    r"^[\[(<|: -]*(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|SEVERE|FATAL|CRITICAL)"
    r"[\])>|: -]+",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r'^\s*(?:at [\w$.<>/]+[( ]|File ".+", line \d+|\.{3} \d+ more|from \S+:\d+:in |#\d+ +0x'
    r"|goroutine \d+|--->|\^+$|Traceback \(most recent)"
)
_FIELDS = re.compile(r"^\S+=\S+(?: \S+=\S+){2,}")
_WRONG = re.compile(
    r"\b(?:\w*(?:error|exception|failure)\b|fatal|failed|fail(?:s|ure)?|denied|refused|timed out"
    r"|timeout|unable|cannot|can't|could not|not found|no such|panic|abort(?:ed)?|unreachable"
    r"|expired|invalid|unauthorized|forbidden|segfault|ORA-\d+|0x[0-9a-f]{4,}|E[A-Z]{4,}"
    r"|HTTP [45]\d\d|CrashLoop\w+|OOM\w*)",
    re.IGNORECASE,
)
_CAUSE = re.compile(r"^\s*Caused by: ")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def is_log(text: str) -> bool:
    """Whether most of the message is machine output rather than somebody's words."""
    lines = _lines(text)
    machine = sum(map(_is_machine, lines))
    return machine >= _LEAST_LOG_LINES and machine * 2 >= len(lines)


def condense(text: str) -> str:
    """Return what to search for: the asker's own words, then the lines that tell what is wrong.

    Error strings and identifiers stay as written. A short message comes back without mentions
    and line breaks. At most SEARCHABLE_CHARACTERS long.
    """
    lines = _lines(text)
    if not is_log(text):
        return _shortened(" ".join(lines))
    words = [line for line in lines if not _is_machine(line) and not _WRONG.search(line)]
    told = [line[:_LINE_CHARACTERS] for line in _telling(lines)]
    room = SEARCHABLE_CHARACTERS - sum(map(len, told)) - len(told)
    return " ".join([*filter(None, [_shortened(" ".join(words), room)]), *told])


def _lines(text: str) -> list[str]:
    lines = without_mentions(text).replace("```", "\n").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def _is_machine(line: str) -> bool:
    return bool(
        _STAMP.match(line) or _LEVEL.match(line) or _FRAME.match(line) or _FIELDS.match(line)
    )


def _telling(lines: list[str]) -> list[str]:
    """Return the last cause and the first thing said to be wrong, in the order they stand."""
    said = [
        (_without_prefix(line), bool(_CAUSE.match(line)))
        for line in lines
        if _WRONG.search(line) and not _FRAME.match(line)
    ]
    causes = [line for line, is_cause in said if is_cause]
    plain_lines = [line for line, _ in said if line]
    chosen = causes[-1:] or plain_lines[-1:]
    return list(dict.fromkeys([*plain_lines[:1], *chosen]))[:_TELLING_LINES]


def _without_prefix(line: str) -> str:
    line = _STAMP.sub("", line, count=1)
    return _CAUSE.sub("", _LEVEL.sub("", line, count=1)).strip()


def _shortened(text: str, room: int = SEARCHABLE_CHARACTERS) -> str:
    """Keep the questions of a long text, then its beginning, as far as there is room."""
    if len(text) <= room:
        return text
    sentences = _SENTENCE.split(text)
    questions = [sentence for sentence in sentences if sentence.rstrip().endswith("?")]
    kept: list[str] = []
    for sentence in [*questions, *sentences]:
        if sentence not in kept and sum(map(len, kept)) + len(kept) + len(sentence) <= room:
            kept.append(sentence)
    return " ".join(kept) or text[: max(room, 0)]
