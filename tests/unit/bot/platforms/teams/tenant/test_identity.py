"""Test who asks and who reads along, as far as Teams vouches for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Message, Person
from bot.domain.ports import Introduces
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.members import (
    Colleagues,
    HomeTenant,
    home_tenant_of,
    member_of,
)
from bot.store.database import Store
from rag.personal_data.names import DirectoryNames
from rag.types import EVERYONE, Principal
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams import activities
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import (
    ALICE,
    BOB,
    ENTRA,
    GENERAL,
    GROUP,
    GUEST,
    GUESTS,
    HELP,
    OUTSIDE_GROUP,
    SHARED,
)
from tests.fakes.teams.people import Human
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor
from tests.unit.bot.platforms.teams.conftest import Restart


async def asked(visitor: Visitor, inbox: KeepingInbox, where: str = "") -> Message:
    """Return what the inbox was given of a question."""
    await visitor.say(where or visitor.chat, "vpn?")
    return next(reversed(inbox.messages.values()))


async def test_a_colleague_is_introduced_by_the_name_that_they_sign_in_with(
    teams: FakeTeams, channel: TeamsChannel, client: BotTestClient, inbox: KeepingInbox
) -> None:
    teams.people[BOB] = replace(teams.people[BOB], address="Bob@Acme.example")
    assert isinstance(channel, Introduces)
    told = await channel.introduce(await asked(Visitor(teams, client, BOB), inbox))

    principals = frozenset({EVERYONE, Principal("user:bob@acme.example")})
    assert told.author == Person(BOB, "Bob", "bob@acme.example", principals)
    assert not told.outsiders


async def test_who_asks_and_who_reads_along_are_known_by_name(
    teams: FakeTeams, channel: TeamsChannel, client: BotTestClient, inbox: KeepingInbox
) -> None:
    teams.people[ALICE] = replace(teams.people[ALICE], name="Alice Adams")
    names = channel.colleagues.names = channel.outside_readers.names = DirectoryNames()
    await channel.introduce(await asked(Visitor(teams, client, ALICE), inbox, GENERAL))

    assert set(names.people) == {"Alice Adams", "Anna Lopez"}


async def test_a_guest_reads_what_everyone_may_also_in_person(
    teams: FakeTeams, channel: TeamsChannel, client: BotTestClient, inbox: KeepingInbox
) -> None:
    told = await channel.introduce(await asked(Visitor(teams, client, GUEST), inbox))

    assert (told.author.email, told.author.principals) == (None, frozenset({EVERYONE}))
    assert told.outsiders


@pytest.mark.parametrize(
    ("where", "outsiders"),
    [(HELP, False), (GROUP, False), (GUESTS, True), (OUTSIDE_GROUP, True), (SHARED, True)],
)
async def test_people_from_outside_who_read_along_are_told_of(
    channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox, where: str, *, outsiders: bool
) -> None:
    told = await channel.introduce(await asked(alice, inbox, where))

    assert told.outsiders is outsiders
    assert told.author.email == "alice@acme.example"


async def test_who_is_there_is_asked_once_in_ten_minutes(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    for _ in range(3):
        await channel.introduce(await asked(alice, inbox, HELP))

    assert (teams.calls.count("member"), teams.calls.count("members")) == (1, 1)


@pytest.mark.parametrize(("where", "told_in"), [(GROUP, GROUP), (HELP, GENERAL)])
async def test_a_guest_who_joins_reads_along_from_then_on(
    teams: FakeTeams,
    channel: TeamsChannel,
    alice: Visitor,
    inbox: KeepingInbox,
    where: str,
    told_in: str,
) -> None:
    """Teams tells of whoever joins a team in its channel General alone."""
    before = await channel.introduce(await asked(alice, inbox, where))
    guest, there = teams.people[GUEST], teams.conversations[told_in]
    teams.conversations[where].members.add(GUEST)
    joined = activities.joined(teams, alice.human, there, "membersAdded", [guest.account()])
    await alice.deliver(joined)

    after = await channel.introduce(await asked(alice, inbox, where))

    assert (before.outsiders, after.outsiders) == (False, True)


async def test_a_shared_channel_is_known_to_other_processes_though_the_roster_hides_it(
    teams: FakeTeams,
    channel: TeamsChannel,
    alice: Visitor,
    inbox: KeepingInbox,
    noted_restart: Restart,
) -> None:
    teams.conversations[SHARED].members = {ALICE}
    message = await asked(alice, inbox, SHARED)

    assert (await channel.introduce(message)).outsiders
    assert (await noted_restart().introduce(message)).outsiders
    assert "members" not in teams.calls


async def test_a_sender_of_another_tenant_shows_that_a_chat_is_open(
    channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    message = await asked(alice, inbox, GROUP)
    (sent,) = alice.sent
    await channel.outside_readers.note({**sent, "from": {**sent["from"], "tenantId": "another"}})

    assert (await channel.introduce(message)).outsiders


async def test_every_page_of_people_is_looked_at(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.page_size = 1
    message = await asked(alice, inbox, GUESTS)

    assert (await channel.introduce(message)).outsiders
    assert teams.calls.count("members") == 5


async def test_where_there_are_too_many_people_some_may_be_from_outside(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.page_size = 1
    for number in range(10):
        address = f"p{number}@acme.example"
        teams.add(Human(f"p{number}", f"29:p{number}", "P", address, address), HELP)
    message = await asked(alice, inbox, HELP)

    assert (await channel.introduce(message)).outsiders
    assert teams.calls.count("members") == 10


async def test_where_nobody_is_named_somebody_may_be_from_outside(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    message = await asked(alice, inbox, HELP)
    teams.conversations[HELP].members.clear()

    assert await channel.outside_readers.outside(message.reply_to)


@pytest.mark.parametrize("call", ["member", "members"])
async def test_while_teams_does_not_tell_nobody_is_introduced_and_it_is_asked_again(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox, call: str
) -> None:
    message = await asked(alice, inbox, HELP)
    teams.fail(Fault(500), call=call)
    with pytest.raises(DeliveryFailed):
        await channel.introduce(message)

    assert not (await channel.introduce(message)).outsiders


async def test_nobody_waits_long_for_a_slow_roster(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    message = await asked(alice, inbox)
    hasty = Colleagues(channel.client, home_tenant_of(channel.settings), timeout_seconds=0.05)
    teams.fail(Fault(200, seconds=30), call="member")

    with pytest.raises(DeliveryFailed, match="in time"):
        await hasty.member(message.reply_to)


UNKNOWN = Person(ALICE, "Alice", outsider="not a colleague")


async def test_whom_the_roster_does_not_know_is_a_stranger(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    message = await asked(alice, inbox)
    teams.conversations[alice.chat].members.clear()
    told = await channel.introduce(message)

    assert (told.author, told.outsiders) == (UNKNOWN, True)
    assert await channel.colleagues.of(message.reply_to) is None


@pytest.mark.parametrize("reply_to", ["", "no JSON", "{}", '{"user": {"aadObjectId": "x"}}'])
async def test_a_reference_without_a_user_is_nobodys(
    teams: FakeTeams, channel: TeamsChannel, reply_to: str
) -> None:
    assert await channel.colleagues.of(reply_to) is None
    assert not teams.calls


async def test_a_roster_that_tells_of_somebody_else_makes_nobody_a_colleague(
    channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    reference = json.loads((await asked(alice, inbox)).reply_to)
    claimed = {**reference, "user": {**reference["user"], "aadObjectId": BOB}}

    member = await channel.colleagues.member(json.dumps(claimed))
    assert (member.person, member.colleague) == (replace(UNKNOWN, id=BOB), False)


async def test_domains_narrow_who_is_a_colleague(
    teams: FakeTeams, channel: TeamsChannel, alice: Visitor, inbox: KeepingInbox
) -> None:
    message = await asked(alice, inbox)
    for domains, colleague in ((("@Acme.example",), True), (("partner.example",), False)):
        narrowed = channel.settings.model_copy(update={"teams_allowed_domains": domains})
        colleagues = Colleagues(channel.client, home_tenant_of(narrowed))
        assert bool(await colleagues.of(message.reply_to)) is colleague
    assert teams.calls.count("member") == 2


async def test_people_of_the_playground_are_colleagues(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    teams.playground = True
    message = await asked(alice, inbox, GROUP)
    settings = load_settings(_env_file=None, TEAMS_DEV_MODE=True, tenant="acme")
    told = await connect(settings, store.notes).introduce(message)

    assert (told.author.email, told.outsiders) == ("alice@acme.example", False)
    assert home_tenant_of(settings).tenant is None
    assert alice.human.tenant == ENTRA


TENANT = "99999999-8888-7777-6666-555555555555"
HOME = HomeTenant(TENANT)
PLAYGROUND = HomeTenant(None)


def told(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    ann = {
        "id": "29:ann",
        "name": "  Ann   Example ",
        "aadObjectId": "ann-object-id",
        "email": "the.boss@acme.example",
        "userPrincipalName": "ANN@acme.example",
        "tenantId": TENANT,
        "userRole": "user",
    }
    return {key: value for key, value in {**ann, **changes}.items() if value is not None}


def test_a_colleague_is_known_by_object_id_and_by_the_name_that_they_sign_in_with() -> None:
    member = member_of(told(), HOME)

    principals = frozenset({EVERYONE, Principal("user:ann@acme.example")})
    assert member.person == Person("ann-object-id", "Ann Example", "ann@acme.example", principals)
    assert (member.colleague, member.person.outsider) == (True, "")


def test_lists_of_members_name_the_object_id_otherwise() -> None:
    member = member_of(told(aadObjectId=None, objectId="ann-object-id"), HOME)

    assert (member.person.id, member.colleague) == ("ann-object-id", True)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("changes", "outsider"),
    [
        ({"userRole": "guest"}, "guest"),
        ({"userRole": "Anonymous", "aadObjectId": None, "userPrincipalName": None}, "guest"),
        ({"userPrincipalName": "ann_partner.example#EXT#@acme.onmicrosoft.com"}, "guest"),
        ({"tenantId": "77777777-8888-7777-6666-555555555555"}, "other company"),
        ({"tenantId": None}, "not a colleague"),
        ({"aadObjectId": None}, "not a colleague"),
        ({"userPrincipalName": None}, "not a colleague"),
        ({"userPrincipalName": None, "userPrincipleName": "ann@acme.example"}, "not a colleague"),
        ({"userPrincipalName": "ann"}, "not a colleague"),
        ({"userPrincipalName": "@acme.example"}, "not a colleague"),
        ({"userPrincipalName": "a nn@acme.example"}, "not a colleague"),
        ({"userPrincipalName": ["ann@acme.example"], "tenantId": {}}, "not a colleague"),
    ],
)
def test_everybody_else_has_no_address_and_reads_what_everyone_may(
    changes: dict[str, Any], outsider: str
) -> None:
    member = member_of(told(**changes), HOME)

    assert (member.colleague, member.person.outsider) == (False, outsider)
    assert (member.person.email, member.person.principals) == (None, frozenset({EVERYONE}))


def test_the_letters_of_a_tenant_may_be_large() -> None:
    home = HomeTenant("AAAAAAAA-8888-7777-6666-555555555555")

    assert member_of(told(tenantId="aaaaaaaa-8888-7777-6666-555555555555"), home).colleague


@pytest.mark.parametrize(
    ("domains", "colleague"),
    [({"acme.example"}, True), ({"sub.acme.example"}, False), ({"example"}, False)],
)
def test_where_domains_are_named_a_colleague_signs_in_with_one(
    *, domains: set[str], colleague: bool
) -> None:
    assert member_of(told(), HomeTenant(TENANT, frozenset(domains))).colleague is colleague


@pytest.mark.parametrize(
    "changes",
    [
        {"tenantId": "00000000-0000-0000-0000-0000000000001"},
        {"tenantId": None, "userPrincipalName": None, "userPrincipleName": "ann@acme.example"},
    ],
)
def test_whoever_is_in_the_playground_is_a_colleague(changes: dict[str, Any]) -> None:
    assert member_of(told(**changes), PLAYGROUND).person.email == "ann@acme.example"
    assert not member_of(told(**changes, userRole="guest"), PLAYGROUND).colleague


JSON = st.none() | st.integers() | st.text() | st.sampled_from([TENANT, "user", "a@b", [], {}])
FIELDS = st.sampled_from([*told(), "objectId", "userPrincipleName"])


@given(st.dictionaries(FIELDS, JSON))
def test_what_is_missing_or_odd_makes_nobody_a_colleague(odd: dict[str, Any]) -> None:
    member = member_of(odd, HOME)

    if member.colleague:
        assert odd["tenantId"] == TENANT
        assert odd["userPrincipalName"].strip().lower() == member.person.email
        assert member.person.id in {odd.get("aadObjectId"), odd.get("objectId")}
    else:
        assert member.person.principals == {EVERYONE}
