"""The doctor prints what Slack says of all that is configured, and its exit code says if it works.

What each line says is in tests/bot/adapters/slack/test_checking.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.commands.doctor import doctor
from bot.config import Settings
from tests.bot.adapters.slack.server import TOKEN, FakeSlack
from tests.bot.adapters.slack.workspace import names
from tests.bot.server import settings_for

LINES = ("Slack", "Slack events", "Slack people", "Slack admins")


@pytest.fixture
def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret="signing-secret",
        slack_api_url=slack.url,
        slack_escalation_channel=names.PEOPLE,
        slack_admins=(names.ALICE,),
    )


async def test_it_ends_well_where_slack_is_all_set_up(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 0
    assert all(f"  + {name} " in told for name in LINES)
    assert "All that is configured works." in told


async def test_it_names_what_is_broken_on_slack_and_ends_with_one(
    slack: FakeSlack, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    slack.channels.discard(names.PEOPLE)

    code = await doctor(settings)

    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Slack people." in told
    assert "/invite @Frontdesk" in told
    assert TOKEN not in told


async def test_it_says_how_teams_is_set_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await doctor(settings_for(tmp_path, TEAMS_DEV_MODE=True))
    assert "  + Teams            development mode" in capsys.readouterr().out

    code = await doctor(settings_for(tmp_path, microsoft_app_id="1"))
    told = capsys.readouterr().out
    assert code == 1
    assert "Broken: Teams." in told
    assert "MICROSOFT_APP_TENANT_ID is not set" in told
