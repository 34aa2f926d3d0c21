"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from aiohttp import web

from bot.answering.visibility import ReadableInIndex
from bot.app.components import Components
from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Channel, KnowsPublicChannels, TellsPeople
from bot.domain.settings import Settings
from bot.learning import certificate_watch, label_review
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.jobs import Job, JobRunner
from bot.learning.label_review import LabelCollector, LabelReview
from bot.learning.question_words import QuestionWords
from bot.store.database import Store

QUESTIONS_FILE = "questions.jsonl"
"""Name of the operator's labelled questions in the data directory."""

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LearningServices:
    """What learns from use: the jobs in the background, and what pages and commands need."""

    runner: JobRunner
    labels: LabelReview
    certificates: CertificateWatch

    def mount(self, app: web.Application) -> None:
        """Start and stop the jobs with the server."""
        app.cleanup_ctx.append(self._run)

    async def _run(self, _: web.Application) -> AsyncIterator[None]:
        self.runner.start()
        following = asyncio.create_task(self._follow_suspensions())
        yield
        following.cancel()
        await asyncio.gather(self.runner.stop(), following, return_exceptions=True)

    async def _follow_suspensions(self) -> None:
        """Keep this process's gate up to date with what any process suspended."""
        while True:
            try:
                await self.certificates.refresh()
            except StoreUnavailable as error:
                # What the gate knew last stays true as far as anybody can tell.
                log.warning("certificate.not_refreshed", why=str(error))
            await asyncio.sleep(_MINUTE.total_seconds() / 2)


def build_learning(
    settings: Settings,
    components: Components,
    store: Store,
    *,
    channels: Sequence[Channel],
    is_open: Callable[[], bool],
) -> LearningServices:
    """Build everything that learns; nothing is started. ``is_open``: the record can be used."""
    certificates = CertificateWatch(
        settings.tenant,
        gate=components.gate,
        labels=store.labels,
        interactions=store.interactions,
        suspensions=store.suspensions,
        marks=store.jobs,
        audits=store.audits,
        platforms=[each for each in channels if isinstance(each, TellsPeople)],
        now=_utc_now,
    )
    collector = LabelCollector(
        settings.tenant,
        labels=store.labels,
        interactions=store.interactions,
        marks=store.jobs,
        channels={
            each.platform: each for each in channels if isinstance(each, KnowsPublicChannels)
        },
        now=_utc_now,
    )
    jobs = (
        Job(label_review.JOB, 5 * _MINUTE, collector.run),
        Job(certificate_watch.JOB, _HOUR, certificates.run),
    )
    runner = JobRunner(settings.tenant, jobs, store.jobs, owner=str(uuid.uuid4()), is_open=is_open)
    return LearningServices(runner, build_label_review(settings, components, store), certificates)


def build_label_review(settings: Settings, components: Components, store: Store) -> LabelReview:
    """Build what shows labels and takes decisions about them."""
    readable = ReadableInIndex(components.index)
    return LabelReview(
        settings.tenant,
        labels=store.labels,
        interactions=store.interactions,
        words=QuestionWords(store.escalations, store.notes, readable),
        readable=readable,
        audits=store.audits,
        questions=settings.data_dir / QUESTIONS_FILE,
        now=_utc_now,
    )


def _utc_now() -> datetime:
    return datetime.now(UTC)
