"""Connect to platforms that run here as the application does, and run all of it at the fake Teams.

``python -m tests.fakes.applications serve`` does the latter. ``TEAMS_HERE`` is that tenant's
address; there is no setting for it: nobody else should have one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from functools import partial

from bot.__main__ import main
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.platforms import slack, teams
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.channel import connect as connect_slack
from bot.platforms.slack.client.rate_limits import ApiCaller
from bot.platforms.teams.channel import connect as connect_teams
from bot.platforms.teams.client.registration import Cloud
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import TEAM, TOKEN
from tests.fakes.teams import names
from tests.fakes.teams.credentials import CountingCredentials

_FASTER = 50.0


def _fast_clock() -> float:
    """Return the seconds of a time that passes fifty times as fast."""
    return _FASTER * time.monotonic()


async def _fast_pause(seconds: float) -> None:
    """Sleep for seconds of the fast time: rate limits are kept, and nobody waits for them."""
    await asyncio.sleep(seconds / _FASTER)


def connect_hurried(settings: Settings, notes: Notes | None = None) -> SlackChannel:
    """Return a channel that keeps Slack's rate limits in fast time."""
    return connect_slack(settings, notes, caller=ApiCaller(_fast_pause, _fast_clock))


def take_over_slack() -> None:
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


UNLIMITED = {"rate_per_user_per_minute": 0, "rate_per_channel_per_minute": 0}


def teams_settings(url: str) -> dict[str, object]:
    """Return the settings of an application at a tenant that runs here."""
    return {
        "microsoft_app_id": names.APP_ID,
        "microsoft_app_password": "secret",
        "microsoft_app_tenant_id": names.ENTRA,
        "teams_service_url": f"{url}/",
        "teams_escalation_channel": names.PEOPLE,
        **UNLIMITED,
    }


class LocalCloud:
    """Connects as bot.platforms.teams does, but to the cloud at an address of this machine.

    ``hurried``: rate limits are kept in fast time.
    """

    def __init__(self, url: str, *, hurried: bool = False) -> None:
        cloud = Cloud(issuer=names.ISSUER, metadata_url=f"{url}/meta", login_url=f"{url}/login")
        self.connect = partial(connect_teams, cloud=cloud, credentials=CountingCredentials())
        if hurried:
            self.connect = partial(self.connect, pause=_fast_pause, clock=_fast_clock)

    def take_over(self) -> None:
        """Have this process connect so, for the rest of its life."""
        setattr(teams, "connect", self.connect)  # noqa: B010 - it is for nothing else


PROGRAM = "tests.fakes.applications"


def environment_of(url: str) -> dict[str, str]:
    """Return what such a server is started with."""
    return {
        "TEAMS_HERE": url,
        "TEAMS_SERVICE_URL": f"{url}/",
        "MICROSOFT_APP_ID": names.APP_ID,
        "MICROSOFT_APP_PASSWORD": "secret",
        "MICROSOFT_APP_TENANT_ID": names.ENTRA,
    }


if __name__ == "__main__":
    LocalCloud(os.environ["TEAMS_HERE"]).take_over()
    sys.exit(main())
