"""Test that a question has the same outcome and record on the web, on Slack and in Teams."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.domain.interactions import Interaction
from bot.domain.messages import Platform
from bot.domain.settings import Settings
from tests.fakes.applications import UNLIMITED, slack_settings, teams_settings
from tests.fakes.http_server import serving_application, settings_for
from tests.fakes.slack import names
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor as OnSlack
from tests.fakes.teams.names import HELP
from tests.fakes.teams.people import Human
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor as InTeams
from tests.sweeps.sizes import sizes
from tests.sweeps.web_comparison import (
    ask_on_web,
    check_same,
    opened,
    questions,
    recorded,
)

Recorded = Mapping[tuple[Platform, bool, str], Interaction]
"""By platform, whether it was private, and what was asked."""


async def ask_in_chat(
    settings: Settings, slack: FakeSlack, teams: FakeTeams, texts: Sequence[str]
) -> Recorded:
    """Ask in a channel and in private, on both platforms; return what is recorded.

    A chat of Teams is one conversation, in which questions follow each other: each has an asker of
    its own.
    """
    async with serving_application(settings) as client, opened(settings) as store:
        alice = OnSlack(slack, client)
        for number, text in enumerate(texts):
            await alice.say(names.HELP, text, mention=True)
            await alice.say(alice.direct, text)
            who, address = f"asker{number}-object-id", f"asker{number}@acme.example"
            teams.add(Human(who, f"29:asker{number}", f"Asker {number}", address, address), HELP)
            asker = InTeams(teams, client, who)
            await asker.say(HELP, text)
            await asker.say(asker.chat, text)
        kept = await recorded(store, 5 * len(texts))
    return {
        (each.message.thread.platform, each.message.private, each.message.text): each
        for each in kept
    }


@sizes(
    "kinds",
    smoke={"answerable": 1, "near_miss": 1, "generic": 1, "human": 1},
    whole={"answerable": 12, "near_miss": 3, "generic": 3, "human": 2},
)
async def test_questions_come_out_the_same_everywhere(
    kinds: Mapping[str, int],
    slack: FakeSlack,
    teams: FakeTeams,
    tmp_path: Path,
    indexed_sample: Path,
) -> None:
    shutil.copy(indexed_sample / "index.sqlite", tmp_path)
    alone = settings_for(tmp_path, **UNLIMITED)
    everywhere = settings_for(
        tmp_path,
        **teams_settings(teams.url),
        **slack_settings(slack.url),
    )
    on_web = await ask_on_web(alone, asked := questions(kinds))
    in_chat = await ask_in_chat(everywhere, slack, teams, asked)

    assert len(asked) == sum(kinds.values())
    for text, web in on_web.items():
        for platform in ("slack", "teams"):
            for private in (False, True):
                check_same(in_chat[platform, private, text], web)
    told = {type(each.outcome.response).__name__ for each in on_web.values() if each.outcome}
    assert {"Reply", "Escalation"} <= told
