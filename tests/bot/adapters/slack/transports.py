"""The settings and the patience with which tests come in by a socket."""

from __future__ import annotations

from pydantic import SecretStr

from bot.domain.settings import Settings
from bot.platforms.slack.transport.socket_mode import SocketTimeouts
from tests.bot.adapters.slack.workspace.names import APP_TOKEN

HASTY = SocketTimeouts(
    connect=2.0, look=0.02, ping=0.2, first_pause=0.02, longest_pause=0.1, finish=1.0
)


def on_socket(settings: Settings) -> Settings:
    """Return the settings of the same workspace, reached by a socket."""
    changes = {"slack_signing_secret": None, "slack_app_token": SecretStr(APP_TOKEN)}
    return settings.model_copy(update=changes)
