"""Everything that answers a question in ``serve`` but its doors, in the process that measures.

Messages go into the same inbox, over the same record and durable engine, to the same desk; replies
go to a platform that takes them at once.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.app.components import open_components
from bot.app.confluence import ConfluenceDirectory
from bot.app.documents import reindex_sample
from bot.app.worker import build_background_work
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Activity, InteractionId, Message, Platform
from bot.domain.settings_loading import load_settings
from bot.inbox.accept import DurableInbox
from bot.inbox.engine import DbosEngine, engine_url
from bot.store.database import database_url, unopened
from rag.embedding import embed_question
from rag.garbage_collection import freeze_startup_objects
from rag.ports import Embedder
from tests.fakes.builders import message

PLATFORM: Platform = "rest"
CHANNELS = 100
"""Questions come from so many channels, each from a thread and a person of its own."""
_DRAINED_SECONDS = 0.005


class AtOnce:
    """A platform that takes every reply at once, and remembers when (time.perf_counter)."""

    platform: Platform = PLATFORM

    def __init__(self) -> None:
        self._taken: dict[InteractionId, asyncio.Future[float]] = {}

    def expect(self, interaction_id: InteractionId) -> asyncio.Future[float]:
        """Return what becomes the moment in which the reply is there."""
        taken = asyncio.get_running_loop().create_future()
        self._taken[interaction_id] = taken
        return taken

    async def progress(
        self, message: Message, activity: Activity, placeholder: PostedRef | None
    ) -> None:
        return

    async def deliver(self, delivery: Delivery) -> PostedRef:
        self._taken.pop(delivery.interaction_id).set_result(time.perf_counter())
        return PostedRef("here", delivery.id)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        return None


@dataclass(slots=True)
class Answering:
    """What answers. ``asked`` is how many questions were asked of it."""

    inbox: DurableInbox
    embedder: Embedder
    channel: AtOnce
    asked: int = 0

    async def answer(self, questions: Sequence[str], at_once: int) -> list[float]:
        """Ask all questions, so many at once; return the milliseconds until each was replied to.

        Returns when nothing is left to be done for any of them.
        """
        took: list[float] = []
        waiting = iter(questions)

        async def ask_on() -> None:
            took.extend([await self._ask(text) for text in waiting])

        await asyncio.gather(*(ask_on() for _ in range(at_once)))
        while self.inbox.busy:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_DRAINED_SECONDS)
        return took

    async def embed(self, questions: Iterable[str]) -> None:
        """Embed questions as a search does; of the last 16 the embedder knows the result."""
        for text in questions:
            await embed_question(self.embedder, text)

    async def _ask(self, text: str) -> float:
        self.asked += 1
        name = str(self.asked)
        asked = message(
            text,
            message_id=name,
            platform=PLATFORM,
            channel=f"c{self.asked % CHANNELS}",
            thread=name,
            person=f"p{name}",
            private=False,
        )
        started = time.perf_counter()
        taken = self.channel.expect(asked.interaction_id)
        await self.inbox.accept(asked)
        return (await taken - started) * 1000


@asynccontextmanager
async def answering(data_dir: Path, *, sample: bool = False) -> AsyncIterator[Answering]:
    """Run it on a data directory until the block ends; ``sample`` indexes the sample company."""
    unlimited = {"rate_per_user_per_minute": 10**6, "rate_per_channel_per_minute": 10**6}
    settings = load_settings(_env_file=None, data_dir=data_dir, **unlimited)
    async with AsyncExitStack() as until:
        components = await until.enter_async_context(open_components(settings, fills=sample))
        assert components.embedder is not None, components.embedder_trouble
        if sample:
            await reindex_sample(settings, components)
        store = await until.enter_async_context(unopened(database_url(settings)))
        channel = AtOnce()
        work = build_background_work(
            settings,
            components,
            store,
            DbosEngine(engine_url(settings), "bench"),
            channels=[channel],
            observers=(),
            directory=ConfluenceDirectory(),
            dropped=lambda _: None,
        )
        await work.supervisor.start()
        until.push_async_callback(work.supervisor.stop)
        yield Answering(work.inbox, components.embedder, channel)


def collect_as_served() -> None:
    """Collect garbage as seldom as ``serve`` does (bot.app.cli.serve)."""
    gc.collect()
    freeze_startup_objects()
