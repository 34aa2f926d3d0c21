from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from bot.answering.evaluation.evaluate import report_of
from bot.answering.evaluation.labelled_questions import QuestionKind
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.report import Run
from bot.answering.gate import load_gate_file
from tests.bot.evaluating.cases import RIGHT, WRONG, case, row
from tests.evals import document
from tests.evals.asking import Measured
from tests.evals.findings import Findings, findings
from tests.evals.sets import HANDBOOK, SAMPLE, EvalSet

pytest.importorskip("sklearn", reason="scikit-learn is in requirements-evals.txt")


KEY = "extractive"


def answers(n: int, *, halves: bool = False) -> list[Case]:
    """Return cases that are right where the cosine is high; every fourth is a near miss."""
    found = []
    for i in range(n):
        right = i % 2 == 0
        kind: QuestionKind = "near_miss" if i % 4 == 1 else "answerable"
        half = 1 + i % 2 if halves else None
        pages = [f"{i}.md"] if kind == "answerable" else []
        asked = row(f"q{i}", kind, pages=pages, half=half)
        cosine = 0.6 + i / 1000 if right else 0.3 + i / 1000
        verdict = RIGHT if right else WRONG
        found.append(case(asked, verdict=verdict, features={"vector_best": cosine}))
    return found


def measured(name: str, cases: list[Case], *, trains_gate: bool = True) -> Measured:
    run = Run(
        name=name,
        date=date(2026, 11, 23),
        questions="own.jsonl",
        sha256="0" * 64,
        kinds={},
        embedder="none",
        composer="extractive",
        chunks=1,
    )
    one = EvalSet(name, {}, Path("own.jsonl"), trains_gate=trains_gate)
    return Measured(one, report_of(run, cases), cases)


@pytest.fixture(scope="module")
def found() -> Findings:
    sets = [
        measured(SAMPLE, [*answers(120), *answers(60, halves=True)]),
        measured(HANDBOOK, answers(80), trains_gate=False),
    ]
    return findings(sets, KEY, load_gate_file())


def test_training_sets_are_judged_anew_and_the_check_set_as_it_was(found: Findings) -> None:
    assert {case.confidence for case in found.cases[HANDBOOK]} == {0.8}
    assert len({case.confidence for case in found.cases[SAMPLE]}) > 10


def test_short_questions_are_reported_by_gates_that_never_saw_them(found: Findings) -> None:
    slices = found.measured[SAMPLE].report.operation.slices

    assert slices["short_unseen"].composed_right.n == 45
    assert "short_unseen" not in found.measured[HANDBOOK].report.operation.slices


def test_the_gate_is_compared_on_each_set_and_on_all(found: Findings) -> None:
    against = {each.against: each for each in found.compared[HANDBOOK]}

    assert set(found.compared) == {SAMPLE, HANDBOOK, "pooled"}
    assert against["all"].feature == "vector_best"
    assert against["all"].difference.value == -0.5


def test_certificates_are_chosen_on_one_half_of_the_pages(found: Findings) -> None:
    first, second = found.certified[SAMPLE]

    assert first is not None
    assert second is not None
    assert first.questions + second.questions == 180
    assert min(first.accepted, second.accepted) > 30


def test_the_page_says_where_replies_are_missing(found: Findings, tmp_path: Path) -> None:
    reports = [each.report for each in found.measured.values()]

    written = document.write({document.WITHOUT: found}, reports, tmp_path)

    page = (tmp_path / "evaluation.md").read_text()
    assert "| 18F handbook | " in page
    assert document.NOT_RECORDED in page
    assert re.findall(r"\$[a-z]+", page) == []
    assert all(path.stat().st_size > 500 for path in written)
