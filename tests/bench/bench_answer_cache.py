"""A simulated day with and without the answer cache: calls of the model and seconds that it saves.

``python -m tests.bench.bench_answer_cache [--questions 300] [--people 80] [--delay 0.3]``

Colleagues ask the sample company's labelled questions, how often each is as uneven as real ones
are (Zipf), in private or in a channel, always in the same words. Everything is as it is served:
embedder, index, gate, inbox and record; the model says what a capable one was recorded to say,
after a stated delay.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from aiohttp import web
from pydantic import SecretStr

from bot.answering.evaluation.labelled_questions import LabelledQuestion, load_questions
from bot.answering.evaluation.model_trial import drawn
from bot.app.components import Components, open_components
from bot.domain.interactions import Outcome
from bot.domain.messages import Audience, Inquiry, Message
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.inbox.worker import WorkLimits
from bot.observability.logs import set_up_logs
from bot.store.database import Store, open_store, sqlite_url
from ingestion.config import Settings as IngestionSettings
from ingestion.sync.sync import Folder, sync_folder
from rag.types import EVERYONE, Principal
from tests.evals.question_runs import TODAY
from tests.evals.recorded.server import MODEL, Replay, load_replies, replaying
from tests.evals.sets import DRAWS, QUESTIONS, SAMPLE, SPACES
from tests.fakes.builders import message
from tests.fakes.durable_inbox import inbox_over, running

ZIPF = 1.1
"""How uneven questions are: the exponent by which their frequency falls with their rank."""

IN_PRIVATE = 0.7
"""The share that is asked in private; the others are asked in a channel."""

LOOK_UPS = 200
AT_ONCE = 4


class SlowReplay(Replay):
    """The recorded model, with the time that a call takes."""

    delay = 0.0

    async def chat(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.delay)
        self.next_question()
        return await super().chat(request)


class AsPlanned:
    """Admits each message as the inquiry that the day has planned for it."""

    def __init__(self, inquiries: Sequence[Inquiry]) -> None:
        self._inquiries = {each.message.id: each for each in inquiries}

    async def admit(self, message: Message) -> Inquiry:
        return self._inquiries[message.id]


@dataclass(frozen=True, slots=True)
class Day:
    """What a day of questions took: calls of the model, milliseconds of each question, results."""

    calls: int
    took: Sequence[float]
    results: Counter[str]


def planned(rows: Sequence[LabelledQuestion], questions: int, people: int) -> list[Inquiry]:
    """Return the inquiries of a day in order, the same each time."""
    draw = np.random.default_rng(5)
    order = draw.permutation(len(rows))
    weights = 1 / np.arange(1, len(rows) + 1) ** ZIPF
    chosen = draw.choice(len(rows), size=questions, p=weights / weights.sum())
    return [
        _inquiry(
            rows[order[rank]],
            number,
            f"p{draw.integers(people)}",
            private=draw.random() < IN_PRIVATE,
        )
        for number, rank in enumerate(chosen)
    ]


def _inquiry(row: LabelledQuestion, number: int, who: str, *, private: bool) -> Inquiry:
    principals = row.principals | {Principal(f"user:{who}")}
    asked = message(
        row.text,
        message_id=str(number),
        channel=who,
        thread=str(number),
        private=private,
        principals=principals,
    )
    in_channel = Audience("channel", frozenset({EVERYONE}))
    return Inquiry(asked, row.turns, Audience("private", principals) if private else in_channel)


def settings_of(folder: Path, url: str, *, cached: bool) -> Settings:
    return load_settings(
        _env_file=None,
        data_dir=folder,
        openai_model=MODEL,
        openai_base_url=url,
        openai_api_key=SecretStr("none"),
        answer_cache=cached,
        log_level="error",
    )


@asynccontextmanager
async def opened(
    folder: Path, url: str, *, cached: bool
) -> AsyncIterator[tuple[Components, Store]]:
    """Open the sample company over a record of its own."""
    settings = settings_of(folder, url, cached=cached)
    superseded = IngestionSettings(_env_file=None).confluence_superseded_labels
    async with (
        await open_store(sqlite_url(folder)) as store,
        open_components(
            settings, today=lambda: TODAY, superseded=superseded, saved=store.saved_answers
        ) as parts,
    ):
        for space, path in SPACES.items():
            await sync_folder(
                Folder(path, space),
                parts.index,
                parts.embedder,
                tenant=settings.tenant,
                data_dir=folder,
            )
        yield parts, store


async def lived(parts: Components, store: Store, inquiries: Sequence[Inquiry]) -> Day:
    """Ask the questions of a day, a few at once."""
    built = inbox_over(
        store,
        desk=parts.desk,
        admission=AsPlanned(inquiries),
        limits=WorkLimits(concurrency=AT_ONCE),
    )
    took: list[float] = []
    outcomes: list[Outcome] = []
    turn = asyncio.Semaphore(AT_ONCE)
    async with running(built) as inbox:

        async def ask(asked: Inquiry) -> None:
            async with turn:
                began = time.perf_counter()
                outcomes.append(await inbox.outcome(await inbox.accept(asked.message)))
                took.append((time.perf_counter() - began) * 1000)

        await asyncio.gather(*map(ask, inquiries))
    results = Counter(
        each.trace.cache.result if each.trace.cache else "not asked" for each in outcomes
    )
    return Day(sum(len(each.trace.calls) for each in outcomes), took, results)


async def look_ups(parts: Components, store: Store) -> Sequence[float]:
    """Return the milliseconds of what a miss adds: the revision, and a look into the record."""
    took, readers = [], frozenset({EVERYONE})
    for number in range(LOOK_UPS):
        began = time.perf_counter()
        await parts.index.revision("default", None, readers)
        since = datetime.now(UTC) - timedelta(days=1)
        await store.saved_answers.find("default", f"{number:064}", since)
        took.append((time.perf_counter() - began) * 1000)
    return took


async def run(questions: int, people: int, delay: float) -> None:
    """Live the same day twice, and print what differs."""
    replay = SlowReplay(SAMPLE, load_replies(SAMPLE), None)
    replay.delay = delay
    rows = [each.row for each in drawn(DRAWS[SAMPLE], load_questions(QUESTIONS))]
    rows = list({row.id: row for row in rows}.values())
    day = planned(rows, questions, people)
    different = len({each.message.text for each in day})
    print(f"{questions} questions, {different} different ones (Zipf, {ZIPF}), {people} people,")
    print(f"a recorded model that takes {delay:.2f} s a call, {AT_ONCE} questions at once")
    print(f"{'':<10}{'calls':>8}{'seconds':>10}{'p50 ms':>9}{'p95 ms':>9}")
    days: list[Day] = []
    async with replaying(replay) as url:
        for cached in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                async with opened(Path(folder), url, cached=cached) as (parts, store):
                    days.append(await lived(parts, store, day))
                    _print_day("with" if cached else "without", days[-1])
                    extra = await look_ups(parts, store)
    _print_saved(days[0], days[1], extra)
    print(f"prompts that were never recorded: {len(replay.missing)}")


def _print_day(name: str, day: Day) -> None:
    p50, p95 = np.percentile(day.took, (50, 95))
    print(f"{name:<10}{day.calls:>8}{sum(day.took) / 1000:>10.1f}{p50:>9.0f}{p95:>9.0f}")


def _print_saved(without: Day, with_it: Day, extra: Sequence[float]) -> None:
    calls = 1 - with_it.calls / without.calls
    seconds = 1 - sum(with_it.took) / sum(without.took)
    hits = with_it.results["hit"] / with_it.results.total()
    print(f"saved: {calls:.0%} of the calls, {seconds:.0%} of the seconds; hits: {hits:.0%}")
    print("questions: " + ", ".join(f"{n} {name}" for name, n in with_it.results.most_common()))
    p50, p95 = np.percentile(extra, (50, 95))
    print(f"what a miss adds: p50 {p50:.1f} ms, p95 {p95:.1f} ms")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--people", type=int, default=80)
    parser.add_argument("--delay", type=float, default=0.3)
    options = parser.parse_args()
    set_up_logs("error")
    asyncio.run(run(options.questions, options.people, options.delay))
    return 0


if __name__ == "__main__":
    sys.exit(main())
