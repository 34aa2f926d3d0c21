"""Slack in the whole application: over a socket, and after its token is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.build import STATUS
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.names import APP_TOKEN, HELP, TOKEN
from tests.bot.house import LIKELY, LOW, house, until, write_index
from tests.bot.server import settings_for


@pytest.fixture
async def on_slack(slack: FakeSlack, tmp_path: Path) -> Settings:
    settings = settings_for(
        tmp_path,
        confidence_threshold=LOW,
        slack_bot_token=TOKEN,
        slack_app_token=APP_TOKEN,
        slack_api_url=slack.url,
    )
    await write_index(settings, tmp_path / "pages")
    return settings


async def test_a_question_over_the_socket_is_answered_in_its_thread(
    slack: FakeSlack, on_slack: Settings
) -> None:
    async with house(on_slack) as client:
        ann = Visitor(slack, slack.sockets)
        ts = await ann.say(HELP, LIKELY, mention=True)
        await until(lambda: slack.answers(HELP, ts))
        refused = await client.get("/")

    assert "blue socket" in slack.answers(HELP, ts)[0].shown
    assert refused.status in {401, 403}


async def test_an_app_that_is_removed_is_a_part_that_failed(
    slack: FakeSlack, on_slack: Settings
) -> None:
    async with house(on_slack) as client:
        app = client.app
        assert app is not None

        async def part() -> ComponentStatus:
            (found,) = [each for each in await app[STATUS]() if each.name == "Slack"]
            return found

        assert (await part()).state == "ready"
        slack.uninstall()
        await slack.sockets.event(events.envelope({"type": "app_uninstalled"}))
        lost = await part()
        ready = await client.get("/ready")

    assert ready.status == 200, "web page and API still answer"
    assert (lost.state, "SLACK_BOT_TOKEN" in lost.cure) == ("failed", True)
