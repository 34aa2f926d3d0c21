"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from bot.answering.visibility import ReadableInIndex
from bot.app.components import Components
from bot.domain.capabilities import KnowsPublicChannels
from bot.domain.messages import Policy
from bot.domain.ports import Channel
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.learning.gap_checks import GapChecks
from bot.learning.gap_jobs import GapJob
from bot.learning.gap_views import GapViews
from bot.learning.jobs import Job, JobRunner
from bot.learning.question_words import QuestionWords
from bot.store.database import Store


@dataclass(frozen=True, slots=True)
class LearningServices:
    """What learns from use: the jobs in the background, and what pages and commands need."""

    runner: JobRunner
    gaps: GapViews
    words: QuestionWords

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
    readable = ReadableInIndex(components.index)
    words = QuestionWords(store.escalations, store.notes, readable)
    runner = JobRunner(
        settings.tenant,
        _jobs(settings, components, store, channels),
        store.jobs,
        owner=str(uuid.uuid4()),
        is_open=is_open,
    )
    gaps = GapViews(settings.tenant, store.gap_reports, words, readable)
    return LearningServices(runner, gaps, words)


def _jobs(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> Sequence[Job]:
    return (_gap_job(settings, components, store, channels).job(),)


def _gap_job(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> GapJob:
    checks = GapChecks(
        tenant=settings.tenant,
        record=store.gaps,
        desk=components.desk,
        policies=store.policies,
        policy=Policy(spaces=settings.index_spaces),
        calls=store.usage,
        limits=usage_limits(settings),
        use=store.counting,
        current_pause=store.pauses.current,
        budget=settings.gap_questions_per_night,
    )
    return GapJob(
        settings.tenant,
        store.gaps,
        store.jobs,
        embedder=components.embedder,
        platforms={
            each.platform: each for each in channels if isinstance(each, KnowsPublicChannels)
        },
        checks=checks,
        night=settings.learning_hour,
    )
