"""Test the identity of people and of the bot: members, outsiders, installation, lost tokens."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.domain.messages import Message, Person, Thread
from bot.domain.ports import Introduces, KnowsPublicChannels, TellsState
from bot.domain.settings import Settings
from bot.platforms.slack import mount
from bot.platforms.slack.bot_identity import BotIdentity, SlackHealth
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.client.rate_limits import LOOKUP_SECONDS
from bot.platforms.slack.members import (
    HomeWorkspace,
    MemberNames,
    is_public_channel,
    member_of,
)
from bot.platforms.slack.slash_commands import Command
from rag.personal_data.names import DirectoryNames
from rag.types import EVERYONE, Principal
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack import events
from tests.fakes.slack.builders import Clock, unhurried
from tests.fakes.slack.events import Client, envelope, send
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    ADMINS,
    ALICE,
    BOB,
    BOT_USER,
    DIRECT,
    GUEST,
    HELP,
    OTHER_BOT,
    SECRET_ROOM,
    SHARED,
    STRANGER,
)
from tests.fakes.slack.server import FakeSlack

HOME = HomeWorkspace("T0TEAM000")


def user(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    profile = {"real_name": " Ann   Example ", "email": "ANN@acme.example"}
    return {"id": "U1", "team_id": "T0TEAM000", "profile": profile, **changes}


def test_a_name_is_one_line_and_an_address_in_small_letters() -> None:
    member = member_of(user(), HOME)

    assert (member.person.name, member.person.email, member.colleague) == (
        "Ann Example",
        "ann@acme.example",
        True,
    )


@pytest.mark.parametrize(
    "profile", [{}, {"email": "ann"}, {"email": "@acme.example"}, {"email": "a b@acme.example"}]
)
def test_what_is_no_address_is_none(profile: dict[str, str]) -> None:
    assert member_of(user(profile=profile), HOME).person.email is None


def test_an_address_that_nobody_confirmed_is_none() -> None:
    assert member_of(user(is_email_confirmed=False), HOME).person.email is None
    assert member_of(user(is_email_confirmed=True), HOME).person.email == "ann@acme.example"


def test_an_organisation_s_people_are_at_home_in_all_its_workspaces() -> None:
    ann = user(team_id="T0ELSE000", enterprise_user={"enterprise_id": "E0ORG0000"})

    assert member_of(ann, HomeWorkspace("E0ORG0000")).colleague
    assert not member_of(ann, HOME).colleague
    assert not member_of(user(team_id=""), HomeWorkspace("")).colleague


@pytest.mark.parametrize("odd", [{}, {"id": 1, "profile": [], "enterprise_user": "x"}])
def test_odd_answers_make_nobody_a_colleague(odd: dict[str, Any]) -> None:
    assert not member_of(odd, HOME).colleague


def question(user: str = ALICE, room: str = HELP) -> Message:
    thread = Thread("slack", "acme", room, "1.1")
    private = room.startswith("D")
    return Message("1.1", thread, Person(user), "vpn?", datetime.now(UTC), private=private)


async def test_a_colleague_is_introduced_by_name_and_address(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.people[ALICE].email = "Alice@Acme.example"
    assert isinstance(channel, Introduces)
    introduced = await channel.introduce(question())

    assert introduced.author == Person(
        ALICE,
        "Alice Adams",
        "alice@acme.example",
        frozenset({EVERYONE, Principal("user:alice@acme.example")}),
    )
    assert not introduced.outsiders


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("user", "outsider"),
    [
        (GUEST, "guest"),
        (STRANGER, "other company"),
        ("U0NOBODY0", "not a colleague"),
        ("USLACKBOT", "not a colleague"),
    ],
)
async def test_people_from_outside_are_known_as_such(
    channel: SlackChannel, user: str, outsider: str
) -> None:
    introduced = await channel.introduce(question(user, DIRECT))

    assert introduced.outsiders
    assert introduced.author.outsider == outsider
    assert introduced.author.principals == {EVERYONE}
    assert introduced.author.email is None


@pytest.mark.parametrize("bot", [OTHER_BOT, BOT_USER, "B0BOT2000"])
async def test_the_workspaces_bots_read_what_everyone_may_and_others_nothing(
    slack: FakeSlack, channel: SlackChannel, bot: str
) -> None:
    own = await channel.introduce(question(bot, HELP))
    beside = await channel.introduce(question(bot, SHARED))

    assert own.author.principals == {EVERYONE}
    assert not own.outsiders
    assert beside.outsiders
    slack.people["U0FOREIGN"] = replace(slack.people[OTHER_BOT], team_id="T0OTHER00")
    assert (await channel.introduce(question("U0FOREIGN"))).outsiders


@pytest.mark.parametrize(
    "change", [{"deleted": True}, {"is_ultra_restricted": True}, {"team_id": "T0OTHER00"}]
)
async def test_who_has_left_or_is_restricted_is_no_colleague(
    slack: FakeSlack, channel: SlackChannel, change: dict[str, object]
) -> None:
    slack.people[ALICE] = replace(slack.people[ALICE], **change)  # type: ignore[arg-type]

    assert await channel.colleagues.of(ALICE) is None


async def test_the_names_of_all_members_are_learned_but_of_bots(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    names = DirectoryNames()
    await MemberNames(channel.client, names).read()

    people = [each for each in slack.people.values() if not each.is_bot]
    assert len(people) > 3
    assert {each.real_name for each in people if " " in each.real_name} <= set(names.people)
    assert slack.people[OTHER_BOT].real_name not in names.people


async def test_members_that_slack_does_not_list_are_asked_for_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    names, pauses = DirectoryNames(), list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        slack.scopes = allowed
        if names.people:
            raise asyncio.CancelledError

    allowed, slack.scopes = slack.scopes, ()
    with pytest.raises(asyncio.CancelledError):
        await MemberNames(channel.client, names, pause=pause).keep_known()

    assert pauses[0] < pauses[1]


async def test_somebody_who_is_looked_up_is_known_by_name(channel: SlackChannel) -> None:
    channel.colleagues.names = DirectoryNames()
    await channel.introduce(question())

    assert channel.colleagues.names.people == ("Alice Adams",)


async def test_in_a_shared_channel_outsiders_read_along(channel: SlackChannel) -> None:
    introduced = await channel.introduce(question(room=SHARED))

    assert introduced.outsiders
    assert introduced.author.email == "alice@acme.example"


@pytest.mark.parametrize(
    ("email", "colleague"),
    [
        ("alice@acme.example", True),
        ("alice@ACME.example", True),
        ("alice@sub.acme.example", False),
        ("alice@evil-acme.example", False),
        (None, False),
    ],
)
async def test_with_allowed_domains_only_their_addresses_are_colleagues(
    slack: FakeSlack, settings: Settings, email: str | None, *, colleague: bool
) -> None:
    slack.people[ALICE].email = email
    ours = settings.model_copy(update={"slack_allowed_domains": ("Acme.example",)})
    channel = connect(ours, caller=unhurried())
    introduced = await channel.introduce(question())

    assert (await channel.colleagues.of(ALICE) is not None) is colleague
    assert introduced.outsiders is not colleague
    assert (len(introduced.author.principals) == 2) is colleague


async def test_without_the_scope_for_addresses_a_colleague_has_none(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.scopes = tuple(scope for scope in slack.scopes if scope != "users:read.email")

    alice = await channel.colleagues.of(ALICE)
    assert alice is not None
    assert (alice.id, alice.name, alice.email) == (ALICE, "Alice Adams", None)
    assert (await channel.introduce(question())).author.principals == {EVERYONE}


@pytest.mark.parametrize("method", ["users.info", "conversations.info"])
async def test_while_slack_does_not_tell_nobody_is_introduced(
    slack: FakeSlack, channel: SlackChannel, method: str
) -> None:
    slack.fail(method, Fault(status=500))
    with pytest.raises(DeliveryFailed):
        await channel.introduce(question())

    assert (await channel.introduce(question())).author.name == "Alice Adams"


@pytest.mark.parametrize(
    ("room", "public"), [(HELP, True), (SECRET_ROOM, False), (SHARED, False), (DIRECT, False)]
)
async def test_a_channel_that_all_colleagues_may_open_is_public(
    slack: FakeSlack, channel: SlackChannel, room: str, *, public: bool
) -> None:
    assert isinstance(channel, KnowsPublicChannels)
    assert await channel.is_public(question(room=room)) is public
    assert await channel.is_public(question(BOB, room)) is public
    assert slack.calls.count("conversations.info") == (room != DIRECT)


async def test_a_command_in_a_public_channel_was_asked_in_private(channel: SlackChannel) -> None:
    command = Command("/frontdesk", "vpn?", ALICE, HELP, "1.2.3", "https://hooks.slack.com/x")

    asked = command.question("vpn?", "acme", datetime.now(UTC), '{"response_url": "kept"}')

    assert not await channel.is_public(asked)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"is_channel": True, "is_pending_ext_shared": True},
        {"is_channel": True, "is_shared": True},
        {"is_channel": True, "is_mpim": True},
        {"is_private": False},
    ],
)
def test_a_channel_is_public_only_if_slack_says_all_of_it(odd: dict[str, Any]) -> None:
    assert not is_public_channel(odd)
    assert is_public_channel({"is_channel": True, "is_shared": True, "is_org_shared": True})


async def test_while_slack_does_not_tell_no_channel_is_public(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("conversations.info", Fault(status=500))
    with pytest.raises(DeliveryFailed):
        await channel.is_public(question())
    with pytest.raises(DeliveryFailed):
        await channel.is_public(question(room="C0NOWHERE"))


async def test_before_the_workspace_is_known_nobody_is_a_colleague(settings: Settings) -> None:
    channel = connect(settings.model_copy(update={"slack_team_id": None}))

    with pytest.raises(DeliveryFailed, match="which workspace"):
        await channel.introduce(question())


async def test_who_asks_often_is_asked_for_once(slack: FakeSlack, channel: SlackChannel) -> None:
    await asyncio.gather(*(channel.introduce(question()) for _ in range(20)))
    await channel.introduce(question(BOB))

    assert slack.calls.count("users.info") == 2
    assert slack.calls.count("conversations.info") == 1


async def test_a_user_group_has_its_members(slack: FakeSlack, channel: SlackChannel) -> None:
    assert await channel.colleagues.in_group(ALICE, ADMINS)
    assert not await channel.colleagues.in_group(BOB, ADMINS)
    assert slack.calls.count("usergroups.users.list") == 1
    with pytest.raises(DeliveryFailed):
        await channel.colleagues.in_group(BOB, "S0NOGROUP")


@pytest.mark.parametrize("shared", [True, False])
async def test_what_an_envelope_says_of_its_channel_need_not_be_asked(
    slack: FakeSlack, channel: SlackChannel, client: Client, inbox: KeepingInbox, *, shared: bool
) -> None:
    room = HELP if shared else SHARED  # Slack would say the contrary, if it were asked
    asked = events.mention("vpn?", channel=room)
    await events.send(client, events.envelope(asked, is_ext_shared_channel=shared))

    assert (await channel.introduce(inbox.only)).outsiders is shared
    assert "conversations.info" not in slack.calls


@pytest.mark.parametrize(("said", "age"), [("no", timedelta()), (False, timedelta(minutes=10))])
async def test_an_envelope_that_says_nothing_or_is_old_is_not_believed(
    slack: FakeSlack,
    channel: SlackChannel,
    client: Client,
    inbox: KeepingInbox,
    said: object,
    age: timedelta,
) -> None:
    asked = events.mention("vpn?", channel=SHARED)
    await events.send(client, events.envelope(asked, is_ext_shared_channel=said))
    sent = replace(inbox.only, received_at=datetime.now(UTC) - age)

    assert (await channel.introduce(sent)).outsiders
    assert "conversations.info" in slack.calls


@pytest.mark.mended(id="slack-11")
async def test_who_asks_is_not_waited_for_beyond_the_patience_of_a_question(
    slack: FakeSlack, channel: SlackChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LOOKUP_SECONDS == 5.0  # what docs/slack-delivery.md promises
    monkeypatch.setattr("bot.platforms.slack.client.api.LOOKUP_SECONDS", 0.05)
    slack.fail("users.info", Fault(seconds=600))

    with pytest.raises(DeliveryFailed):
        await channel.introduce(question())


@pytest.fixture
async def known(client: Client, channel: SlackChannel) -> SlackChannel:
    """Return the channel once it knows who it is."""
    await wait_until(lambda: channel.identity.user_id)
    return channel


async def test_a_working_channel_says_how_events_come_in(known: SlackChannel) -> None:
    assert isinstance(known, TellsState)
    assert known.part().state == "ready"
    assert "/slack/events" in known.part().detail


@pytest.mark.parametrize(
    "event",
    [
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}},
    ],
    ids=lambda event: str(event["type"]),
)
async def test_a_lost_token_is_told_and_not_used(
    slack: FakeSlack, client: Client, known: SlackChannel, event: dict[str, object]
) -> None:
    slack.uninstall("token_revoked")
    assert (await send(client, envelope(event))).status == 200
    await wait_until(lambda: slack.calls.count("auth.test") == 2)

    assert known.part().state == "failed"
    assert "SLACK_BOT_TOKEN" in known.part().cure
    before = len(slack.calls)
    with pytest.raises(DeliveryFailed, match="SLACK_BOT_TOKEN"):
        await known.client.caller.call("chat.postMessage", known.client.web.api_test)
    assert len(slack.calls) == before


async def test_an_old_event_of_a_loss_is_forgotten_when_the_token_works(
    client: Client, known: SlackChannel
) -> None:
    await send(client, envelope({"type": "app_uninstalled"}))
    await wait_until(lambda: known.part().state == "ready")

    assert known.client.caller.barred == ""


@pytest.mark.parametrize(
    "tokens", [{"oauth": ["U0ALICE00"]}, {"bot": ["U0OTHERBT"]}, {"bot": "x"}, None]
)
async def test_a_person_s_revoked_token_is_no_loss(
    client: Client, known: SlackChannel, tokens: object
) -> None:
    await send(client, envelope({"type": "tokens_revoked", "tokens": tokens}))

    assert known.part().state == "ready"


async def test_a_token_that_slack_refuses_at_the_start_is_told_and_tried_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.uninstall("account_inactive")
    clock, standing = Clock(), SlackHealth(ComponentStatus("Slack", "ready", "events over HTTP"))

    async def pause(seconds: float) -> None:
        clock.waits.append(seconds)
        assert standing.part().state == "failed"
        assert "account_inactive" in standing.part().detail
        if len(clock.waits) == 8:
            slack.lost = ""

    own = BotIdentity(channel.client, standing, pause=pause)
    await own.resolve()

    assert clock.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert (own.user_id, standing.part().state) == (BOT_USER, "ready")


async def test_an_organisation_s_installation_is_known_as_such(
    slack: FakeSlack, channel: SlackChannel, context: ChatContext
) -> None:
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")):
        await wait_until(lambda: channel.identity.user_id)

    assert channel.identity.workspace == "T0TEAM000"
