"""Figures that may not fall: read from floors.json, held against a report; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bot.evaluating.report import Report

FLOORS = Path(__file__).with_name("floors.json")


class Floors(BaseModel):
    """Paths into a report, such as ``retrieval/ours/recall@5``, and what they must reach."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: dict[str, float]
    above_zero: tuple[str, ...] = ()


def load_floors(path: Path = FLOORS) -> Mapping[str, Floors]:
    """Return the floors by the name of the set."""
    return {
        name: Floors.model_validate(each) for name, each in json.loads(path.read_text()).items()
    }


def broken_floors(report: Report, floors: Floors) -> list[str]:
    """Return a line for each figure below its floor; a figure that is missing is below it."""
    figures = report.model_dump()
    lines = []
    for path, floor in floors.at_least.items():
        value = _value(figures, path)
        if value is None or value < floor:
            lines.append(f"{report.run.name}: {path} is {value}, below {floor}")
    for path in floors.above_zero:
        value = _value(figures, path)
        if value is None or value <= 0:
            lines.append(f"{report.run.name}: {path} is {value}, not above 0")
    return lines


def _value(figures: Mapping[str, object], path: str) -> float | None:
    found: object = figures
    for key in path.split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    value = found.get("value") if isinstance(found, Mapping) else found
    return float(value) if isinstance(value, int | float) else None
