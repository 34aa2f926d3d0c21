"""Test that of many who claim one case on Slack, in Teams and on the board one has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from bot.chat.actions import LATER
from tests.fakes.applications import slack_settings, teams_settings
from tests.fakes.http_server import BEARER, Client, serving_application, settings_for, wait_until
from tests.fakes.http_server import TOKEN as ADMIN
from tests.fakes.slack import names as slack_names
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import Post
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor as OnSlack
from tests.fakes.teams import names
from tests.fakes.teams.cards import words
from tests.fakes.teams.people import Human
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor as InTeams
from tests.sweeps.sizes import sizes

_LONG = 240.0
_ASKS = "Can I talk to a human about my locker?"
Told = Mapping[str, Any]


@dataclass(frozen=True)
class Crowd:
    """How many press at once on each platform, and on the board for each of two cases."""

    on_slack: int
    in_teams: int
    on_board: int


@dataclass(frozen=True)
class Desk:
    """One application that is in a workspace and in a tenant, with a board."""

    slack: FakeSlack
    teams: FakeTeams
    client: Client

    async def newest(self, before: frozenset[str] = frozenset()) -> str:
        """Return the one case that came after others, by the end of its path."""
        listed = await self.got("/api/v1/escalations")
        (newest,) = {each["interaction_id"] for each in listed["escalations"]} - before
        return str(newest)

    async def got(self, path: str) -> Told:
        response = await self.client.get(path, headers=BEARER)
        return dict(await response.json())

    async def page(self, case_id: str) -> str:
        headers = {**BEARER, "Accept": "text/html"}
        return await (
            await self.client.get(f"/board/escalations/{case_id}", headers=headers)
        ).text()

    async def press_on_board(self, case_id: str) -> int:
        path = f"/board/escalations/{case_id}"
        response = await self.client.post(
            path, data={"act": "claim"}, headers=BEARER, allow_redirects=False
        )
        return response.status

    async def press_on_slack(self, user: str, card: Post) -> None:
        """Press what all saw, and again what a busy machine was too slow for."""
        visitor, seen = OnSlack(self.slack, self.client, user), deepcopy(card)
        while (await visitor.click(seen, "Claim")).status != HTTPStatus.OK:
            pass

    async def press_in_teams(self, person: str, card: Sent) -> str:
        """Press, and again what a busy machine was too slow for; return what is shown then."""
        visitor = InTeams(self.teams, self.client, person)
        answer = await visitor.press(card, "Claim")
        while answer.status != HTTPStatus.OK or LATER in answer.text:
            (answer,) = await visitor.deliver(visitor.sent[-1])
        return words(answer.body["value"])


@pytest.fixture
async def desk(slack: FakeSlack, teams: FakeTeams, tmp_path: Path) -> AsyncIterator[Desk]:
    settings = settings_for(
        tmp_path,
        **teams_settings(teams.url),
        **slack_settings(slack.url),
        slack_escalation_channel=slack_names.PEOPLE,
        admin_token=ADMIN,
    )
    async with serving_application(settings) as client:
        yield Desk(slack, teams, client)


@sizes("crowd", smoke=Crowd(8, 8, 4), whole=Crowd(60, 60, 40))
async def test_of_all_who_claim_at_once_on_any_platform_one_has_it(
    crowd: Crowd, desk: Desk
) -> None:
    on_slack = crowd_on_slack(desk.slack, crowd.on_slack)
    in_teams = crowd_in_teams(desk.teams, crowd.in_teams)
    first, slack_card = await asked_on_slack(desk)
    second, teams_card = await asked_in_teams(desk, frozenset({first}))

    _, seen, first_board, second_board = await asyncio.gather(
        asyncio.gather(*(desk.press_on_slack(user, slack_card) for user in on_slack)),
        asyncio.gather(*(desk.press_in_teams(person, teams_card) for person in in_teams)),
        asyncio.gather(*(desk.press_on_board(first) for _ in range(crowd.on_board))),
        asyncio.gather(*(desk.press_on_board(second) for _ in range(crowd.on_board))),
    )

    cases = [await desk.got(f"/api/v1/escalations/{each}") for each in (first, second)]
    for case, statuses in zip(cases, (first_board, second_board), strict=True):
        assert [step["step"] for step in case["history"]] == ["open", "claim"]
        assert case["state"] == "claimed"
        assert case["owner_name"] in await desk.page(case["interaction_id"])
        assert_board(case, statuses)
    await assert_slack(desk.slack, cases[0], on_slack, slack_card)
    await assert_teams(desk.teams, cases[1], in_teams, teams_card, seen)


def assert_board(case: Told, statuses: list[int]) -> None:
    """Check that the board gave it to nobody but its owner."""
    taken = {HTTPStatus.OK, HTTPStatus.SEE_OTHER}
    assert set(statuses) <= (taken if case["owner_id"] == "admin" else {HTTPStatus.CONFLICT})


async def assert_slack(slack: FakeSlack, case: Told, crowd: list[str], card: Post) -> None:
    """Check that the card shows its owner, and that all others were told."""
    owner = case["owner_name"]
    losers = [user for user in crowd if slack.people[user].email != case["owner_id"]]
    await wait_until(lambda: all(is_told(slack, user, owner) for user in losers), seconds=_LONG)
    await wait_until(lambda: f"*Claimed by {owner}*" in card.shown, seconds=_LONG)
    assert len(losers) >= len(crowd) - 1


def is_told(slack: FakeSlack, user: str, owner: str) -> bool:
    """Tell whether somebody read who has it; a busy machine may have said to press later."""
    return any(owner in post.shown for post in slack.whispered(user))


async def assert_teams(
    teams: FakeTeams, case: Told, crowd: list[str], card: Sent, seen: list[str]
) -> None:
    """Check that the card shows its owner to all, and that who pressed saw that at once."""
    owner = case["owner_name"]
    line = f"Claimed by {owner}"
    await wait_until(lambda: line in teams.post(card.id).shown, seconds=_LONG)
    for person in (*crowd, names.CAROL):
        (shown,) = teams.cards_for(person, teams.post(card.id))
        assert line in words(shown), "the edit is seen by everybody"
    assert all(line in each for each in seen)
    late = sum(f"It is assigned to {owner}." in each for each in seen)
    assert late == len(crowd) - (case["owner_id"] != "admin")


def crowd_on_slack(slack: FakeSlack, count: int) -> list[str]:
    users = [f"U0CROWD{number:03d}" for number in range(count)]
    for number, user in enumerate(users):
        email = f"p{number}@acme.example"
        slack.people[user] = Member(user, user.lower(), f"Person {number}", email)
    return users


def crowd_in_teams(teams: FakeTeams, count: int) -> list[str]:
    """Let the same people be in Teams."""
    people = [f"p{number}-object-id" for number in range(count)]
    for number, person in enumerate(people):
        address = f"p{number}@acme.example"
        human = Human(person, f"29:p{number}", f"Person {number}", address, address)
        teams.add(human, names.PEOPLE)
    return people


async def asked_on_slack(desk: Desk) -> tuple[str, Post]:
    """Ask for a person; return the case and its card."""
    asker = OnSlack(desk.slack, desk.client, slack_names.ALICE)
    await asker.say(slack_names.HELP, _ASKS, mention=True)
    await wait_until(lambda: desk.slack.in_channel(slack_names.PEOPLE), seconds=_LONG)
    (card,) = desk.slack.in_channel(slack_names.PEOPLE)
    return await desk.newest(), card


async def asked_in_teams(desk: Desk, before: frozenset[str]) -> tuple[str, Sent]:
    asker = InTeams(desk.teams, desk.client, names.ALICE)
    await asker.say(names.HELP, _ASKS)
    await wait_until(lambda: desk.teams.posts_in(names.PEOPLE), seconds=_LONG)
    (card,) = desk.teams.posts_in(names.PEOPLE)
    return await desk.newest(before), card
