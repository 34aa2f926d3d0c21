"""The whole application at the Teams that runs here: its settings, and the way to its cloud."""

from __future__ import annotations

from functools import partial

from bot.platforms import teams
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA, ISSUER

UNLIMITED = {"rate_per_user_per_minute": 0, "rate_per_channel_per_minute": 0}


def on_teams(url: str) -> dict[str, object]:
    """Return the settings of an application at a tenant that runs here."""
    return {
        "microsoft_app_id": APP_ID,
        "microsoft_app_password": "secret",
        "microsoft_app_tenant_id": ENTRA,
        "teams_service_url": f"{url}/",
        "teams_escalation_channel": names.PEOPLE,
        **UNLIMITED,
    }


class Local:
    """Connects as bot.platforms.teams does, but to the cloud at an address of this machine."""

    def __init__(self, url: str) -> None:
        cloud = Cloud(issuer=ISSUER, metadata_url=f"{url}/meta", login_url=f"{url}/login")
        self.connect = partial(connect, cloud=cloud, credentials=CountingCredentials())

    def take_over(self) -> None:
        """Have this process connect so, for the rest of its life."""
        setattr(teams, "connect", self.connect)  # noqa: B010 - it is for nothing else
