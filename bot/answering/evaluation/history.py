"""Keep the main figures of each evaluation, so that one can be compared with the one before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    # The board reads what was kept, and needs no report for that.
    from bot.answering.evaluation.report import Report

HISTORY_FILE = "evaluations.jsonl"
"""Name of the file in the data directory: one line an evaluation, oldest first."""


class EvaluationSummary(BaseModel):
    """The main figures of an evaluation; shares are 0..1, None where nothing was answered.

    ``questions`` is the file's name, ``asked`` its number of questions, the withheld runs included.
    ``answered`` and ``right_among_answered`` are of the answerable questions,
    ``wrong_among_answered`` of all.
    """

    model_config = ConfigDict(frozen=True)

    date: date
    questions: str
    asked: int
    model: str
    answered: float | None
    right_among_answered: float | None
    wrong_among_answered: float | None


def summary_of(report: Report, model: str) -> EvaluationSummary:
    """Return the main figures of a report."""
    whole = report.operation.slices.get("all")
    return EvaluationSummary(
        date=report.run.date,
        questions=report.run.questions,
        asked=sum(report.run.kinds.values()),
        model=model,
        answered=whole and whole.answered.value,
        right_among_answered=whole and whole.right_among_answered.value,
        wrong_among_answered=whole and whole.wrong_among_answered.value,
    )


def append_summary(data_dir: Path, summary: EvaluationSummary) -> None:
    """Add an evaluation to the history. Raises OSError."""
    with (data_dir / HISTORY_FILE).open("a", encoding="utf-8") as file:
        file.write(f"{summary.model_dump_json()}\n")


def latest_summaries(data_dir: Path, count: int) -> Sequence[EvaluationSummary]:
    """Return the last evaluations, newest first; lines that can't be read are left out."""
    try:
        lines = (data_dir / HISTORY_FILE).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found: list[EvaluationSummary] = []
    for line in reversed(lines):
        try:
            found.append(EvaluationSummary.model_validate_json(line))
        except ValidationError:
            continue
        if len(found) == count:
            break
    return found
