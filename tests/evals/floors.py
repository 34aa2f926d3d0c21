"""Figures that may not get worse: read from floors.json, held against a report.

``python -m tests.evals.floors`` prints floors that the last run would just hold, for a person to
look over and keep.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from bot.answering.evaluation.report import Figure, Report, Slice

FLOORS = Path(__file__).with_name("floors.json")
REPORTS = Path(__file__).parents[2] / ".build" / "evals"
RECORDED = ", recorded model"
UNSEEN = "short_unseen"
"""A slice that takes all training sets: a run on some sets alone has none, and holds no floor."""

_MARGIN = 0.03
_LEAST_QUESTIONS = 10
_AT_LEAST = ("composed_right", "answered", "right_among_answered", "let_through")
_AT_MOST = ("wrong_among_answered", "unanswerable_answered")


class Floors(BaseModel):
    """Paths into a report, such as ``retrieval/ours/recall@5``, and what they have to keep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: dict[str, float] = Field(default_factory=dict)
    at_most: dict[str, float] = Field(default_factory=dict)
    above_zero: tuple[str, ...] = ()


def floors_name(report: Report) -> str:
    """Return under which name a report's floors are kept."""
    return report.run.name + (RECORDED if report.run.model else "")


def load_floors(path: Path = FLOORS) -> Mapping[str, Floors]:
    """Return the floors by the name of the set."""
    return {
        name: Floors.model_validate(each) for name, each in json.loads(path.read_text()).items()
    }


def broken_floors(report: Report, floors: Floors) -> list[str]:
    """Return a line for each figure that does not hold; one that is missing does not."""
    figures = report.model_dump()
    lines = []
    floors = floors if UNSEEN in report.operation.slices else _without(UNSEEN, floors)
    for path, floor in floors.at_least.items():
        value = _value(figures, path)
        if value is None or value < floor:
            lines.append(f"{floors_name(report)}: {path} is {value}, below {floor}")
    for path, ceiling in floors.at_most.items():
        value = _value(figures, path)
        if value is None or value > ceiling:
            lines.append(f"{floors_name(report)}: {path} is {value}, above {ceiling}")
    for path in floors.above_zero:
        value = _value(figures, path)
        if value is None or value <= 0:
            lines.append(f"{floors_name(report)}: {path} is {value}, not above 0")
    return lines


def proposed(report: Report, kept: Floors) -> Floors:
    """Return floors just below what was measured, for every slice with at least ten questions.

    What is kept already and names no slice stays as it is.
    """
    own = {path: floor for path, floor in kept.at_least.items() if "/slices/" not in path}
    least, most = dict(own), dict[str, float]()
    for path, one in _slices(report):
        for name in _AT_LEAST:
            if (value := _told(one, name)) is not None:
                least[f"{path}/{name}"] = max(0.0, math.floor((value - _MARGIN) * 100) / 100)
        for name in _AT_MOST:
            if (value := _told(one, name)) is not None:
                most[f"{path}/{name}"] = min(1.0, math.ceil((value + _MARGIN) * 100) / 100)
    return Floors(at_least=least, at_most=most, above_zero=kept.above_zero)


def main(reports: Path = REPORTS) -> int:
    """Print the proposals as floors.json would have them; 1 where nothing was measured."""
    found = [Report.model_validate_json(path.read_bytes()) for path in reports.glob("*.json")]
    kept = dict(load_floors())
    for report in sorted(found, key=floors_name):
        name = floors_name(report)
        kept[name] = proposed(report, kept.get(name, Floors(at_least={"citations": 1.0})))
    print(json.dumps({name: each.model_dump() for name, each in kept.items()}, indent=2))
    return 0 if found else 1


def _without(slice_: str, floors: Floors) -> Floors:
    def others(bounds: Mapping[str, float]) -> dict[str, float]:
        return {path: bound for path, bound in bounds.items() if f"/{slice_}/" not in path}

    return floors.model_copy(
        update={"at_least": others(floors.at_least), "at_most": others(floors.at_most)}
    )


def _slices(report: Report) -> Iterator[tuple[str, Slice]]:
    for name, one in report.operation.slices.items():
        yield f"operation/slices/{name}", one


def _told(one: Slice, name: str) -> float | None:
    figure = getattr(one, name)
    assert isinstance(figure, Figure)
    return figure.value if figure.n >= _LEAST_QUESTIONS else None


def _value(figures: Mapping[str, object], path: str) -> float | None:
    found: object = figures
    for key in path.split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    value = found.get("value") if isinstance(found, Mapping) else found
    return float(value) if isinstance(value, int | float) else None


if __name__ == "__main__":
    sys.exit(main())
