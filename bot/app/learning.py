"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from bot.app.components import Components
from bot.domain.ports import Channel
from bot.domain.settings import Settings
from bot.learning.jobs import Job, JobRunner
from bot.store.database import Store


@dataclass(frozen=True, slots=True)
class LearningServices:
    """What learns from use: the jobs in the background, and what pages and commands need."""

    runner: JobRunner

    def mount(self, app: web.Application) -> None:
        """Start and stop the jobs with the server."""
        app.cleanup_ctx.append(self._run)

    async def _run(self, _: web.Application) -> AsyncIterator[None]:
        self.runner.start()
        yield
        await self.runner.stop()


def build_learning(
    settings: Settings,
    components: Components,
    store: Store,
    *,
    channels: Sequence[Channel],
    is_open: Callable[[], bool],
) -> LearningServices:
    """Build everything that learns; nothing is started. ``is_open``: the record can be used."""
    runner = JobRunner(
        settings.tenant,
        _jobs(settings, components, store, channels),
        store.jobs,
        owner=str(uuid.uuid4()),
        is_open=is_open,
    )
    return LearningServices(runner)


def _jobs(
    settings: Settings,  # noqa: ARG001
    components: Components,  # noqa: ARG001
    store: Store,  # noqa: ARG001
    channels: Sequence[Channel],  # noqa: ARG001
) -> Sequence[Job]:
    return ()
