"""Who is where, as the connector tells."""

from __future__ import annotations

import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.rest import Rest


@pytest.mark.parametrize("user", ["29:bob", names.BOB])
@pytest.mark.parametrize("conversation", [names.HELP, f"{names.HELP};messageid=1", names.GROUP])
async def test_a_member_is_told_by_either_id(rest: Rest, user: str, conversation: str) -> None:
    told = await rest.get(f"conversations/{conversation}/members/{user}")
    assert told.body == {
        "id": "29:bob",
        "objectId": names.BOB,
        "aadObjectId": names.BOB,
        "name": "Bob",
        "givenName": "Bob",
        "surname": "",
        "email": "anna@acme.example",
        "userPrincipalName": "bob@acme.example",
        "tenantId": names.ENTRA,
        "userRole": "user",
    }


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"conversations/{names.GROUP}/members/{names.CAROL}", 404),
        (f"conversations/{names.GROUP}/members/29:nobody", 404),
        ("conversations/19:nowhere/members/29:alice", 404),
        (f"conversations/{names.ELSEWHERE}/members", 403),
        ("teams/19:nowhere", 404),
        (f"teams/{names.ELSEWHERE}", 404),
    ],
)
async def test_who_and_what_is_not_there_is_not_told(rest: Rest, path: str, status: int) -> None:
    assert (await rest.get(path)).status == status


async def test_guests_and_people_of_other_companies_are_told_as_such(rest: Rest) -> None:
    guest = await rest.get(f"conversations/{names.GUESTS}/members/{names.GUEST}")
    assert guest.body["userRole"] == "guest"
    assert "#EXT#" in guest.body["userPrincipalName"]
    stranger = await rest.get(f"conversations/{names.SHARED}/members/{names.STRANGER}")
    assert stranger.body["tenantId"] == names.OTHER_ENTRA


async def test_members_come_in_pages(teams: FakeTeams, rest: Rest) -> None:
    for number in range(7):
        name = f"p{number}"
        teams.add(Human(name, f"29:{name}", name, f"{name}@acme.example", ""), names.HELP)
    path = f"conversations/{names.HELP}/pagedmembers?pageSize=4"
    first = (await rest.get(path)).body
    second = (await rest.get(f"{path}&continuationToken={first['continuationToken']}")).body
    third = (await rest.get(f"{path}&continuationToken={second['continuationToken']}")).body
    assert [len(page["members"]) for page in (first, second, third)] == [4, 4, 3]
    assert "continuationToken" not in third
    assert len((await rest.get(f"conversations/{names.HELP}/members")).body) == 11


async def test_a_team_is_told_with_its_channels(rest: Rest) -> None:
    told = (await rest.get(f"teams/{names.TEAM}")).body
    assert (told["id"], told["aadGroupId"]) == (names.TEAM, names.TEAM_GROUP)
    channels = (await rest.get(f"teams/{names.TEAM}/conversations")).body["conversations"]
    assert {"id": names.PEOPLE, "name": "people"} in channels
    assert {"id": names.GENERAL} in channels


async def test_the_playground_spells_the_name_its_own_way(teams: FakeTeams, rest: Rest) -> None:
    teams.playground = True
    told = await rest.get(f"conversations/{chat_of(names.ALICE)}/members/29:alice")
    assert told.body["userPrincipleName"] == "alice@acme.example"
    assert "userPrincipalName" not in told.body
