"""The same questions on the web and on a platform: what is recorded of each must be the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace

from bot.domain.interactions import Escalation, Interaction, Response, Trace
from bot.domain.settings import Settings
from bot.store.database import Store, open_store, sqlite_url
from tests.contract.platforms.driver import Question
from tests.contract.platforms.web_driver import OnWeb
from tests.evals.sets import QUESTIONS
from tests.fakes.http_server import serving_application

_MEASURED = frozenset({"timings_ms", "calls"})


def questions(kinds: Mapping[str, int]) -> list[str]:
    """Return questions about the sample company, so many of each kind."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    alone = [row for row in rows if not row["history"]]
    return [
        row["question"]
        for kind, count in kinds.items()
        for row in [row for row in alone if row["kind"] == kind][:count]
    ]


async def ask_on_web(settings: Settings, texts: Sequence[str]) -> Mapping[str, Interaction]:
    """Ask in a browser; return what is recorded, by what was asked."""
    async with serving_application(settings) as client, opened(settings) as store:
        web = OnWeb(settings.data_dir)
        web.client = client
        for number, text in enumerate(texts):
            assert await web.ask(Question(text, number, number, private=True)) == "kept"
        kept = await recorded(store, len(texts))
    return {each.message.text: each for each in kept}


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    store = await open_store(sqlite_url(settings.data_dir))
    try:
        yield store
    finally:
        await store.close()


async def recorded(store: Store, count: int) -> Sequence[Interaction]:
    """Wait until so many questions have an outcome; return them."""
    async with asyncio.timeout(120):
        while len(kept := await store.interactions.answered("default", 100)) < count:  # noqa: ASYNC110 - as until
            await asyncio.sleep(0.05)
    return kept


def check_same(there: Interaction, web: Interaction) -> None:
    """Fail where what is said and why, or who may read it, is not the same."""
    text = web.message.text
    assert web.outcome
    assert there.outcome
    assert _told(there.outcome.response) == _told(web.outcome.response), text
    assert _traced(there.outcome.trace) == _traced(web.outcome.trace), text
    assert there.outcome.private == web.outcome.private
    assert there.status == web.status == "done"


def _traced(trace: Trace) -> dict[str, object]:
    """Return what was seen and decided, without what was measured."""
    return {
        each.name: getattr(trace, each.name) for each in fields(trace) if each.name not in _MEASURED
    }


def _told(response: Response) -> Response:
    """Return what is said; a direct message asks before it brings a person in."""
    if not isinstance(response, Escalation):
        return response
    return replace(response, text="", consent_needed=False)
