"""Connect to a workspace as the application does, but with a pace that costs no time."""

from __future__ import annotations

from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.platforms import slack
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.client.rate_limits import ApiCaller
from tests.fakes.fast_time import fast_clock, fast_pause
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import TEAM, TOKEN


def connect_hurried(settings: Settings, notes: Notes | None = None) -> SlackChannel:
    """Return a channel that keeps Slack's rate limits in fast time."""
    return connect(settings, notes, caller=ApiCaller(fast_pause, fast_clock))


def take_over() -> None:
    """Have this process connect so, for the rest of its life."""
    setattr(slack, "connect", connect_hurried)  # noqa: B010 - it is for nothing else


def slack_settings(url: str) -> dict[str, object]:
    """Return the settings of an application in a workspace that runs here."""
    return {
        "slack_bot_token": TOKEN,
        "slack_signing_secret": SECRET,
        "slack_api_url": url,
        "slack_team_id": TEAM,
    }
