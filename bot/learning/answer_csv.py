"""Read standard answers from a CSV file, and write all answers into one with the same columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from bot.domain.errors import ActRefused
from bot.domain.texts import tr
from bot.domain.texts.ingestion_texts import ingestion_text
from bot.learning.reviewed_answers import AnswerText, ReviewedAnswer, checked_text
from ingestion.validation import ReadersMalformed, describe_readers, is_space_key, parse_readers
from rag.types import Principal

COLUMNS = (
    "id",
    "kind",
    "state",
    "question",
    "variants",
    "answer",
    "readers",
    "spaces",
    "valid_from",
    "valid_until",
    "owner",
    "changed_at",
    "url",
)
"""question and answer are needed; variants stand one a line, readers and spaces by comma. Of the
others only id is read: that of the standard answer to replace."""

MOST_ROWS = 1_000
_NEEDED = ("question", "answer")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row that can be taken: its line, the answer to replace ("" for a new one), its content."""

    line: int
    id: str
    content: AnswerText


@dataclass(frozen=True, slots=True)
class CsvProblem:
    """Why a row is not taken."""

    line: int
    why: str


def read_rows(
    text: str, lasts: timedelta, now: datetime
) -> tuple[Sequence[CsvRow], Sequence[CsvProblem]]:
    """Return the rows that can be taken, and what is wrong with the others.

    Without ``valid_until`` an answer ``lasts`` from now; without readers everyone reads it. Rows of
    answers from cases are left out.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    missing = [each for each in _NEEDED if each not in (reader.fieldnames or ())]
    if missing:
        return (), [
            CsvProblem(1, tr("Column {name} is missing from line 1.", name=repr(missing[0])))
        ]
    rows: list[CsvRow] = []
    problems: list[CsvProblem] = []
    try:
        for each in reader:
            line = reader.line_num
            if len(rows) + len(problems) == MOST_ROWS:
                problems.append(
                    CsvProblem(line, tr("Only the first {most} rows were read.", most=MOST_ROWS))
                )
                break
            try:
                if (each.get("kind") or "standard") == "standard":
                    rows.append(CsvRow(line, _cell(each, "id"), _content(each, lasts, now)))
            except ActRefused as refused:
                problems.append(CsvProblem(line, str(refused)))
    except csv.Error as error:
        problems.append(
            CsvProblem(
                reader.line_num, tr("This is not a valid CSV file: {error}.", error=str(error))
            )
        )
    return rows, problems


def row_of(answer: ReviewedAnswer) -> Sequence[object]:
    """Return an answer's row, in the order of ``COLUMNS``."""
    written = answer.content
    chosen = (written.chosen,) if answer.kind == "standard" else answer.readers
    return (
        answer.id,
        answer.kind,
        answer.state,
        written.question,
        "\n".join(written.variants),
        written.text,
        describe_readers(chosen),
        ",".join(sorted(written.spaces or ())),
        _iso(written.valid_from),
        _iso(written.valid_until),
        answer.owner_name or answer.owner,
        _iso(answer.changed_at),
        answer.url,
    )


def chosen_of(text: str) -> frozenset[Principal]:
    """Return the principals in a list with commas; everyone for none. Raises ActRefused."""
    try:
        (chosen,) = parse_readers(text or "everyone")
    except ReadersMalformed as error:
        raise ActRefused(ingestion_text(f"{str(error)[:1].upper()}{str(error)[1:]}.")) from error
    return chosen


def spaces_of(text: str) -> frozenset[str] | None:
    """Return the spaces in a list with commas; None, everywhere, for none. Raises ActRefused."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    wrong = next((each for each in names if not is_space_key(each)), None)
    if wrong is not None:
        raise ActRefused(
            tr(
                "{name} is not a valid space name. Separate several by commas.",
                name=repr(wrong[:40]),
            )
        )
    return frozenset(names) or None


def day_of_text(text: str) -> datetime | None:
    """Return the beginning of a day in UTC; None for no text. Raises ActRefused."""
    if not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise ActRefused(
            tr("{text} is not a date. Write it like 2027-05-31.", text=repr(text[:40]))
        ) from None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _content(row: Mapping[str, str | None], lasts: timedelta, now: datetime) -> AnswerText:
    content = checked_text(
        AnswerText(
            question=_cell(row, "question"),
            text=_cell(row, "answer"),
            variants=tuple(_cell(row, "variants").splitlines()),
            chosen=chosen_of(_cell(row, "readers")),
            spaces=spaces_of(_cell(row, "spaces")),
            valid_from=day_of_text(_cell(row, "valid_from")),
            valid_until=day_of_text(_cell(row, "valid_until")) or _day_of(now + lasts),
        )
    )
    if not content.question or not content.text:
        raise ActRefused(tr("The question or the answer is empty."))
    if content.valid_until is not None and content.valid_until <= now:
        raise ActRefused(tr("valid_until is in the past. Enter a future date, or leave it empty."))
    return content


def _day_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _cell(row: Mapping[str, str | None], name: str) -> str:
    """Return a cell; the quote before what a spreadsheet would run as a formula is removed."""
    text = (row.get(name) or "").strip()
    return text[1:] if text[:1] == "'" and text[1:2] in {"=", "+", "-", "@"} else text


def _iso(at: datetime | None) -> str:
    return "" if at is None else at.date().isoformat()
