"""The double itself: it takes what Slack takes, and refuses what Slack refuses."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.asking import posted, refused
from tests.bot.adapters.slack.workspace.names import BOT_USER, HELP


async def test_the_email_is_told_only_with_its_scope(slack: FakeSlack, api: AsyncWebClient) -> None:
    told = await api.users_info(user=names.ALICE)
    assert told["user"]["profile"]["email"] == "alice@acme.example"
    slack.scopes = ("users:read",)
    told = await api.users_info(user=names.ALICE)
    assert "email" not in told["user"]["profile"]


async def test_strangers_and_guests_are_told_apart(api: AsyncWebClient) -> None:
    stranger = (await api.users_info(user=names.STRANGER))["user"]
    guest = (await api.users_info(user=names.GUEST))["user"]
    assert (stranger["team_id"], stranger["is_stranger"]) == (names.OTHER_TEAM, True)
    assert "email" not in stranger["profile"]
    assert guest["is_restricted"]


@pytest.mark.parametrize(
    ("method", "arguments", "scope"),
    [
        ("users.info", {"user": names.ALICE}, "users:read"),
        ("users.lookupByEmail", {"email": "a@b"}, "users:read.email"),
        ("usergroups.users.list", {"usergroup": names.ADMINS}, "usergroups:read"),
        ("conversations.info", {"channel": HELP}, "channels:read"),
        ("conversations.info", {"channel": names.SECRET_ROOM}, "groups:read"),
        ("conversations.members", {"channel": HELP}, "channels:read"),
        ("conversations.open", {"users": names.ALICE}, "im:write"),
        ("conversations.replies", {"channel": HELP, "ts": "1.1"}, "channels:history"),
        ("chat.postMessage", {"channel": HELP, "text": "x"}, "chat:write"),
        ("reactions.add", {"channel": HELP}, "reactions:write"),
        ("files.info", {"file": "F1"}, "files:read"),
    ],
)
async def test_what_needs_a_scope_is_refused_without_it(
    slack: FakeSlack, api: AsyncWebClient, method: str, arguments: dict[str, str], scope: str
) -> None:
    slack.scopes = tuple(one for one in slack.scopes if one != scope)
    answer = await refused(api.api_call(method, json=arguments), "missing_scope")
    assert answer["needed"] == scope


async def test_people_are_found_by_email_and_in_groups(api: AsyncWebClient) -> None:
    found = await api.users_lookupByEmail(email="ALICE@acme.example")
    assert found["user"]["id"] == names.ALICE
    group = await api.usergroups_users_list(usergroup=names.ADMINS)
    assert group["users"] == [names.ALICE]
    await refused(api.users_lookupByEmail(email="olga@other.example"), "users_not_found")
    await refused(api.usergroups_users_list(usergroup="S0NONE"), "no_such_subteam")
    await refused(api.users_info(user="U0NOBODY0"), "user_not_found")


async def test_a_direct_conversation_is_made_once(slack: FakeSlack, api: AsyncWebClient) -> None:
    first = await api.conversations_open(users=names.BOB)
    again = await api.conversations_open(users=names.BOB)
    room = first["channel"]["id"]
    assert again["channel"]["id"] == room
    assert room in slack.channels
    await api.chat_postMessage(channel=room, text="hello")
    await refused(api.conversations_open(users=names.OTHER_BOT), "cannot_dm_bot")
    slack.people[names.BOB].deleted = True
    await refused(api.conversations_open(users=names.BOB), "user_disabled")


async def test_rooms_tell_who_is_in_them(slack: FakeSlack, api: AsyncWebClient) -> None:
    slack.page_size = 2
    pages = [page["members"] async for page in await api.conversations_members(channel=HELP)]
    assert len(pages) == 3
    assert {one for page in pages for one in page} == slack.rooms[HELP].members
    shared = await api.conversations_info(channel=names.SHARED)
    assert shared["channel"]["is_ext_shared"]


async def test_private_rooms_without_the_bot_are_not_admitted_to(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.channels.remove(names.SECRET_ROOM)
    for channel, code in [
        (names.ELSEWHERE, "not_in_channel"),
        (names.SECRET_ROOM, "channel_not_found"),
        ("C0NOWHERE", "channel_not_found"),
    ]:
        await refused(api.chat_postMessage(channel=channel, text="x"), code)
    await refused(api.conversations_info(channel=names.SECRET_ROOM), "channel_not_found")


async def test_the_old_sets_are_the_rooms(slack: FakeSlack) -> None:
    slack.channels |= {"C0NEW0000"}
    assert BOT_USER in slack.rooms["C0NEW0000"].members
    slack.channels = {HELP}
    assert list(slack.channels) == [HELP]
    slack.archived.add(HELP)
    assert slack.rooms[HELP].is_archived


async def test_a_reaction_is_given_once_and_taken_once(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    at = {"channel": HELP, "timestamp": (await posted(api, slack)).ts}
    await api.reactions_add(name="eyes", **at)
    await refused(api.reactions_add(name="eyes", **at), "already_reacted")
    assert slack.posts[0].reactions == {"eyes": [BOT_USER]}
    await api.reactions_remove(name="eyes", **at)
    await refused(api.reactions_remove(name="eyes", **at), "no_reaction")
    await refused(api.reactions_add(name=":eyes:", **at), "invalid_name")
    nowhere = {"channel": HELP, "timestamp": "1800000000.999999"}
    await refused(api.reactions_add(name="eyes", **nowhere), "message_not_found")


async def test_a_message_that_only_an_event_told_of_can_be_reacted_to(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    at = {"channel": HELP, "timestamp": "1700000000.000100"}
    await api.reactions_add(name="eyes", **at)
    await refused(api.reactions_add(name="eyes", **at), "already_reacted")
    assert not slack.posts
    slack.gone.add("1700000000.000100")
    await refused(api.reactions_remove(name="eyes", **at), "message_not_found")


async def test_a_channel_takes_a_post_a_second_after_a_burst(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.strict_rates, clock = True, [100.0]
    slack.now = lambda: clock[0]
    for _ in range(3):
        await posted(api, slack)
    answer = await refused(api.chat_postMessage(channel=HELP, text="x"), "ratelimited")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    await api.chat_postMessage(channel=names.PEOPLE, text="x")
    clock[0] += 1.0
    await posted(api, slack)
    assert (slack.refused_for_rate, len(slack.posts)) == (1, 5)


@pytest.mark.parametrize(
    ("method", "calls"),
    [("chat.update", 50), ("reactions.add", 50), ("conversations.replies", 50)],
)
async def test_methods_have_their_tier(
    slack: FakeSlack, api: AsyncWebClient, method: str, calls: int
) -> None:
    slack.strict_rates, slack.now = True, lambda: 0.0
    for _ in range(calls):
        await refused(api.api_call(method), "invalid_arguments")
    answer = await refused(api.api_call(method), "ratelimited")
    assert answer.headers["Retry-After"] == "2"


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked"])
async def test_a_removed_app_gets_nothing(slack: FakeSlack, api: AsyncWebClient, code: str) -> None:
    slack.uninstall(code)
    await refused(api.auth_test(), code)
    await refused(api.chat_postMessage(channel=HELP, text="x"), code)
    assert not slack.posts


def test_the_events_of_it_are_those_of_slack() -> None:
    assert events.app_uninstalled() == {"type": "app_uninstalled"}
    assert events.tokens_revoked()["tokens"] == {"oauth": [], "bot": [BOT_USER]}
