"""The figures as a table, for the terminal and for docs/reliability.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.chaos.scenario import Result
from tests.chaos.verdict import LONGEST_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN = "<!-- written by make chaos: begin -->"
END = "<!-- written by make chaos: end -->"


def table(results: Mapping[str, Result]) -> str:
    """Return the figures as a Markdown table, a column a run."""
    rows = {name: _figures(result) for name, result in results.items()}
    labels = list(next(iter(rows.values())))
    lines = [_row("", *rows), _row("---", *("---:" for _ in rows))]
    lines += [_row(label, *(row[label] for row in rows.values())) for label in labels]
    return "\n".join(lines)


def page_part(results: Mapping[str, Result], command: str, seed: int) -> str:
    """Return what goes between the markers: machine, versions, date, command, seed, table."""
    today = datetime.now(UTC).date()
    engine = f"dbos {version('dbos')}, SQLAlchemy {version('sqlalchemy')}"
    machine = (
        f"{today}, Python {platform.python_version()}, {engine}, {os.cpu_count()} cores, "
        f"{platform.machine()}. Seed {seed}."
    )
    return f"{machine}\n\n```console\n$ {command}\n```\n\n{table(results)}"


def write(part: str, page: Path = PAGE) -> None:
    """Replace what is between the markers; the rest of the page is written by hand.

    Raises ValueError when the page has no markers.
    """
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page.name} lacks {BEGIN!r} and {END!r}. Add them where figures go.")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n\n{part}\n\n{END}{after}")


def _figures(result: Result) -> dict[str, str]:
    verdict = result.verdict
    waits = np.array(verdict.waits or [0.0])
    tried = len(verdict.disorder) + verdict.pairs_in_order
    return {
        "questions asked": f"{verdict.asked:,}",
        "deliveries of their events": f"{result.deliveries:,}",
        **{name: str(count) for name, count in _faults(result).items()},
        "never accepted (the platform says so)": str(len(verdict.not_accepted)),
        "**lost**": _bold(len(verdict.lost)),
        "**answered twice**": _bold(len(verdict.twice)),
        "answered otherwise than expected": str(len(verdict.unexpected)),
        "hand-overs to people lost / doubled": f"{len(verdict.cards_lost)} / "
        f"{len(verdict.cards_twice)}",
        "seen where nobody asked": str(len(verdict.strays)),
        "out of order, of pairs in one thread": f"{len(verdict.disorder)} of {tried}",
        f"last answer after last fault, s (aim {LONGEST_SECONDS:.0f})": _seconds(verdict.seconds),
        "from question to answer, s, p50 / p95 / longest": " / ".join(
            f"{value:.1f}" for value in (*np.percentile(waits, [50, 95]), waits.max())
        ),
        "the run took, s": f"{result.seconds:.0f}",
    }


def _faults(result: Result) -> dict[str, int]:
    said = "\n".join(result.timeline)
    return {
        "servers killed (`kill -9`)": said.count(" killed"),
        "of these while starting": said.count(" killed while it started"),
        "of these never to come back": said.count(" is gone for good"),
        "servers that ended by themselves": len(result.ended_by_themselves),
        "PostgreSQL stopped or crashed": said.count("PostgreSQL stopped")
        + said.count("PostgreSQL crashed"),
        "all connections to PostgreSQL cut": said.count("connections to PostgreSQL cut"),
        "calls that Slack broke": sum(result.troubles.values()),
    }


def _seconds(seconds: float | None) -> str:
    return "no fault" if seconds is None else f"{seconds:.1f}"


def _bold(count: int) -> str:
    return f"**{count}**"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
