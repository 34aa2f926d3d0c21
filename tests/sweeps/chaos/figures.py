"""What runs found, as Markdown, and its place in docs/chaos.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.sweeps.chaos.loads import LoadResult
from tests.sweeps.chaos.scenario import Result
from tests.sweeps.chaos.takeover import AIM_SECONDS
from tests.sweeps.chaos.verdict import LONGEST_SECONDS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "chaos.md"


def table(results: Mapping[str, Result]) -> str:
    """Return the figures as a Markdown table, a column a run."""
    return _columns({name: _figures(result) for name, result in results.items()})


def _columns(rows: Mapping[str, Mapping[str, str]]) -> str:
    labels = list(next(iter(rows.values())))
    lines = [_row("", *rows), _row("---", *("---:" for _ in rows))]
    lines += [_row(label, *(row[label] for row in rows.values())) for label in labels]
    return "\n".join(lines)


def loads_table(results: Mapping[str, LoadResult]) -> str:
    """Return the figures of runs under load in the same form."""
    return _columns({name: _load_figures(found) for name, found in results.items()})


def page_part(table: str, command: str, seed: int) -> str:
    """Return what goes between the markers: machine, versions, date, command, seed, table."""
    today = datetime.now(UTC).date()
    engine = f"dbos {version('dbos')}, SQLAlchemy {version('sqlalchemy')}"
    machine = (
        f"{today}, Python {platform.python_version()}, {engine}, {os.cpu_count()} cores, "
        f"{platform.machine()}. Seed {seed}."
    )
    return f"{machine}\n\n```console\n$ {command}\n```\n\n{table}"


def write(part: str, command: str, page: Path = PAGE) -> None:
    """Replace what is between a command's markers; the rest of the page is written by hand.

    Raises ValueError when the page has no such markers.
    """
    begin, end = (f"<!-- written by {command}: {edge} -->" for edge in ("begin", "end"))
    text = page.read_text()
    if begin not in text or end not in text:
        raise ValueError(f"{page.name} lacks {begin!r} and {end!r}. Add them where figures go.")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    page.write_text(f"{before}{begin}\n\n{part}\n\n{end}{after}")


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


def _load_figures(found: LoadResult) -> dict[str, str]:
    seconds = np.array(found.takeover_seconds or [0.0])
    figures = _figures(found.result)
    kept = (
        "questions asked",
        "deliveries of their events",
        "servers killed (`kill -9`)",
        "never accepted (the platform says so)",
        "**lost**",
        "**answered twice**",
        "out of order, of pairs in one thread",
        "from question to answer, s, p50 / p95 / longest",
    )
    verdict = found.result.verdict
    hand_overs = len(verdict.cards_lost) + len(verdict.cards_twice)
    others = len(verdict.unexpected) + hand_overs + len(verdict.strays)
    told = {label: figures[label] for label in kept}
    first = {"questions asked": told.pop("questions asked"), "asked a second": f"{found.rate:.0f}"}
    taken = {
        "begun by a server that was killed": str(len(found.takeover_seconds)),
        f"begun again or answered after, s, p50 / longest (aim {AIM_SECONDS:.0f})": (
            f"{np.median(seconds):.1f} / {seconds.max():.1f}"
        ),
    }
    return {**first, **taken, **told, "anything else wrong": str(others)}


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
