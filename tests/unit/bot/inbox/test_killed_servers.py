"""Wherever a server is killed, each question that was kept has exactly one reply."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_killed_anywhere_and_started_again_on_its_file_it_posts_each_reply_once(
    tmp_path: Path,
) -> None:
    seen = killed_everywhere(tmp_path, dict.fromkeys(POINTS, "-"))

    assert seen == {points: as_it_should_be(points) for points in POINTS}


def test_killed_anywhere_and_never_coming_back_it_is_followed_by_another_that_posts_once(
    tmp_path: Path, postgres: postgresql.Server
) -> None:
    names = {points: f"dying_{number}" for number, points in enumerate(CHAINS)}
    addresses = {points: postgres.create(names[points], template=TEMPLATE) for points in CHAINS}
    try:
        seen = killed_everywhere(tmp_path, addresses)
    finally:
        for name in names.values():
            postgres.drop(name)

    assert seen == {points: as_it_should_be(points) for points in CHAINS}


def test_the_chains_leave_no_point_out() -> None:
    every = {point for points in POINTS for point in points.split(",")}

    assert {point for points in CHAINS for point in points.split(",")} == every
