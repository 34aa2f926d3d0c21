"""A server on Teams that is killed and starts anew."""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from bot.observability.logs import set_up_logs
from bot.platforms.teams.messages import replies
from tests.bot.server import settings_for
from tests.delivering.lives import serve
from tests.teams.tenant import Local, on_teams


def live(data_dir: Path, teams_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed."""
    set_up_logs("error")
    Local(teams_url).take_over()
    settings = settings_for(data_dir, concurrency=64, **on_teams(teams_url))
    asyncio.run(serve(settings, port, tells))


def forgetful(data_dir: Path, teams_url: str, port: int, tells: Connection) -> None:
    """Be a server until killed, that says of no answer that it may stand there twice."""
    setattr(replies, "marked_as_repeated", dict)  # noqa: B010 - this process is for nothing else
    live(data_dir, teams_url, port, tells)
