"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from aiohttp import web

from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Platform, Policy
from bot.domain.ports import Channel, KnowsPublicChannels, TellsPeople
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework
from bot.learning import case_webhook, certificate_watch, label_review, shadow_mode
from bot.learning.case_webhook import CaseWebhook
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.gap_checks import GapChecks
from bot.learning.gap_jobs import GapJob
from bot.learning.gap_views import GapViews
from bot.learning.jobs import Job, JobRunner
from bot.learning.label_review import LabelCollector, LabelReview
from bot.learning.question_words import QuestionWords
from bot.learning.shadow_mode import DraftSender, ReviewsDrafts
from bot.store.database import Store

QUESTIONS_FILE = "questions.jsonl"
"""Name of the operator's labelled questions in the data directory."""

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_SOON = timedelta(seconds=5)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LearningServices:
    """What learns from use: the jobs in the background, and what pages and commands need."""

    runner: JobRunner
    words: QuestionWords
    gaps: GapViews
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
    readable = ReadableInIndex(components.index)
    words = QuestionWords(store.escalations, store.notes, readable)
    certificates = _certificate_watch(settings, components, store, channels)
    jobs = (
        _gap_job(settings, components, store, channels).job(),
        Job(label_review.JOB, _MINUTE, _label_collector(settings, store, channels).run),
        Job(certificate_watch.JOB, _HOUR, certificates.run),
        Job(shadow_mode.JOB, _SOON, _draft_sender(settings, store, channels, readable).run),
        *_case_webhook_jobs(settings, store, readable),
    )
    return LearningServices(
        JobRunner(settings.tenant, jobs, store.jobs, owner=str(uuid.uuid4()), is_open=is_open),
        words,
        GapViews(settings.tenant, store.gap_reports, words, readable),
        _label_review(settings, store, words, readable),
        certificates,
    )


def _certificate_watch(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> CertificateWatch:
    return CertificateWatch(
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


def _case_webhook_jobs(
    settings: Settings, store: Store, readable: ReadablePassages
) -> Sequence[Job]:
    """Return the job that sends steps of cases to the webhook, none without one."""
    endpoint = case_webhook.endpoint_of(settings)
    if endpoint is None:
        return ()
    webhook = CaseWebhook(
        settings.tenant,
        endpoint=endpoint,
        events=store.webhook_events,
        casework=Casework(
            cases=store.escalations, interactions=store.interactions, readable=readable
        ),
        now=_utc_now,
        public_url=settings.public_url,
    )
    return (Job(case_webhook.JOB, _SOON, webhook.run),)


def _draft_sender(
    settings: Settings, store: Store, channels: Sequence[Channel], readable: ReadablePassages
) -> DraftSender:
    return DraftSender(
        settings.tenant,
        drafts=store.shadow_drafts,
        interactions=store.interactions,
        policies=store.policies,
        notes=store.notes,
        readable=readable,
        platforms={each.platform: each for each in channels if isinstance(each, ReviewsDrafts)},
        now=_utc_now,
        public_url=settings.public_url,
    )


def _label_collector(
    settings: Settings, store: Store, channels: Sequence[Channel]
) -> LabelCollector:
    return LabelCollector(
        settings.tenant,
        labels=store.labels,
        interactions=store.interactions,
        marks=store.jobs,
        channels=_knowing_public_channels(channels),
        now=_utc_now,
    )


def _label_review(
    settings: Settings, store: Store, words: QuestionWords, readable: ReadablePassages
) -> LabelReview:
    return LabelReview(
        settings.tenant,
        labels=store.labels,
        interactions=store.interactions,
        words=words,
        readable=readable,
        audits=store.audits,
        questions=settings.data_dir / QUESTIONS_FILE,
        now=_utc_now,
    )


def _knowing_public_channels(
    channels: Sequence[Channel],
) -> Mapping[Platform, KnowsPublicChannels]:
    return {each.platform: each for each in channels if isinstance(each, KnowsPublicChannels)}


def _utc_now() -> datetime:
    return datetime.now(UTC)


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
        platforms=_knowing_public_channels(channels),
        checks=checks,
        night=settings.learning_hour,
    )
