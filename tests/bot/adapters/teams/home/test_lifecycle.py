"""What is known of where the bot is, from all that arrives."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.listeners import dispatch_to
from bot.platforms.teams.tenant.installation import InstallationEvents
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.conftest import Restart
from tests.bot.adapters.teams.home.written import Written
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.names import ALICE, CAROL, GENERAL, GROUP, HELP
from tests.bot.adapters.teams.visitor import Visitor


async def test_a_chat_is_known_from_when_the_app_is_added_until_it_is_removed(
    teams: FakeTeams, channel: TeamsChannel, client: Client, noted_restart: Restart
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.install()
    assert await noted_restart().places.chat_with(CAROL)
    await carol.uninstall()

    assert await noted_restart().places.chat_with(CAROL) is None
    assert await channel.presence.is_gone(carol.chat)
    assert await noted_restart().presence.is_gone(carol.chat)


async def test_a_chat_is_back_with_the_app_though_it_was_removed_elsewhere(
    teams: FakeTeams, channel: TeamsChannel, client: Client, noted_restart: Restart
) -> None:
    carol, elsewhere = Visitor(teams, client, CAROL), noted_restart()
    await carol.install()
    await elsewhere.places.forget_chat(CAROL)
    await elsewhere.presence.gone(carol.chat, "The bot was removed.")
    await carol.install()

    assert await channel.places.chat_with(CAROL)
    assert not await elsewhere.presence.is_gone(carol.chat)


async def test_a_removed_team_is_back_with_all_its_channels(
    channel: TeamsChannel, alice: Visitor
) -> None:
    await alice.uninstall(HELP)
    await channel.presence.gone(HELP, "403")
    assert await channel.presence.is_gone(GENERAL)
    await alice.install(HELP)

    assert not await channel.presence.is_gone(GENERAL)
    assert not await channel.presence.is_gone(HELP)


@pytest.mark.parametrize("where", [HELP, GROUP, "a:alice-and-bot"])
async def test_whatever_comes_from_a_place_shows_that_the_bot_is_there(
    channel: TeamsChannel, alice: Visitor, where: str
) -> None:
    await channel.presence.gone(where, "403")
    await alice.say(where, "vpn?")

    assert not await channel.presence.is_gone(where)


async def test_a_press_shows_it_too(channel: TeamsChannel, alice: Visitor) -> None:
    said = await alice.say(HELP, "vpn?")
    await channel.presence.gone(HELP, "403")
    pressed = {**said.activity, "type": "invoke", "name": "adaptiveCard/action", "value": {}}
    await alice.deliver(pressed)

    assert not await channel.presence.is_gone(HELP)


async def test_who_comes_and_goes_changes_nothing(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, client: Client
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.joins(GROUP)
    await carol.leaves(GROUP)

    assert not await channel.presence.is_gone(GROUP)
    assert [answer.status for answer in carol.answers] == [200, 200]


async def test_a_deleted_channel_is_gone_and_a_restored_one_is_back(
    channel: TeamsChannel, alice: Visitor
) -> None:
    said = await alice.say(GENERAL, "vpn?")
    told = {**said.activity, "type": "conversationUpdate", "id": "f:1", "channelData": {}}
    for event, gone in (("channelDeleted", True), ("channelRestored", False)):
        channel_data = {**said.activity["channelData"], "channel": {"id": HELP}, "eventType": event}
        await alice.deliver({**told, "channelData": channel_data})
        assert await channel.presence.is_gone(HELP) is gone
        assert not await channel.presence.is_gone(GENERAL)


async def test_what_is_known_of_a_place_is_not_written_again(
    teams: FakeTeams, settings: Settings, alice: Visitor
) -> None:
    written = Written()
    other = connect(settings, written, credentials=CountingCredentials())
    dispatch = dispatch_to(
        [InstallationEvents(other.places, other.presence, other.onlookers, other.errands)]
    )
    said = [await alice.say(where, "vpn?") for where in (alice.chat, HELP, GROUP)]
    for each in said:
        await dispatch.take(each.activity)
    await other.errands.finish()
    once = written.writes
    for each in said:
        await dispatch.take(each.activity)
    await other.errands.finish()

    assert once == written.writes == 2
    assert {key for _, key in written.texts} == {"teams:service", f"teams:chat:{ALICE}"}


@pytest.mark.parametrize("odd", [{}, {"conversation": {}}, {"conversation": "x", "from": []}])
async def test_what_names_no_place_is_left(channel: TeamsChannel, odd: dict[str, Any]) -> None:
    lifecycle = InstallationEvents(
        channel.places, channel.presence, channel.onlookers, channel.errands
    )
    await dispatch_to([lifecycle]).take({"type": "message", **odd})

    assert not await channel.presence.is_gone("")


@pytest.mark.parametrize(("kind", "taken"), [("invoke", True), ("message", False)])
async def test_while_the_record_is_away_a_press_goes_on_and_a_message_is_sent_again(
    settings: Settings, alice: Visitor, *, kind: str, taken: bool
) -> None:
    written = Written()
    written.broken = True
    other = connect(settings, written, credentials=CountingCredentials())
    dispatch = dispatch_to(
        [InstallationEvents(other.places, other.presence, other.onlookers, other.errands)]
    )
    said = await alice.say(HELP, "vpn?")
    with nullcontext() if taken else pytest.raises(StoreUnavailable):
        assert await dispatch.take({**said.activity, "type": kind}) == {}


async def test_a_channel_that_was_shared_just_now_is_known_to_be(
    channel: TeamsChannel, alice: Visitor
) -> None:
    said = await alice.say(GENERAL, "vpn?")
    shared = {"channel": {"id": HELP, "type": "shared"}, "eventType": "channelShared"}
    told = {**said.activity, "type": "conversationUpdate", "id": "f:1"}
    await alice.deliver({**told, "channelData": {**said.activity["channelData"], **shared}})

    assert await channel.onlookers.outside(await channel.places.channel(HELP))
    assert not await channel.onlookers.outside(await channel.places.channel(GENERAL))
