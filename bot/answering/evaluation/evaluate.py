"""Measure the desk on labelled questions, train its gate, certify its threshold.

`python -m bot evaluate` and `make evals` call these functions.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from bot.answering.evaluation import certificate, question_metrics
from bot.answering.evaluation.gate_metrics import gating_figures
from bot.answering.evaluation.gate_training import gate_file, held_out_figures
from bot.answering.evaluation.labelled_questions import LabelledQuestion, load_questions
from bot.answering.evaluation.question_cases import Case, Subject, ask_patiently
from bot.answering.evaluation.question_metrics import kind_of
from bot.answering.evaluation.report import Report, Run
from bot.answering.evaluation.training_samples import CasesBySet
from bot.answering.gate import GATE_FILE, Gate, load_gate_file
from bot.answering.gate_file import CertificateRecord, GateFile
from bot.domain.errors import SettingInvalid

Progress = Callable[[int, int], None]
"""Called with the number of questions done and the number of all questions."""


class PlannedQuestion(NamedTuple):
    """A question to ask; ``withheld`` keeps its pages out of the search."""

    row: LabelledQuestion
    withheld: bool = False


async def evaluate(
    subject: Subject,
    questions: Path,
    *,
    out: Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Ask every question, and each answerable one again with its pages withheld.

    Args:
        subject: the desk, with a RecordingComposer inside, and its index.
        questions: a JSON Lines file, see docs/evaluation.md.
        out: where the report is written as JSON.
        name: the name of the set in the report; default the file's name.
        progress: called after each question.

    Raises SettingInvalid when the file or a line of it can't be read.
    """
    rows = load_questions(questions)
    cases = await ask_all(subject, questions_and_withheld(rows), progress)
    report = report_of(await run_of(subject, questions, cases, name=name), cases)
    if out is not None:
        write(out, report)
    return report


def questions_and_withheld(rows: Sequence[LabelledQuestion]) -> list[PlannedQuestion]:
    """Return every question, then each answerable one again with its pages withheld."""
    return [PlannedQuestion(row) for row in rows] + [
        PlannedQuestion(row, withheld=True) for row in rows if row.has_answer
    ]


async def ask_all(
    subject: Subject, asks: Sequence[PlannedQuestion], progress: Progress | None = None
) -> list[Case]:
    """Ask the questions one by one; return a case for each, in order. Raises ModelGaveUp."""
    cases = []
    for done, (row, withheld) in enumerate(asks, 1):
        cases.append(await ask_patiently(subject, row, withheld=withheld))
        if progress is not None:
            progress(done, len(asks))
    return cases


async def run_of(
    subject: Subject, questions: Path, cases: Sequence[Case], *, name: str | None = None
) -> Run:
    """Return the description of a run; ``name`` is that of the set, default the file's."""
    return Run(
        name=name or questions.stem,
        date=datetime.now(UTC).date(),
        questions=questions.name,
        sha256=_sha256_of(questions),
        kinds=dict(Counter(map(kind_of, cases))),
        embedder=subject.embedder.name if subject.embedder else "none (keyword search alone)",
        composer=subject.composer.name,
        chunks=sum((await subject.index.spaces(subject.tenant)).values()),
    )


def report_of(run: Run, cases: Sequence[Case]) -> Report:
    """Return the report with all figures of a run; pure."""
    return Report(
        run=run,
        retrieval=question_metrics.retrieval(cases),
        retrieval_lead=question_metrics.retrieval_lead(cases),
        routes=question_metrics.routes(cases),
        routed_right=question_metrics.routed_right(cases),
        answers=question_metrics.answers(cases),
        citations=question_metrics.citations(cases),
        gate=gating_figures(cases),
        operation=question_metrics.operation(cases),
        cost=question_metrics.cost(cases),
    )


def train(asked: Mapping[str, CasesBySet], out: Path) -> GateFile:
    """Fit the gate on the answers to labelled questions and write the gate file.

    Args:
        asked: the cases to learn from, by the key of their calibration (gate_training.gate_file).
        out: where the file is written. What is fitted loses its certificate; calibrations without
            cases are kept as they are.

    Raises SettingInvalid when there is too little to learn from.
    """
    try:
        file = gate_file(asked, load_gate_file(out if out.exists() else GATE_FILE))
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    write(out, file)
    return file


LEAST_ANSWERABLE, LEAST_UNANSWERABLE = 60, 40
"""Questions with and without an answer that the gate can be fitted to one's own wiki with."""


def check_labels(rows: Sequence[LabelledQuestion]) -> None:
    """Raise SettingInvalid when there are too few questions of one's own to train on."""
    answerable = sum(row.has_answer for row in rows)
    unanswerable = sum(row.kind in _UNANSWERABLE for row in rows)
    if answerable < LEAST_ANSWERABLE or unanswerable < LEAST_UNANSWERABLE:
        raise SettingInvalid(
            f"{answerable} questions with an answer and {unanswerable} without one are too few to "
            f"train on: at least {LEAST_ANSWERABLE} and {LEAST_UNANSWERABLE} are needed. "
            "docs/confidence.md says which."
        )


_UNANSWERABLE = frozenset({"near_miss", "far", "underspecified"})


@dataclass(frozen=True, slots=True)
class OwnTraining:
    """A gate file with one calibration fitted anew, and what that is worth.

    ``before`` and ``after`` are figures on the same answers, by name; lower is better. ``after`` is
    by cross-validation over pages.
    """

    calibration: str
    file: GateFile
    before: Mapping[str, float]
    after: Mapping[str, float]

    @property
    def better(self) -> bool:
        """Whether the new probabilities are nearer to the truth, by the Brier score."""
        return self.after["Brier"] < self.before["Brier"]


def train_on_own(cases: Sequence[Case], on: str, earlier: GateFile) -> OwnTraining:
    """Fit the calibration that the answers of one model were, or could have been, judged by.

    Args:
        cases: the answers to one's own questions, withheld ones too.
        on: the name of the questions, for the file.
        earlier: the gate's file so far, whose other calibrations are kept.

    Raises SettingInvalid when there is too little to learn from.
    """
    judged = Counter(case.calibration for case in cases if case.features.get("has_claims"))
    if not judged:
        raise SettingInvalid("No question was answered from the pages: nothing can be learned.")
    ((name, _),) = judged.most_common(1)
    before = Gate(earlier)
    try:
        file = gate_file({name: [(on, cases)]}, earlier)
    except ValueError as error:
        raise SettingInvalid(str(error)) from error
    figures = held_out_figures(
        [(on, cases)],
        file.calibrations[name],
        lambda sample: before.probability(sample.features, name),
    )
    return OwnTraining(name, file, *figures)


async def certify(
    subject: Subject,
    questions: Path,
    out: Path,
    *,
    gate: Path = GATE_FILE,
    target: float = 0.05,
    confidence: float = 0.9,
) -> CertificateRecord | None:
    """Certify the threshold of the subject's composer on one's own labelled questions.

    Args:
        subject: the desk as it is in use; the certificate holds for its index, model and gate.
        questions: a fair sample of real questions, with those that have no answer; none of them may
            have been used to train the gate.
        out: where the gate file is written, with the certificate or without one.
        gate: the gate file that the subject uses.
        target: the largest share of wrong answers among those given, 0..1.
        confidence: the probability with which that must hold, 0..1.

    Returns None when no threshold can be certified. Raises SettingInvalid for a file that can't be
    read, and when the gate file has no calibration for the subject's composer.
    """
    rows = load_questions(questions)
    cases = [await ask_patiently(subject, row) for row in rows]
    asked = [case for case in cases if case.reached_index]
    scores = [case.confidence or 0.0 for case in asked]
    found = certificate.certify(
        scores, [case.right for case in asked], target=target, confidence=confidence
    )
    record = _certificate_record(found, questions.name) if found else None
    file = load_gate_file(gate)
    # Where no answer was composed, the case says nothing of whose answers are certified.
    named = Counter(case.calibration for case in asked if case.features.get("has_claims"))
    judge = named.most_common(1)[0][0] if named else subject.composer.name
    if judge not in file.calibrations:
        raise SettingInvalid(
            "There is no calibration for answers of this model, so nothing can be certified: "
            "`python -m bot train QUESTIONS.jsonl` fits one (docs/confidence.md)."
        )
    write(out, file.with_certificate(judge, record))
    return record


def _certificate_record(found: certificate.Certificate, on: str) -> CertificateRecord:
    return CertificateRecord(
        threshold=found.threshold,
        target_error=found.target,
        confidence=found.confidence,
        coverage=found.coverage,
        questions=found.questions,
        on=on,
        date=datetime.now(UTC).date(),
    )


def _sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(out: Path, model: BaseModel) -> None:
    """Write a report or a gate file as JSON."""
    out.write_text(model.model_dump_json(indent=2) + "\n", "utf-8")
