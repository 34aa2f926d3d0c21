"""What to search for when a message is long or a pasted log: its question and the telling line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bot.routing.intents.plain import without_mentions

SEARCHABLE_CHARACTERS = 800
"""More than an embedder reads; the message itself is kept whole elsewhere."""

_LINE_CHARACTERS = 300
_READ_FIRST, _READ_LAST = 12_000, 4_000
"""Characters read at both ends of a message of any length; a log tells its cause at an end."""
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
_FIELDS = re.compile(r"^[\w.]+=\S*(?: [\w.]+=\S*){2,}")
_WRONG = re.compile(
    r"\b(?:\w*(?:error|exception|failure)\b|fatal|failed|fail(?:s|ure)?|denied|refused|timed out"
    r"|timeout|unable|cannot|can't|could not|not found|no such|panic|abort(?:ed)?|unreachable"
    r"|expired|invalid|unauthorized|forbidden|segfault|ORA-\d+|0x[0-9a-f]{4,}|(?-i:E[A-Z]{4,})"
    r"|HTTP [45]\d\d|CrashLoop\w+|OOM\w*)",
    re.IGNORECASE,
)
_PYTHON_FRAME = re.compile(r'File ".+", line \d+')
_RAISED = re.compile(r"(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Warning)\b|Caused by: ")
_CAUSE = "Caused by: "
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def is_log(text: str) -> bool:
    """Whether most of the message is machine output rather than somebody's words."""
    return _is_mostly_machine(_lines(text))


def condense(text: str) -> str:
    """Return what to search for: the asker's own words, then the lines that tell what is wrong.

    Error strings and identifiers stay as written. A short message comes back without mentions
    and line breaks. At most SEARCHABLE_CHARACTERS long.
    """
    lines = _lines(text)
    if not _is_mostly_machine(lines):
        return _shortened(" ".join(line.text for line in lines))
    own = [line.text for line in lines if line.kind == "words" and not _WRONG.search(line.text)]
    told = [line[:_LINE_CHARACTERS] for line in _telling(lines)]
    room = SEARCHABLE_CHARACTERS - sum(map(len, told)) - len(told)
    return " ".join([*filter(None, [_shortened(" ".join(own), room)]), *told])


def wrong_lines(text: str) -> list[str]:
    """Return the lines that say what is wrong, in order, each once, without time and level."""
    lines = (" ".join(line[:_LINE_CHARACTERS].split()) for line in text.splitlines())
    wrong = (line for line in lines if not _FRAME.match(line) and _WRONG.search(line))
    return list(dict.fromkeys(map(_without_prefix, wrong)))


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    kind: Literal["words", "output", "frame"]


def _is_mostly_machine(lines: list[_Line]) -> bool:
    machine = sum(line.kind != "words" for line in lines)
    return machine >= _LEAST_LOG_LINES and machine * 2 >= len(lines)


def _lines(text: str) -> list[_Line]:
    if len(text) > _READ_FIRST + _READ_LAST:
        text = f"{text[:_READ_FIRST]}\n{text[-_READ_LAST:]}"
    raw = without_mentions(text).replace("```", "\n").splitlines()
    lines = [" ".join(line.split()) for line in raw if line.strip()]
    return [_line(line, before) for line, before in zip(lines, ["", *lines], strict=False)]


def _line(line: str, before: str) -> _Line:
    if _FRAME.match(line) or _PYTHON_FRAME.match(before):
        return _Line(line, "frame")
    output = _STAMP.match(line) or _LEVEL.match(line) or _FIELDS.match(line)
    return _Line(line, "output" if output or _RAISED.match(line) else "words")


def _telling(lines: list[_Line]) -> list[str]:
    """Return the first thing said to be wrong, and the last cause or last such line."""
    wrong = [line.text for line in lines if line.kind != "frame" and _WRONG.search(line.text)]
    causes = [line for line in wrong if line.startswith(_CAUSE)]
    chosen = [*wrong[:1], *(causes or wrong)[-1:]]
    return list(dict.fromkeys(map(_without_prefix, chosen)))[:_TELLING_LINES]


def _without_prefix(line: str) -> str:
    line = _STAMP.sub("", line, count=1)
    return _LEVEL.sub("", line, count=1).removeprefix(_CAUSE).strip()


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
