"""What the doctor is told of Slack."""

from __future__ import annotations

from bot.adapters.slack import SlackChannel, connect
from bot.config import Settings
from tests.bot.adapters.slack.server import TEAM, FakeSlack, Fault


async def test_a_working_token_names_its_workspace(channel: SlackChannel) -> None:
    part = await channel.check()

    assert (part.state, TEAM in part.detail) == ("ready", True)


async def test_a_missing_scope_is_named_with_its_cure(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.scopes = ("chat:write", "app_mentions:read", "channels:history")

    part = await channel.check()

    assert part.state == "failed"
    assert "im:history" in part.detail
    assert "reinstall" in part.cure


async def test_a_token_of_another_workspace_is_told(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"slack_team_id": "T0OTHER00"})

    part = await connect(elsewhere).check()

    assert part.state == "failed"
    assert TEAM in part.detail


async def test_a_refused_token_is_told_with_its_cure(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("auth.test", Fault(error="token_revoked"))

    part = await channel.check()

    assert part.state == "failed"
    assert "SLACK_BOT_TOKEN" in part.detail
