"""Test that a question has the same outcome and record on the web, in a channel and directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bot.domain.interactions import Interaction
from bot.domain.settings import Settings
from tests.fakes.http_server import serving_application, settings_for
from tests.fakes.slack import names
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.names import TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor
from tests.sweeps.web_comparison import (
    KINDS,
    ask_on_web,
    check_same,
    index_sample,
    opened,
    questions,
    recorded,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unpaced")]


async def ask_on_slack(
    settings: Settings, slack: FakeSlack, texts: Sequence[str]
) -> Mapping[tuple[bool, str], Interaction]:
    """Ask in a channel and directly; return what is recorded, by whether it was private."""
    async with serving_application(settings) as client, opened(settings) as store:
        alice = Visitor(slack, client)
        for text in texts:
            await alice.say(names.HELP, text, mention=True)
            await alice.say(alice.direct, text)
        kept = await recorded(store, 3 * len(texts))
    on_slack = (each for each in kept if each.message.thread.platform == "slack")
    return {(each.message.private, each.message.text): each for each in on_slack}


def with_slack(settings: Settings, slack: FakeSlack) -> Settings:
    return settings_for(
        settings.data_dir,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        rate_per_user_per_minute=0,
        rate_per_channel_per_minute=0,
    )


async def test_twenty_questions_come_out_the_same_everywhere(
    slack: FakeSlack, tmp_path: Path
) -> None:
    alone = settings_for(tmp_path, rate_per_user_per_minute=0, rate_per_channel_per_minute=0)
    await index_sample(alone)
    on_web = await ask_on_web(alone, asked := questions())
    on_slack = await ask_on_slack(with_slack(alone, slack), slack, asked)

    assert len(asked) == sum(KINDS.values())
    for text, web in on_web.items():
        for private in (False, True):
            check_same(on_slack[private, text], web)
    kinds = {type(each.outcome.response).__name__ for each in on_web.values() if each.outcome}
    assert {"Reply", "Escalation"} <= kinds
