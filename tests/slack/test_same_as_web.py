"""The same question has the same outcome and the same record on the web, in a channel, directly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from pathlib import Path

import pytest

from bot.config import Settings
from bot.parts import open_parts
from bot.store import Store, open_store, sqlite_url
from bot.types import Escalation, Interaction, Response, Trace
from ingestion.run import Folder, sync_folder
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.server import TEAM, TOKEN, FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace import names
from tests.bot.house import house
from tests.bot.server import settings_for
from tests.conformance.on_web import OnWeb
from tests.conformance.platforms import Question
from tests.evals.sample import QUESTIONS, SPACES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unpaced")]

KINDS = {"answerable": 12, "near_miss": 3, "generic": 3, "human": 2}
_MEASURED = frozenset({"timings_ms", "calls"})


def questions() -> list[str]:
    """Return 20 questions about the sample company, some of each kind."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    alone = [row for row in rows if not row["history"]]
    return [
        row["question"]
        for kind, count in KINDS.items()
        for row in [row for row in alone if row["kind"] == kind][:count]
    ]


@pytest.fixture(scope="module")
def asked() -> list[str]:
    return questions()


async def ask_on_web(settings: Settings, texts: Sequence[str]) -> Mapping[str, Interaction]:
    """Ask in a browser; return what is recorded, by what was asked."""
    async with house(settings) as client, opened(settings) as store:
        web = OnWeb(settings.data_dir)
        web.client = client
        for number, text in enumerate(texts):
            assert await web.ask(Question(text, number, number, private=True)) == "kept"
        kept = await recorded(store, len(texts))
    return {each.message.text: each for each in kept}


async def ask_on_slack(
    settings: Settings, slack: FakeSlack, texts: Sequence[str]
) -> Mapping[tuple[bool, str], Interaction]:
    """Ask in a channel and directly; return what is recorded, by whether it was private."""
    async with house(settings) as client, opened(settings) as store:
        alice = Visitor(slack, client)
        for text in texts:
            await alice.say(names.HELP, text, mention=True)
            await alice.say(alice.direct, text)
        kept = await recorded(store, 3 * len(texts))
    on_slack = (each for each in kept if each.message.thread.platform == "slack")
    return {(each.message.private, each.message.text): each for each in on_slack}


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    store = await open_store(sqlite_url(settings.data_dir))
    try:
        yield store
    finally:
        await store.close()


async def recorded(store: Store, count: int) -> Sequence[Interaction]:
    """Wait until so many questions have an outcome; return them."""
    async with asyncio.timeout(60):
        while len(kept := await store.interactions.answered("default", 100)) < count:  # noqa: ASYNC110 - as until
            await asyncio.sleep(0.05)
    return kept


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


async def _indexed(settings: Settings) -> None:
    async with open_parts(settings) as parts:
        for space, folder in SPACES.items():
            await sync_folder(
                Folder(folder, space),
                parts.index,
                parts.embedder,
                tenant=settings.tenant,
                data_dir=settings.data_dir,
            )


def traced(trace: Trace) -> dict[str, object]:
    """Return what was seen and decided, without what was measured."""
    return {
        each.name: getattr(trace, each.name) for each in fields(trace) if each.name not in _MEASURED
    }


def told(response: Response) -> Response:
    """Return what is said; a direct message asks before it brings a person in."""
    if not isinstance(response, Escalation):
        return response
    return replace(response, text="", consent_needed=False)


async def test_twenty_questions_come_out_the_same_everywhere(
    slack: FakeSlack, tmp_path: Path, asked: Sequence[str]
) -> None:
    alone = settings_for(tmp_path, rate_per_user_per_minute=0, rate_per_channel_per_minute=0)
    await _indexed(alone)
    on_web = await ask_on_web(alone, asked)
    on_slack = await ask_on_slack(with_slack(alone, slack), slack, asked)

    assert len(asked) == sum(KINDS.values())
    for text, web in on_web.items():
        for private in (False, True):
            there = on_slack[private, text]
            assert web.outcome
            assert there.outcome
            assert told(there.outcome.response) == told(web.outcome.response), text
            assert traced(there.outcome.trace) == traced(web.outcome.trace), text
            assert there.outcome.private == web.outcome.private
            assert there.status == web.status == "done"
    kinds = {type(each.outcome.response).__name__ for each in on_web.values() if each.outcome}
    assert {"Reply", "Escalation"} <= kinds
