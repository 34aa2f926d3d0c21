"""A server on Slack that is killed and starts anew."""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from bot.observability.logs import set_up_logs
from bot.platforms.slack.client import api
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.workspace.names import TEAM, TOKEN
from tests.bot.server import settings_for
from tests.delivering.lives import serve


def live(data_dir: Path, slack_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed."""
    set_up_logs("error")
    setattr(api, "_RATES", {})  # noqa: B010 - Slack's pace is another test's
    settings = settings_for(
        data_dir,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack_url,
        slack_team_id=TEAM,
        concurrency=64,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
    )
    asyncio.run(serve(settings, port, tells))
