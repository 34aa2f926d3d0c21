"""Who asks on Slack, as far as Slack vouches for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.capabilities import Introduces
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Message, Person, Thread
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.workspace import members
from bot.platforms.slack.workspace.members import Colleague
from rag.types import EVERYONE, Principal
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import (
    ADMINS,
    ALICE,
    BOB,
    BOT_USER,
    DIRECT,
    GUEST,
    HELP,
    OTHER_BOT,
    SHARED,
    STRANGER,
)


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

    assert await channel.colleagues.of(ALICE) == Colleague(ALICE, "Alice Adams", None)
    assert (await channel.introduce(question())).author.principals == {EVERYONE}


@pytest.mark.parametrize("method", ["users.info", "conversations.info"])
async def test_while_slack_does_not_tell_nobody_is_introduced(
    slack: FakeSlack, channel: SlackChannel, method: str
) -> None:
    slack.fail(method, Fault(status=500))
    with pytest.raises(DeliveryFailed):
        await channel.introduce(question())

    assert (await channel.introduce(question())).author.name == "Alice Adams"


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
    assert members._CALL_SECONDS == 5.0  # noqa: SLF001 - what docs/slack.md promises
    monkeypatch.setattr(members, "_CALL_SECONDS", 0.05)
    slack.fail("users.info", Fault(seconds=20))

    with pytest.raises(DeliveryFailed):
        async with asyncio.timeout(5):
            await channel.introduce(question())
