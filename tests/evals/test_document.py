"""Floors, findings and pictures of an evaluation report."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bot.answering.evaluation.evaluate import report_of
from bot.answering.evaluation.labelled_questions import QuestionKind
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.report import Figure, Report, Run
from bot.answering.gate import load_gate_file
from tests.evals import document
from tests.evals.document import picture, reliability_line, risk_line
from tests.evals.findings import Findings, findings
from tests.evals.floors import UNSEEN, Floors, broken_floors, floors_name, load_floors, proposed
from tests.evals.question_runs import Measured
from tests.evals.sets import CONTOSO, HANDBOOK, SAMPLE, SQUAD, EvalSet
from tests.unit.bot.answering.evaluation.cases import RIGHT, WRONG, case, numbered, row

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


RUN = Run.model_validate(
    {
        "name": "own",
        "date": "2026-11-22",
        "questions": "own.jsonl",
        "sha256": "0" * 64,
        "kinds": {"answerable": 1},
        "embedder": "none",
        "composer": "extractive",
        "chunks": 1,
    }
)


@pytest.fixture
def report() -> Report:
    made = report_of(RUN, [case(verdict=RIGHT)])
    return made.model_copy(update={"retrieval_lead": {"rrf": Figure(value=0.0, n=1)}})


@pytest.mark.parametrize(
    ("floors", "said"),
    [
        (Floors(at_least={"citations": 1.0}), []),
        (Floors(at_least={"answers/words": 31.0}), ["own: answers/words is 30.0, below 31.0"]),
        (Floors(at_least={"retrieval/ours/recall@5": 0.1, "no/such": 0.0}), ["", ""]),
        (Floors(at_least={}, above_zero=("retrieval_lead/rrf",)), ["not above 0"]),
        (Floors(at_most={"answers/words": 29.0}), ["above 29.0"]),
    ],
    ids=["at its floor", "below", "missing or unknown", "no lead", "above its ceiling"],
)
def test_a_figure_beyond_its_floor_is_named(
    report: Report, floors: Floors, said: list[str]
) -> None:
    broken = broken_floors(report, floors)

    assert len(broken) == len(said)
    assert all(words in line for words, line in zip(said, broken, strict=True))


def test_floors_are_kept_apart_for_the_recorded_model(report: Report) -> None:
    run = report.run.model_copy(update={"model": "recorded model (1 answers)"})

    assert floors_name(report) == "own"
    assert floors_name(report.model_copy(update={"run": run})) == "own, recorded model"


def test_what_is_proposed_holds_for_what_was_measured() -> None:
    wrong = [numbered(case(verdict=WRONG), n) for n in range(12, 18)]
    measured = report_of(RUN, [*(numbered(case(), n) for n in range(12)), *wrong])

    floors = proposed(measured, Floors(at_least={"citations": 1.0}))

    assert broken_floors(measured, floors) == []
    assert floors.at_least["citations"] == 1.0
    assert 0.6 < floors.at_least["operation/slices/all/right_among_answered"] < 0.67
    assert 0.33 < floors.at_most["operation/slices/all/wrong_among_answered"] < 0.4


def test_floors_that_take_all_sets_hold_only_where_all_were_measured(report: Report) -> None:
    floors = Floors(at_least={f"operation/slices/{UNSEEN}/answered": 1.1})
    slices = {UNSEEN: report.operation.slices["all"]}
    whole = report.operation.model_copy(update={"slices": slices})

    assert broken_floors(report, floors) == []
    assert len(broken_floors(report.model_copy(update={"operation": whole}), floors)) == 1


def test_a_slice_of_few_questions_gets_no_floor() -> None:
    measured = report_of(RUN, [numbered(case(), n) for n in range(9)])

    assert proposed(measured, Floors()) == Floors()


def test_every_set_has_floors_and_asks_for_valid_citations() -> None:
    floors = load_floors()

    assert {SAMPLE, CONTOSO, SQUAD, HANDBOOK} <= set(floors)
    assert all(each.at_least["citations"] == 1.0 for each in floors.values())
    assert floors[HANDBOOK].at_least["retrieval/ours/recall@5"] >= 0.87


SURE = [numbered(case(confidence=0.9), n) for n in range(30)]
WRONG_ONES = [numbered(case(confidence=0.3, verdict=WRONG), n) for n in range(30, 40)]


def test_the_surest_answers_come_first_in_the_risk_line() -> None:
    line = risk_line("own", "with", [*WRONG_ONES, *SURE])

    assert line.points[0][1] == 0.0
    assert line.points[-1][0] == 1.0
    assert line.points[-1][1] == pytest.approx(0.25)


def test_vetoed_answers_state_no_probability() -> None:
    vetoed = numbered(case(confidence=0.0, verdict=WRONG), 99)

    line = reliability_line("own", "with", [*SURE, vetoed])

    assert {(round(stated, 2), right) for stated, right in line.points} == {(0.9, 1.0)}


def test_a_picture_is_well_formed_and_names_its_lines() -> None:
    line = risk_line("A & B", "without", SURE)

    text = picture("Risk", "coverage", "risk", [line, risk_line("none", "with", [])], even=True)

    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert "A & B" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "prefers-color-scheme: dark" in text
