from __future__ import annotations

import pytest

from bot.answering.evaluation.evaluate import report_of
from bot.answering.evaluation.report import Figure, Report, Run
from tests.bot.evaluating.cases import RIGHT, WRONG, case, numbered
from tests.evals.floors import UNSEEN, Floors, broken_floors, floors_name, load_floors, proposed
from tests.evals.sets import CONTOSO, HANDBOOK, SAMPLE, SQUAD

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


def test_a_figure_at_its_floor_holds(report: Report) -> None:
    assert broken_floors(report, Floors(at_least={"citations": 1.0})) == []


def test_a_figure_below_its_floor_is_named_with_both_values(report: Report) -> None:
    (line,) = broken_floors(report, Floors(at_least={"answers/words": 31.0}))

    assert line == "own: answers/words is 30.0, below 31.0"


def test_a_figure_that_is_missing_or_unknown_is_below_its_floor(report: Report) -> None:
    floors = Floors(at_least={"retrieval/ours/recall@5": 0.1, "no/such": 0.0})

    assert len(broken_floors(report, floors)) == 2


def test_a_lead_of_nothing_is_no_lead(report: Report) -> None:
    (line,) = broken_floors(report, Floors(at_least={}, above_zero=("retrieval_lead/rrf",)))

    assert "not above 0" in line


def test_a_figure_above_its_ceiling_is_named(report: Report) -> None:
    (line,) = broken_floors(report, Floors(at_most={"answers/words": 29.0}))

    assert "above 29.0" in line


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
