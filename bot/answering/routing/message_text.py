"""Normalize a message's text, and extract search text from it and its files; pure.

A long letter is reduced to its questions, a pasted log or an attached file to the few lines that
name the error; never a whole file, which would drown the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.domain.messages import Attached

_MENTION = re.compile(
    r"<[@!#][^<>\s]{1,80}>|<at\b[^>]{0,200}>[^<]{0,200}</at>|(?<!\S)@\w[\w.'-]*(?:\u00a0[^\s@]+){0,5}",
    re.IGNORECASE,
)
"""Display names of several words are joined by no-break spaces."""

_EMOJI_NAME = re.compile(r"(?<!\S):[a-z0-9_+-]{2,40}:(?!\S)")
_APOSTROPHE = re.compile(r"['`\u00b4\u2018\u2019\u02bc]")
_CLAUSE_END = re.compile(r"[.!?;:,\n()\u3002\uff01\uff1f\u2026\u2014]+|\s-+\s")
_LONG_RUN = re.compile(r"([^\W\d_])\1{2,}")
_QUESTION = "?"


def without_mentions(text: str) -> str:
    """Return the text without platform mentions; everything else stays as written."""
    return _MENTION.sub(" ", text).strip()


def normalized(text: str) -> str:
    """Return lower-case words with single spaces, clauses separated by ``" . "`` or ``" ? "``.

    Mentions, emoji, apostrophes, accents and invisible characters are removed, so that text that
    looks alike compares equal. Empty when the message has no words.
    """
    text = _EMOJI_NAME.sub(" ", without_mentions(_fold_letters(without_mentions(text))))
    text = _APOSTROPHE.sub("", text.casefold())
    text = _CLAUSE_END.sub(_clause_mark, text)
    words = (_bare_word(part) for part in text.split())
    return " ".join(word for word in words if word).strip(" .?")


def clauses(plain_text: str) -> list[str]:
    """Split normalized text into its clauses."""
    return [part for part in (p.strip() for p in re.split(r"[.?]", plain_text)) if part]


def without_letter_runs(plain_text: str) -> str:
    """Return the text with letters that occur three times or more in a row reduced to one."""
    return _LONG_RUN.sub(r"\1", plain_text)


def _fold_letters(text: str) -> str:
    """Remove accents of Latin letters, symbols, and control or invisible characters."""
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if not _is_dropped(c))
    return unicodedata.normalize("NFC", kept)


def _is_dropped(character: str) -> bool:
    if character in "\n\t":
        return False
    latin_accent = "\u0300" <= character <= "\u036f"
    return latin_accent or unicodedata.category(character) in {"Cf", "Cc", "So", "Sk", "Cs", "Co"}


def _clause_mark(match: re.Match[str]) -> str:
    return f" {_QUESTION} " if "?" in match[0] or "\uff1f" in match[0] else " . "


def _bare_word(part: str) -> str:
    if part in {".", _QUESTION}:
        return part
    return part.strip('"*_~#<>[]{}|\\/=+^%&$-\u201c\u201d\u00ab\u00bb\u00bf\u00a1')


SEARCHABLE_CHARACTERS = 800
"""Maximum length of search text: more than an embedder reads."""

_LINE_CHARACTERS = 300
_READ_FIRST, _READ_LAST = 12_000, 4_000
"""Characters read at both ends of a message of any length; a log names its cause at an end."""
_LEAST_LOG_LINES = 3
_MOST_ERRORS = 2
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
_ERROR_WORDS = re.compile(
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
    """Return whether most lines of the message are machine output rather than prose."""
    return _is_mostly_machine(_classified_lines(text))


def condense(text: str) -> str:
    """Return the search text of a message: the asker's own words, then the lines naming the error.

    Error strings and identifiers stay as written. A short message is returned without mentions and
    line breaks. At most SEARCHABLE_CHARACTERS long.
    """
    lines = _classified_lines(text)
    if not _is_mostly_machine(lines):
        return _questions_first(" ".join(line.text for line in lines))
    own = [
        line.text for line in lines if line.kind == "words" and not _ERROR_WORDS.search(line.text)
    ]
    told = [line[:_LINE_CHARACTERS] for line in _decisive_errors(lines)]
    room = SEARCHABLE_CHARACTERS - sum(map(len, told)) - len(told)
    return " ".join([*filter(None, [_questions_first(" ".join(own), room)]), *told])


def error_lines(text: str) -> list[str]:
    """Return the distinct lines that name an error, in order, without timestamp and log level."""
    lines = (" ".join(line[:_LINE_CHARACTERS].split()) for line in text.splitlines())
    wrong = (line for line in lines if not _FRAME.match(line) and _ERROR_WORDS.search(line))
    return list(dict.fromkeys(map(_without_prefix, wrong)))


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    kind: Literal["words", "output", "frame"]


def _is_mostly_machine(lines: list[_Line]) -> bool:
    machine = sum(line.kind != "words" for line in lines)
    return machine >= _LEAST_LOG_LINES and machine * 2 >= len(lines)


def _classified_lines(text: str) -> list[_Line]:
    if len(text) > _READ_FIRST + _READ_LAST:
        text = f"{text[:_READ_FIRST]}\n{text[-_READ_LAST:]}"
    raw = without_mentions(text).replace("```", "\n").splitlines()
    lines = [" ".join(line.split()) for line in raw if line.strip()]
    return [
        _classified_line(line, before) for line, before in zip(lines, ["", *lines], strict=False)
    ]


def _classified_line(line: str, before: str) -> _Line:
    if _FRAME.match(line) or _PYTHON_FRAME.match(before):
        return _Line(line, "frame")
    output = _STAMP.match(line) or _LEVEL.match(line) or _FIELDS.match(line)
    return _Line(line, "output" if output or _RAISED.match(line) else "words")


def _decisive_errors(lines: list[_Line]) -> list[str]:
    """Return the first line that names an error, and the last cause or last such line."""
    wrong = [line.text for line in lines if line.kind != "frame" and _ERROR_WORDS.search(line.text)]
    causes = [line for line in wrong if line.startswith(_CAUSE)]
    chosen = [*wrong[:1], *(causes or wrong)[-1:]]
    return list(dict.fromkeys(map(_without_prefix, chosen)))[:_MOST_ERRORS]


def _without_prefix(line: str) -> str:
    line = _STAMP.sub("", line, count=1)
    return _LEVEL.sub("", line, count=1).removeprefix(_CAUSE).strip()


def _questions_first(text: str, room: int = SEARCHABLE_CHARACTERS) -> str:
    """Keep the questions of a long text, then its beginning, up to ``room`` characters."""
    if len(text) <= room:
        return text
    sentences = _SENTENCE.split(text)
    questions = [sentence for sentence in sentences if sentence.rstrip().endswith("?")]
    kept: list[str] = []
    for sentence in [*questions, *sentences]:
        if sentence not in kept and sum(map(len, kept)) + len(kept) + len(sentence) <= room:
            kept.append(sentence)
    return " ".join(kept) or text[: max(room, 0)]


MOST_LINES = 3
LONGEST_LINE = 200
_LEAST_ROOM = 300
"""Characters reserved for the lines of files beside a long question."""

_ERROR_CODE = re.compile(
    r"\b(?:[A-Z][A-Z0-9]{1,9}[-_]\d{2,7}|[A-Z]{1,6}\d{3,8}|0x[0-9a-fA-F]{8}|E[A-Z]{4,}"
    r"|(?:error|code|status|errno|http|event)(?: id| code)?[ :=#]{1,3}-?\d{2,5})\b",
    re.IGNORECASE,
)
_EXCEPTION_NAME = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\bCaused by\b")
_VOLATILE = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b(?:0x)?(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{9,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"
    r"|\b(?:\d{4}-\d{2}-\d{2}[T ])?\d{2}:\d{2}:\d{2}[\d.,]*Z?"
    r"|\b(?:pid|tid|thread|port|line|attempt|took|after)[ :=#]{1,3}\d+\b",
    re.IGNORECASE,
)
"""Matches ids, addresses and times: they differ at each run, so no page can contain them."""


def search_text(question: str, attached: Sequence[Attached]) -> str:
    """Return the search text of a question and its files; the question alone if no file adds to it.

    Never a whole file, which would drown the question. For files that come without a question and
    name no error, the first one's own questions or its beginning are used.
    """
    told = informative_lines(attached)
    if not told and not question:
        return condense(attached[0].text) if attached else ""
    room = max(_LEAST_ROOM, SEARCHABLE_CHARACTERS - len(question))
    return " ".join(filter(None, [question, " ".join(told)[:room]]))


def informative_lines(attached: Sequence[Attached]) -> tuple[str, ...]:
    """Return the few lines of the files that best name the error, in the order of the files."""
    lines = [without_volatile_parts(line) for each in attached for line in error_lines(each.text)]
    distinct = list(dict.fromkeys(filter(None, lines)))
    best = sorted(range(len(distinct)), key=lambda at: (-_line_weight(distinct[at]), at))[
        :MOST_LINES
    ]
    return tuple(distinct[at] for at in sorted(best))


def without_volatile_parts(line: str) -> str:
    """Return a line without ids, addresses and times, at most LONGEST_LINE characters long."""
    return " ".join(_VOLATILE.sub(" ", line).split())[:LONGEST_LINE]


def _line_weight(line: str) -> int:
    return 2 * bool(_ERROR_CODE.search(line)) + bool(_EXCEPTION_NAME.search(line))
