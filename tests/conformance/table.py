"""Which platform shows what, as a table in Markdown; why something is missing is told below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

YES = "yes"
Cell = Callable[[str, str], str]
"""Tells what came of a case on a platform: ``yes``, or its faults."""

Missing = Mapping[str, Mapping[str, str]]
"""Why, by platform and case."""


def table(
    cases: Iterable[str],
    platforms: Sequence[str],
    missing: Mapping[str, Mapping[str, str]],
    cell: Cell,
) -> str:
    """Return the table; what is missing as declared has the number of its reason."""
    reasons: dict[str, int] = {}
    lines = [f"| case | {' | '.join(platforms)} |", f"|---|{'---|' * len(platforms)}"]
    for case in cases:
        cells = []
        for platform in platforms:
            why = missing.get(platform, {}).get(case)
            told = cell(case, platform)
            if why is not None and told == YES:
                told = f"- ({reasons.setdefault(why, len(reasons) + 1)})"
            cells.append(told)
        lines.append(f"| {case} | {' | '.join(cells)} |")
    notes = [f"{number}. {why}" for why, number in reasons.items()]
    return "\n".join([*lines, "", *notes])
