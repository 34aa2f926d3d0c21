"""Test what the doctor is told of Teams."""

from __future__ import annotations

import pytest

from bot.domain import health
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.domain.ports import TellsState
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.health_checks import admins_part
from tests.fakes.teams.activities import question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import APP_ID, ELSEWHERE, GUESTS, PEOPLE
from tests.fakes.teams.server import FakeTeams

ADMIN = "aaaaaaaa-2222-3333-4444-555555555555"


def with_all(settings: Settings, **changes: object) -> Settings:
    """Return settings in which nothing is left out."""
    named = {"teams_escalation_channel": PEOPLE, "teams_admins": (ADMIN, "bob@acme.example")}
    return settings.model_copy(update={**named, **changes})


async def lines(settings: Settings, cloud: Cloud) -> dict[str, ComponentStatus]:
    channel = connect(settings, cloud=cloud, credentials=CountingCredentials())
    return {part.name: part for part in await channel.checks()}


async def test_keys_and_a_token_are_fetched(
    channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    part = await channel.check()

    assert (part.state, credentials.fetched) == ("ready", 1)
    assert APP_ID in part.detail
    assert "TEAMS_ESCALATION_CHANNEL" in part.cure
    assert "TEAMS_ADMINS" in part.cure


async def test_all_that_is_configured_is_told_line_by_line_and_nothing_is_posted(
    teams: FakeTeams, settings: Settings, cloud: Cloud
) -> None:
    told = await lines(with_all(settings), cloud)

    assert list(told) == ["Teams", "Teams people", "Teams admins"]
    assert {part.state for part in told.values()} == {"ready"}
    assert not any(part.cure for part in told.values())
    assert PEOPLE in told["Teams people"].detail
    assert teams.calls == ["meta", "members"]


async def test_what_is_left_out_is_no_failure(settings: Settings, cloud: Cloud) -> None:
    told = await lines(settings, cloud)

    assert (told["Teams people"].state, told["Teams admins"].state) == ("absent", "absent")
    assert told["Teams people"].cure.startswith("Set TEAMS_ESCALATION_CHANNEL")
    assert told["Teams admins"].cure == "Set TEAMS_ADMINS."


@pytest.mark.parametrize("where", [ELSEWHERE, "19:nowhere@thread.tacv2"])
async def test_a_channel_without_the_app_is_told_with_the_cure(
    settings: Settings, cloud: Cloud, where: str
) -> None:
    part = (await lines(with_all(settings, teams_escalation_channel=where), cloud))["Teams people"]

    assert (part.state, where in part.detail) == ("failed", True)
    assert "add the app to its team" in part.cure


async def test_a_channel_where_guests_read_is_told_of(settings: Settings, cloud: Cloud) -> None:
    part = (await lines(with_all(settings, teams_escalation_channel=GUESTS), cloud))["Teams people"]

    assert (part.state, "guests" in part.detail) == ("ready", True)
    assert part.cure


async def test_teams_that_does_not_answer_is_told(
    teams: FakeTeams, settings: Settings, cloud: Cloud
) -> None:
    teams.fail(Fault(500), call="members")

    assert (await lines(with_all(settings), cloud))["Teams people"].state == "failed"


@pytest.mark.parametrize("wrong", ["Bob", "bob@acme", "29:bob", ADMIN[:-1], "a b@acme.example"])
def test_an_admin_that_names_nobody_is_told(wrong: str) -> None:
    part = admins_part((ADMIN, wrong))

    assert part.state == "failed"
    assert wrong in part.detail
    assert f"{ADMIN}," not in part.detail


async def test_how_it_stands_is_told_without_asking(
    teams: FakeTeams, channel: TeamsChannel, settings: Settings
) -> None:
    assert isinstance(channel, TellsState)

    assert channel.part() == health.teams(settings)
    assert not teams.calls


async def test_how_it_stands_tells_of_keys_that_cannot_be_fetched_until_they_can(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.keys_down = True
    assert (await channel.check()).state == "failed"
    assert (channel.part().name, channel.part().state) == ("Teams", "failed")
    teams.keys_down = False
    await channel.check()

    assert channel.part().state == "ready"


async def test_how_it_stands_tells_of_a_token_that_is_refused_until_it_is_not(
    teams: FakeTeams, settings: Settings, cloud: Cloud
) -> None:
    expiring = CountingCredentials(seconds=0)
    channel = connect(settings, cloud=cloud, credentials=expiring)
    await channel.check()
    expiring.refusal = "AADSTS7000222: The provided client secret keys are expired."
    with pytest.raises(DeliveryFailed):
        await channel.client.send(question(teams).reply_to, {"type": "message", "text": "x"})
    part = channel.part()
    assert (part.state, "MICROSOFT_APP_PASSWORD" in part.cure) == ("failed", True)
    assert "AADSTS" not in part.line()
    expiring.refusal = ""
    await channel.check()

    assert channel.part().state == "ready"


async def test_a_refused_secret_is_told_without_it(settings: Settings, cloud: Cloud) -> None:
    refusing = CountingCredentials(refusal="AADSTS7000215: Invalid client secret provided.")
    part = await connect(settings, cloud=cloud, credentials=refusing).check()

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
