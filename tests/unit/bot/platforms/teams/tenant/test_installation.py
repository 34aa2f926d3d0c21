"""Test what is known of where the bot is, and its greeting where it is added."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from bot.chat.commands.command_texts import CHAT_HELLO, HELLO, PERSONAL_HELLO
from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.platforms.teams import dispatch_to
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.installation import (
    InstallationChange,
    InstallationEvents,
    changed_conversation_of,
    installation_change_of,
)
from tests.fakes.http_server import wait_until
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import ALICE, CAROL, ELSEWHERE, GENERAL, GROUP, HELP
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.unit.bot.platforms.teams.conftest import Restart
from tests.unit.bot.platforms.teams.tenant.shared_notes import SharedNotes

BOT_ACCOUNT = {"id": "28:app"}
ALICE_ACCOUNT = {"id": "29:alice"}


def activity(kind: str, event: str = "", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": kind,
        "recipient": BOT_ACCOUNT,
        "conversation": {"id": "19:general@thread.tacv2"},
        "channelData": {"eventType": event, "channel": {"id": "19:help@thread.tacv2"}},
        **changes,
    }


@pytest.mark.parametrize(
    ("body", "change"),
    [
        (activity("installationUpdate", action="add"), "added"),
        (activity("installationUpdate", action="remove"), "removed"),
        (activity("installationUpdate", action="add-upgrade"), "reopened"),
        (activity("installationUpdate", action="remove-upgrade"), None),
        (activity("installationUpdate", action=7), None),
        (activity("conversationUpdate", membersAdded=[ALICE_ACCOUNT, BOT_ACCOUNT]), "added"),
        (activity("conversationUpdate", membersRemoved=[BOT_ACCOUNT]), "removed"),
        (activity("conversationUpdate", membersAdded=[ALICE_ACCOUNT]), None),
        (activity("conversationUpdate", membersAdded="28:app"), None),
        (activity("conversationUpdate", "channelDeleted"), "closed"),
        (activity("conversationUpdate", "channelRestored"), "reopened"),
        (activity("conversationUpdate", "teamArchived"), "closed"),
        (activity("conversationUpdate", "teamUnarchived"), "reopened"),
        (activity("conversationUpdate", "teamRenamed"), None),
        (activity("message", "channelDeleted", membersRemoved=[BOT_ACCOUNT]), None),
        ({"type": "conversationUpdate", "membersRemoved": [{}]}, None),
    ],
)
def test_what_changes(body: dict[str, Any], change: InstallationChange | None) -> None:
    assert installation_change_of(body) == change


def test_what_happens_to_a_channel_is_about_that_channel() -> None:
    assert (
        changed_conversation_of(activity("conversationUpdate", "channelDeleted"))
        == "19:help@thread.tacv2"
    )
    assert (
        changed_conversation_of(activity("installationUpdate", action="add"))
        == "19:general@thread.tacv2"
    )


async def test_a_chat_is_known_from_when_the_app_is_added_until_it_is_removed(
    teams: FakeTeams, channel: TeamsChannel, client: BotTestClient, noted_restart: Restart
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.install()
    assert await noted_restart().client.conversations.chat_with(CAROL)
    await carol.uninstall()

    assert await noted_restart().client.conversations.chat_with(CAROL) is None
    assert await channel.client.removals.is_removed(carol.chat)
    assert await noted_restart().client.removals.is_removed(carol.chat)


async def test_a_chat_is_back_with_the_app_though_it_was_removed_elsewhere(
    teams: FakeTeams, channel: TeamsChannel, client: BotTestClient, noted_restart: Restart
) -> None:
    carol, elsewhere = Visitor(teams, client, CAROL), noted_restart()
    await carol.install()
    await elsewhere.client.conversations.forget_chat(CAROL)
    await elsewhere.client.removals.mark_removed(carol.chat, "The bot was removed.")
    await carol.install()

    assert await channel.client.conversations.chat_with(CAROL)
    assert not await elsewhere.client.removals.is_removed(carol.chat)


async def test_a_removed_team_is_back_with_all_its_channels(
    channel: TeamsChannel, alice: Visitor
) -> None:
    await alice.uninstall(HELP)
    await channel.client.removals.mark_removed(HELP, "403")
    assert await channel.client.removals.is_removed(GENERAL)
    await alice.install(HELP)

    assert not await channel.client.removals.is_removed(GENERAL)
    assert not await channel.client.removals.is_removed(HELP)


@pytest.mark.parametrize("where", [HELP, GROUP, "a:alice-and-bot"])
async def test_whatever_comes_from_a_place_shows_that_the_bot_is_there(
    channel: TeamsChannel, alice: Visitor, where: str
) -> None:
    await channel.client.removals.mark_removed(where, "403")
    await alice.say(where, "vpn?")

    assert not await channel.client.removals.is_removed(where)


async def test_a_press_shows_it_too(channel: TeamsChannel, alice: Visitor) -> None:
    said = await alice.say(HELP, "vpn?")
    await channel.client.removals.mark_removed(HELP, "403")
    pressed = {**said.activity, "type": "invoke", "name": "adaptiveCard/action", "value": {}}
    await alice.deliver(pressed)

    assert not await channel.client.removals.is_removed(HELP)


async def test_who_comes_and_goes_changes_nothing(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, client: BotTestClient
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.joins(GROUP)
    await carol.leaves(GROUP)

    assert not await channel.client.removals.is_removed(GROUP)
    assert [answer.status for answer in carol.answers] == [200, 200]


async def test_a_deleted_channel_is_gone_and_a_restored_one_is_back(
    channel: TeamsChannel, alice: Visitor
) -> None:
    said = await alice.say(GENERAL, "vpn?")
    told = {**said.activity, "type": "conversationUpdate", "id": "f:1", "channelData": {}}
    for event, gone in (("channelDeleted", True), ("channelRestored", False)):
        channel_data = {**said.activity["channelData"], "channel": {"id": HELP}, "eventType": event}
        await alice.deliver({**told, "channelData": channel_data})
        assert await channel.client.removals.is_removed(HELP) is gone
        assert not await channel.client.removals.is_removed(GENERAL)


async def test_what_is_known_of_a_place_is_not_written_again(
    teams: FakeTeams, settings: Settings, alice: Visitor
) -> None:
    written = SharedNotes()
    other = connect(settings, written, credentials=CountingCredentials())
    dispatch = dispatch_to(
        [InstallationEvents(other.client, other.outside_readers, other.background)]
    )
    said = [await alice.say(where, "vpn?") for where in (alice.chat, HELP, GROUP)]
    for each in said:
        await dispatch.take(each.activity)
    await other.background.finish()
    once = written.writes
    for each in said:
        await dispatch.take(each.activity)
    await other.background.finish()

    assert once == written.writes == 2
    assert {key for _, key in written.texts} == {"teams:service", f"teams:chat:{ALICE}"}


@pytest.mark.parametrize("odd", [{}, {"conversation": {}}, {"conversation": "x", "from": []}])
async def test_what_names_no_place_is_left(channel: TeamsChannel, odd: dict[str, Any]) -> None:
    lifecycle = InstallationEvents(channel.client, channel.outside_readers, channel.background)
    await dispatch_to([lifecycle]).take({"type": "message", **odd})

    assert not await channel.client.removals.is_removed("")


@pytest.mark.parametrize(("kind", "taken"), [("invoke", True), ("message", False)])
async def test_while_the_record_is_away_a_press_goes_on_and_a_message_is_sent_again(
    settings: Settings, alice: Visitor, *, kind: str, taken: bool
) -> None:
    written = SharedNotes()
    written.broken = True
    other = connect(settings, written, credentials=CountingCredentials())
    dispatch = dispatch_to(
        [InstallationEvents(other.client, other.outside_readers, other.background)]
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

    places, outside = channel.client.conversations, channel.outside_readers.outside
    assert await outside(await places.channel(HELP))
    assert not await outside(await places.channel(GENERAL))


@pytest.mark.parametrize(
    ("where", "greeted", "words"),
    [
        ("", "a:alice-and-bot", PERSONAL_HELLO),
        (GROUP, GROUP, CHAT_HELLO),
        (HELP, GENERAL, HELLO),
    ],
    ids=["in person", "chat", "team"],
)
async def test_it_says_hello_where_it_is_added(
    teams: FakeTeams, alice: Visitor, where: str, greeted: str, words: str
) -> None:
    await alice.install(where)
    await wait_until(lambda: teams.messages)

    (hello,) = teams.messages
    assert (hello.place, hello.reply_to) == (greeted, None)
    assert hello.activity["text"] == words
    assert {answer.status for answer in alice.answers} == {200}


async def test_it_says_hello_once(teams: FakeTeams, client: BotTestClient, alice: Visitor) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.install()
    await carol.uninstall()
    await carol.install()
    await alice.deliver(*carol.sent)
    await alice.install(ELSEWHERE)
    await wait_until(lambda: teams.posts_in(ELSEWHERE))

    assert len(teams.messages) == 2


async def test_people_who_come_in_are_not_greeted(
    teams: FakeTeams, client: BotTestClient, alice: Visitor
) -> None:
    carol = Visitor(teams, client, CAROL)
    await carol.joins(GROUP)
    await alice.uninstall(HELP)
    await alice.install()
    await wait_until(lambda: teams.messages)

    assert {sent.place for sent in teams.messages} == {alice.chat}


async def test_a_new_version_of_the_app_says_nothing(teams: FakeTeams, alice: Visitor) -> None:
    said = await alice.say(HELP, "vpn?")
    told = {**said.activity, "type": "installationUpdate", "id": "f:1"}
    await alice.deliver({**told, "action": "remove-upgrade"})
    await alice.deliver({**told, "action": "add-upgrade"})
    await alice.install()
    await wait_until(lambda: teams.messages)

    assert {sent.place for sent in teams.messages} == {alice.chat}


async def test_a_hello_that_teams_refuses_changes_nothing_else(
    teams: FakeTeams, alice: Visitor
) -> None:
    teams.fail(Fault(403, code="MessageWritesBlocked"))
    await alice.install()
    await wait_until(lambda: "message" in teams.calls)
    await alice.install(HELP)
    await wait_until(lambda: teams.messages)

    assert {answer.status for answer in alice.answers} == {200}
    assert alice.id == ALICE
