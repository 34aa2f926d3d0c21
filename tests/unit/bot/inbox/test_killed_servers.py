"""Wherever a server is killed, each question that was kept has exactly one reply."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import postgres as postgresql
from tests.unit.bot.conftest import TEMPLATE
from tests.unit.bot.inbox.killed_servers import CHAINS, POINTS, QUESTIONS

ROOT = Path(__file__).parents[4]
KILLED = -9


def killed_everywhere(folder: Path, addresses: dict[str, str]) -> dict[str, dict[str, object]]:
    """Kill servers at every point; return by point what was seen afterwards."""
    command = [sys.executable, "-m", "tests.unit.bot.inbox.killed_servers", str(folder)]
    command += [f"{points}={address}" for points, address in addresses.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    seen: dict[str, dict[str, object]] = json.loads(done.stdout)
    return seen


def as_it_should_be(points: str) -> dict[str, object]:
    deaths = len(points.split(","))
    return {"posts": [1] * QUESTIONS, "unfinished": 0, "ends": [KILLED] * deaths + [0]}


@pytest.mark.parametrize(
    "plans",
    [
        pytest.param(("begun,claimed", "posted,looked_up"), id="smoke"),
        pytest.param(POINTS, id="whole", marks=pytest.mark.sweep),
    ],
)
def test_killed_anywhere_and_started_again_it_posts_each_reply_once(
    plans: tuple[str, ...], tmp_path: Path
) -> None:
    seen = killed_everywhere(tmp_path, dict.fromkeys(plans, "-"))

    assert seen == {points: as_it_should_be(points) for points in plans}


@pytest.mark.parametrize(
    "plans",
    [
        pytest.param(("answering,recorded,looked_up",), id="smoke"),
        pytest.param(CHAINS, id="whole", marks=pytest.mark.sweep),
    ],
)
def test_killed_for_good_anywhere_another_posts_each_reply_once(
    plans: tuple[str, ...], tmp_path: Path, postgres: postgresql.Server
) -> None:
    names = {points: f"dying_{number}" for number, points in enumerate(plans)}
    addresses = {points: postgres.create(names[points], template=TEMPLATE) for points in plans}
    try:
        seen = killed_everywhere(tmp_path, addresses)
    finally:
        for name in names.values():
            postgres.drop(name)

    assert seen == {points: as_it_should_be(points) for points in plans}


def test_the_chains_leave_no_point_out() -> None:
    every = {point for points in POINTS for point in points.split(",")}

    assert {point for points in CHAINS for point in points.split(",")} == every
