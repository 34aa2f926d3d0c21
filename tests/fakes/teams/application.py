"""Run the whole application at the fake Teams: ``python -m tests.fakes.teams.application serve``.

``TEAMS_HERE`` is that tenant's address. There is no setting for it: nobody else should have one.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from bot.__main__ import main
from bot.platforms import teams
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from tests.fakes.fast_time import fast_clock, fast_pause
from tests.fakes.teams import names
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.names import APP_ID, ENTRA, ISSUER

UNLIMITED = {"rate_per_user_per_minute": 0, "rate_per_channel_per_minute": 0}


def teams_settings(url: str) -> dict[str, object]:
    """Return the settings of an application at a tenant that runs here."""
    return {
        "microsoft_app_id": APP_ID,
        "microsoft_app_password": "secret",
        "microsoft_app_tenant_id": ENTRA,
        "teams_service_url": f"{url}/",
        "teams_escalation_channel": names.PEOPLE,
        **UNLIMITED,
    }


class LocalCloud:
    """Connects as bot.platforms.teams does, but to the cloud at an address of this machine.

    ``hurried``: rate limits are kept in fast time.
    """

    def __init__(self, url: str, *, hurried: bool = False) -> None:
        cloud = Cloud(issuer=ISSUER, metadata_url=f"{url}/meta", login_url=f"{url}/login")
        self.connect = partial(connect, cloud=cloud, credentials=CountingCredentials())
        if hurried:
            self.connect = partial(self.connect, pause=fast_pause, clock=fast_clock)

    def take_over(self) -> None:
        """Have this process connect so, for the rest of its life."""
        setattr(teams, "connect", self.connect)  # noqa: B010 - it is for nothing else


PROGRAM = "tests.fakes.teams.application"


def environment_of(url: str) -> dict[str, str]:
    """Return what such a server is started with."""
    return {
        "TEAMS_HERE": url,
        "TEAMS_SERVICE_URL": f"{url}/",
        "MICROSOFT_APP_ID": APP_ID,
        "MICROSOFT_APP_PASSWORD": "secret",
        "MICROSOFT_APP_TENANT_ID": ENTRA,
    }


if __name__ == "__main__":
    LocalCloud(os.environ["TEAMS_HERE"]).take_over()
    sys.exit(main())
