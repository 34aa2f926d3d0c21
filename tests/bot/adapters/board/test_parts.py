from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.store.database import Store, open_store, sqlite_url
from bot.web.board.health import ComponentView, component_view
from tests.bot.adapters.board.state_app import Client, Told, state_app
from tests.bot.server import settings_for

ORIGIN = "Origin"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url(tmp_path))
    yield opened
    await opened.close()


class Answers:
    """A platform that says how it is, or why it can't."""

    platform = "slack"

    def __init__(self, said: ComponentStatus | Exception) -> None:
        self._said = said
        self.asked = 0

    async def check(self) -> ComponentStatus:
        self.asked += 1
        if isinstance(self._said, Exception):
            raise self._said
        return self._said


async def again(client: Client) -> str:
    origin = str(client.make_url("/")).rstrip("/")
    response = await client.post("/board/parts", headers={ORIGIN: origin})
    assert response.status == 200
    return await response.text()


def test_a_command_at_the_end_of_a_cure_can_be_copied() -> None:
    part = ComponentStatus(
        "knowledge", "absent", "nothing yet.", "Add pages: python -m ingestion folder P"
    )

    assert component_view(part) == ComponentView(
        "knowledge",
        "absent",
        "Not set up",
        "Nothing yet.",
        "Add pages:",
        "python -m ingestion folder P",
    )
    assert (
        component_view(ComponentStatus("model", "absent", "", "Add OPENAI_MODEL to .env")).command
        == ""
    )


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "small", "Off.", "238 chunks"])
def test_a_name_keeps_its_letters(name: str) -> None:
    assert component_view(ComponentStatus("embedder", "ready", name)).detail == name


async def test_every_part_is_shown_the_broken_first(store: Store, tmp_path: Path) -> None:
    told = Told(
        (
            ComponentStatus("model", "ready", "small"),
            ComponentStatus("index", "failed", "full.", "Make room."),
        )
    )
    async with state_app(store, settings_for(tmp_path), told) as client:
        shown = await (await client.get("/board/parts")).text()

    assert "1 part is broken: index." in shown
    assert shown.index("Make room.") < shown.index("small")


async def test_checking_again_asks_the_platforms_and_looking_does_not(
    store: Store, tmp_path: Path
) -> None:
    platform = Answers(ComponentStatus("Slack", "ready", "bot @desk in team T1"))
    told = Told(
        (ComponentStatus("Slack", "ready", "events at /slack/events"),), (platform, object())
    )
    async with state_app(store, settings_for(tmp_path), told) as client:
        await client.get("/board/parts")
        assert platform.asked == 0
        shown = await again(client)

    assert platform.asked == 1
    assert "Bot @desk in team T1" in shown
    assert "events at /slack/events" not in shown


async def test_a_platform_that_is_away_is_broken_and_the_page_is_not(
    store: Store, tmp_path: Path
) -> None:
    told = Told((), (Answers(DeliveryFailed("Slack is away.")),))
    async with state_app(store, settings_for(tmp_path), told) as client:
        shown = await again(client)

    assert "Slack is away." in shown
    assert "1 part is broken: Slack." in shown


async def test_addresses_to_enter_are_whole_where_the_public_one_is_known(
    store: Store, tmp_path: Path
) -> None:
    secrets = {"slack_bot_token": "xoxb-hidden", "slack_signing_secret": "hidden-too"}
    settings = settings_for(
        tmp_path,
        **secrets,
        public_url="https://help.example",
        admin_token="a-token-of-sufficient-length",
    )
    async with state_app(store, settings, Told()) as client:
        bearer = {"Authorization": "Bearer a-token-of-sufficient-length"}
        shown = await (await client.get("/board/parts", headers=bearer)).text()

    assert "https://help.example/slack/events" in shown
    assert "hidden" not in shown.replace('class="hidden"', "")


async def test_no_address_is_entered_at_slack_where_the_server_opens_a_socket(
    store: Store, tmp_path: Path
) -> None:
    secrets = {"slack_bot_token": "xoxb-hidden", "slack_app_token": "xapp-hidden"}
    settings = settings_for(tmp_path, **secrets, admin_token="a-token-of-sufficient-length")
    async with state_app(store, settings, Told()) as client:
        bearer = {"Authorization": "Bearer a-token-of-sufficient-length"}
        shown = await (await client.get("/board/parts", headers=bearer)).text()

    assert "/slack/events" not in shown


async def test_a_database_is_named_without_user_and_password(store: Store, tmp_path: Path) -> None:
    url = "postgresql://desk:hunter2@db.example/frontdesk?sslpassword=hunter3"
    async with state_app(store, settings_for(tmp_path, database_url=url), Told()) as client:
        shown = await (await client.get("/board/parts")).text()

    assert "PostgreSQL, database &#39;frontdesk&#39; at db.example" in shown
    assert "hunter" not in shown
    assert "desk:" not in shown
