"""What the doctor is told of Teams."""

from __future__ import annotations

from typing import NoReturn

from bot.adapters.teams import TeamsChannel, connect
from bot.adapters.teams.calling.cloud import Cloud
from bot.config import Settings, load_settings
from tests.bot.adapters.teams.server import APP_ID, CountingCredentials, FakeTeams


class RefusedCredentials(CountingCredentials):
    """A secret that Entra does not know."""

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001  # botbuilder's signature
    ) -> NoReturn:
        raise PermissionError("AADSTS7000215: Invalid client secret provided.")


async def test_keys_and_a_token_are_fetched(
    channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    part = await channel.check()

    assert (part.state, credentials.fetched) == ("ready", 1)
    assert APP_ID in part.detail


async def test_a_refused_secret_is_told_without_it(settings: Settings, cloud: Cloud) -> None:
    part = await connect(settings, cloud=cloud, credentials=RefusedCredentials()).check()

    assert part.state == "failed"
    assert "MICROSOFT_APP_PASSWORD" in part.detail
    assert "AADSTS" not in part.detail


async def test_keys_that_cannot_be_fetched_are_told(
    teams: FakeTeams, settings: Settings, credentials: CountingCredentials
) -> None:
    nowhere = Cloud(metadata_url=f"{teams.url}/nothing-here")

    part = await connect(settings, cloud=nowhere, credentials=credentials).check()

    assert part.state == "failed"


async def test_development_mode_asks_nobody() -> None:
    part = await connect(load_settings(_env_file=None, TEAMS_DEV_MODE=True)).check()

    assert part.state == "ready"
