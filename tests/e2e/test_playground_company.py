"""Test that the guide leads to the playground and the company that the tests use."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.fakes.playground import BOT_NAME, CONFIG, PEOPLE

ROOT = Path(__file__).parents[2]


def test_the_guide_leads_to_the_playground_that_is_tried() -> None:
    shipped = ROOT / "infra" / "teams" / "playground.yml"
    guide = (ROOT / "docs" / "teams-playground.md").read_text(encoding="utf-8")
    assert yaml.safe_load(shipped.read_text(encoding="utf-8")) == CONFIG
    assert f"TEAMS_ESCALATION_CHANNEL={PEOPLE} " in guide
    assert f"choose **{BOT_NAME}**" in guide
    assert "M365_AGENTS_PLAYGROUND_CONFIG_PATH=infra/teams/playground.yml" in guide
