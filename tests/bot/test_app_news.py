"""A person's reply on its whole way: real composition, from the API into the asker's thread."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.domain.messages import InteractionId
from bot.domain.settings import Settings
from bot.store.database import open_store, sqlite_url
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.names import TEAM, TOKEN
from tests.bot.adapters.slack.workspace.people import Member
from tests.bot.escalations.fakes import ANNA
from tests.bot.house import house, until
from tests.bot.server import BEARER, settings_for
from tests.bot.server import TOKEN as ADMIN

HELP = "C0HELP000"
PEOPLE = "C0PEOPLE0"
ASKED = events.mention("a human please, my screen is broken")
THREAD = str(ASKED["ts"])


@pytest.fixture
def settings(slack: FakeSlack, tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path,
        slack_bot_token=TOKEN,
        slack_signing_secret=events.SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_escalation_channel=PEOPLE,
        admin_token=ADMIN,
    )


Server = TestClient[web.Request, web.Application]


async def asked(client: Server, slack: FakeSlack) -> str:
    """Ask for a person; return the escalation's path in the API."""
    await events.send(client, events.envelope(ASKED))
    await until(lambda: slack.in_thread(HELP, THREAD))
    listed = await (await client.get("/api/v1/escalations", headers=BEARER)).json()
    (escalation,) = listed["escalations"]
    return f"/api/v1/escalations/{escalation['interaction_id']}"


async def test_a_persons_reply_reaches_the_askers_thread(
    slack: FakeSlack, settings: Settings
) -> None:
    async with house(settings) as client:
        path = await asked(client, slack)
        said = {"name": "Anna Lopez", "text": "The blue socket is in room 3."}
        response = await client.post(f"{path}/reply", json=said, headers=BEARER)
        assert response.status == 200, await response.text()
        await until(lambda: len(slack.in_thread(HELP, THREAD)) > 1)

    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown for post in told] == [
        "*Anna Lopez* answered:\nThe blue socket is in room 3.\nThis helped, close it\nAsk again"
    ]


async def test_what_was_not_told_before_the_server_ended_is_told_once_by_the_next(
    slack: FakeSlack, settings: Settings
) -> None:
    async with house(settings) as client:
        case_id = InteractionId((await asked(client, slack)).rpartition("/")[2])
    store = await open_store(sqlite_url(settings.data_dir))
    await store.escalations.act(settings.tenant, case_id, "reply", ANNA, "Room 3.")
    await store.close()

    for _ in range(2):
        async with house(settings):
            await until(lambda: len(slack.in_thread(HELP, THREAD)) > 1)

    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown for post in told] == [
        "*Anna Lopez* answered:\nRoom 3.\nThis helped, close it\nAsk again"
    ]


async def test_of_all_who_claim_at_once_on_slack_the_board_and_the_api_one_has_it(
    slack: FakeSlack, settings: Settings
) -> None:
    crowd = [f"U0CROWD{number:03d}" for number in range(24)]
    for number, user in enumerate(crowd):
        email = f"p{number}@acme.example"
        slack.people[user] = Member(user, user.lower(), f"Person {number}", email)
    async with house(settings) as client:
        path = await asked(client, slack)
        board = path.replace("/api/v1", "/board")
        (card,) = slack.in_channel(PEOPLE)
        pressed = [Visitor(slack, client, user).click(card, "Claim") for user in crowd * 5]
        by_api = [client.post(f"{path}/claim", json={}, headers=BEARER) for _ in range(40)]
        by_board = [
            client.post(board, data={"act": "claim"}, headers=BEARER, allow_redirects=False)
            for _ in range(40)
        ]
        _, answers = await asyncio.gather(
            asyncio.gather(*pressed), asyncio.gather(*by_api, *by_board)
        )
        case = await (await client.get(path, headers=BEARER)).json()
        owner, name = case["owner_id"], case["owner_name"]
        losers = [user for user in crowd if f"{slack.people[user].email}" != owner]
        await until(lambda: len([p for p in slack.posts if p.only_for]) >= 5 * len(losers))
        await until(lambda: f"*Claimed by {name}*" in card.shown)

    whispers = {user: [p.shown for p in slack.whispered(user)] for user in losers}
    said = f"{name} has it already. Leave it to them, or ask them to release it."
    assert {tuple(each) for each in whispers.values()} == {(said,) * 5}
    refused = {answer.status for answer in answers}
    assert refused <= ({200, 303} if owner == "admin" else {409})
    assert [step["step"] for step in case["history"]] == ["open", "claim"]
    told = slack.in_thread(HELP, THREAD)[1:]
    assert [post.shown.splitlines()[0] for post in told] == [f"*{name}* has taken your question."]


async def test_what_is_done_on_the_board_is_seen_on_the_card_and_the_other_way_round(
    slack: FakeSlack, settings: Settings
) -> None:
    async with house(settings) as client:
        path = await asked(client, slack)
        (card,) = slack.in_channel(PEOPLE)
        assert "Open the thread" in card.shown
        anna = Visitor(slack, client, names.ANNA)
        await anna.click(card, "Claim")
        case = await (await client.get(path, headers=BEARER)).json()
        assert (case["state"], case["owner_id"]) == ("claimed", "anna@acme.example")
        await until(lambda: "*Claimed by Anna Lopez*" in card.shown)
        await anna.click(card, "Release")
        await until(lambda: "*Waits for somebody*" in card.shown)
        said = {"name": "Ben Okafor", "text": "Room 3."}
        await client.post(f"{path}/reply", json=said, headers=BEARER)
        await until(lambda: "*Answered by Ben Okafor*" in card.shown)
        await until(lambda: "answered:" in slack.in_thread(HELP, THREAD)[-1].shown)
        alice = Visitor(slack, client, names.ALICE)
        await alice.click(slack.in_thread(HELP, THREAD)[-1], "This helped, close it")
        await until(lambda: "*Closed by the one who asked*" in card.shown)
        await until(lambda: "You closed it." in slack.in_thread(HELP, THREAD)[-1].shown)
