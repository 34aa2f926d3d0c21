from __future__ import annotations

import pytest

from bot.evaluating.evaluation import report_of
from bot.evaluating.report import Figure, Report, Run
from tests.bot.evaluating.cases import RIGHT, case
from tests.evals.floors import Floors, broken_floors, load_floors
from tests.evals.sets import sample


@pytest.fixture
def report() -> Report:
    run = Run.model_validate(
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
    made = report_of(run, [case(verdict=RIGHT)])
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


def test_every_set_has_floors_and_asks_for_valid_citations() -> None:
    floors = load_floors()

    assert sample().name in floors
    assert all(each.at_least["citations"] == 1.0 for each in floors.values())
    assert floors["18F handbook"].at_least["retrieval/ours/recall@5"] >= 0.87
