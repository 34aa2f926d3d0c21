"""Try a model on labelled questions: which are asked, what it costs, and what is answered so far.

Every answer is kept as soon as it is there, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.answering.evaluation.evaluate import PlannedQuestion, Progress
from bot.answering.evaluation.labelled_questions import (
    LabelledQuestion,
    QuestionKind,
    load_questions,
)
from bot.answering.evaluation.question_cases import Case, Subject, Wait, ask_patiently

SAMPLE_DAY = date(2026, 11, 23)
"""The day on which the sample's questions are asked: prompts name it, and runs stay comparable."""

_DRAW_SEED = "2026-11-23"


@dataclass(frozen=True, slots=True)
class Share:
    """How many questions of a kind are asked, and how many of these once more without their pages.

    ``short`` is True for the questions that were written to be short (tag ``short``), and for
    them alone; ``kind`` None takes every kind.
    """

    kind: QuestionKind | None
    asked: int
    withheld: int = 0
    short: bool = False


SAMPLE_DRAW = (
    Share(None, 60, short=True),
    Share("answerable", 36, withheld=36),
    Share("near_miss", 20),
    Share("far", 8),
    Share("underspecified", 4),
    Share("multi_turn", 6),
)
"""What is asked of the sample's questions: 170 in all."""


def sample_plan(folder: Path) -> list[PlannedQuestion]:
    """Return what is asked of the sample. Raises SettingInvalid without its files of questions."""
    files = ("questions.jsonl", "short_questions.jsonl")
    return drawn(SAMPLE_DRAW, [row for name in files for row in load_questions(folder / name)])


def drawn(shares: Sequence[Share], rows: Sequence[LabelledQuestion]) -> list[PlannedQuestion]:
    """Return what is asked, as many as there are of each share."""
    asks = []
    for share in shares:
        chosen = sorted((row for row in rows if _fits(row, share)), key=_place)[: share.asked]
        asks += [PlannedQuestion(row) for row in chosen]
        asks += [PlannedQuestion(row, withheld=True) for row in chosen if row.has_answer][
            : share.withheld
        ]
    return asks


def _fits(row: LabelledQuestion, share: Share) -> bool:
    return share.kind in {None, row.kind} and share.short == ("short" in row.tags)


def _place(row: LabelledQuestion) -> str:
    return hashlib.sha256(f"{_DRAW_SEED}/{row.id}".encode()).hexdigest()


INPUT_TOKENS_PER_QUESTION = 3500
OUTPUT_TOKENS_PER_QUESTION = 80
"""Measured on the sample with recorded replies: 3,455 and 78 (4 characters a token). A model that
reasons writes more."""

Price = Callable[[int, int], int | None]
"""Returns the price of input and output tokens in millionths of a US dollar; None if unknown."""


def cost_in_words(name: str, questions: int, price: Price) -> str:
    """Return what asking a model so many questions takes, for whoever pays."""
    if not questions:
        return f"{name}: everything is answered already; nothing is asked."
    tokens = questions * INPUT_TOKENS_PER_QUESTION, questions * OUTPUT_TOKENS_PER_QUESTION
    micro_usd = price(*tokens)
    costs = "at a price that is not known (no list has it, and no setting)"
    if micro_usd is not None:
        costs = f"about {micro_usd / 1_000_000:.2f} US dollars"
    return (
        f"{name}: questions to ask {questions}; about {tokens[0]:,} tokens of input and "
        f"{tokens[1]:,} of output (more where it reasons), {costs}."
    )


class KeptAnswers:
    """The answers of one run, a line of JSON each, appended as they come.

    A run is told from others by its ``parts``: whatever would change an answer. A line that a kill
    cut off is dropped.
    """

    def __init__(self, folder: Path, name: str, parts: Mapping[str, object]) -> None:
        told = "\0".join(f"{key}={value}" for key, value in sorted(parts.items()))
        digest = hashlib.sha256(told.encode()).hexdigest()[:12]
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)[:60]
        self._path = folder / f"{plain}-{digest}.jsonl"
        self._cases = TypeAdapter(Case)
        self._known: dict[tuple[str, bool], Case] | None = None

    def of(self, planned: PlannedQuestion) -> Case | None:
        """Return the answer to a question; None if it is not answered yet."""
        return self._read().get((planned.row.id, planned.withheld))

    def missing(self, asks: Sequence[PlannedQuestion]) -> int:
        """Return how many questions are not answered yet."""
        return sum(self.of(planned) is None for planned in asks)

    def add(self, case: Case) -> None:
        """Keep an answer; it is on the disk when this returns."""
        self._read()[case.row.id, case.withheld] = case
        with self._path.open("ab") as file:
            file.write(self._cases.dump_json(case) + b"\n")

    def forget(self) -> None:
        """Start over."""
        self._path.unlink(missing_ok=True)
        self._known = {}

    def _read(self) -> dict[tuple[str, bool], Case]:
        if self._known is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
            whole = [line for line in lines if self._case(line) is not None]
            if whole != lines:
                self._path.write_bytes(b"".join(whole))
            cases = [self._cases.validate_json(line) for line in whole]
            self._known = {(case.row.id, case.withheld): case for case in cases}
        return self._known

    def _case(self, line: bytes) -> Case | None:
        try:
            return self._cases.validate_json(line) if line.endswith(b"\n") else None
        except ValidationError:
            return None


async def ask_kept(
    subject: Subject,
    asks: Sequence[PlannedQuestion],
    kept: KeptAnswers,
    progress: Progress | None = None,
    *,
    wait: Wait = asyncio.sleep,
) -> list[Case]:
    """Ask what is not answered yet, one by one; return a case for each question, in order.

    Raises ModelGaveUp when the model stays unavailable; what is answered so far is kept.
    """
    cases = []
    for done, planned in enumerate(asks, 1):
        case = kept.of(planned)
        if case is None:
            case = await ask_patiently(subject, planned.row, withheld=planned.withheld, wait=wait)
            kept.add(case)
        cases.append(case)
        if progress is not None:
            progress(done, len(asks))
    return cases
