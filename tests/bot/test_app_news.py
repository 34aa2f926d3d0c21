"""A person's reply on its whole way: real composition, from the API into the asker's thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from bot.config import Settings
from bot.store import open_store, sqlite_url
from bot.types import InteractionId
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import TEAM, TOKEN, FakeSlack
from tests.bot.escalations.fakes import ANNA
from tests.bot.house import house, until
from tests.bot.server import BEARER, settings_for
from tests.bot.server import TOKEN as ADMIN

HELP = "C0HELP000"
PEOPLE = "C0PEOPLE0"
ASKED = events.mention("human")
THREAD = str(ASKED["ts"])


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as workspace:
        yield workspace


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
        "*Anna Lopez* answered:\nThe blue socket is in room 3."
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
    assert [post.shown for post in told] == ["*Anna Lopez* answered:\nRoom 3."]
