"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from aiohttp import web

from bot.answering.admission import served_policy
from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Platform
from bot.domain.ports import Channel, Directory, KnowsPublicChannels, TellsPeople
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework
from bot.learning import (
    answer_library,
    case_webhook,
    certificate_watch,
    digest,
    insights,
    label_review,
    shadow_mode,
)
from bot.learning.answer_drafts import AnswerDrafts, DraftWriter
from bot.learning.answer_library import AnswerLibrary
from bot.learning.answer_review import AnswerReview, NearAnswers
from bot.learning.case_webhook import CaseWebhook
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.corrections import (
    CorrectionDelivery,
    CorrectionLimits,
    ListsActiveRuns,
    QuoteFates,
)
from bot.learning.digest import EMAIL, DigestJob, DigestWriter, Schedule, SendsDigests
from bot.learning.digest_mail import DigestMail
from bot.learning.gap_checks import GapChecks
from bot.learning.gap_jobs import GapJob
from bot.learning.gap_views import GapViews
from bot.learning.insights import FactCollector, InsightViews
from bot.learning.jobs import Job, JobRunner
from bot.learning.label_review import LabelCollector, LabelReview
from bot.learning.publishing import Publishes
from bot.learning.question_words import QuestionWords
from bot.learning.quote_watch import QuoteWatch
from bot.learning.reviewed_answers import answer_id_of
from bot.learning.shadow_mode import DraftSender, ReviewsDrafts
from bot.store.database import Store
from ingestion.library import Library
from prompts.files import load_prompt

QUESTIONS_FILE = "questions.jsonl"
"""Name of the operator's labelled questions in the data directory."""

_MINUTE = timedelta(minutes=1)
_FEW_MINUTES = timedelta(minutes=5)
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
    answers: AnswerReview
    insights: InsightViews
    publisher: Publishes | None

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
    library: Library,
    directory: Directory,
    runs: ListsActiveRuns,
    publisher: Publishes | None,
    is_open: Callable[[], bool],
) -> LearningServices:
    """Build everything that learns; nothing is started.

    ``directory`` resolves what colleagues may read, ``runs`` lists index runs, ``publisher``
    publishes answers in the wiki. ``is_open``: the record can be used.
    """
    readable = ReadableInIndex(components.index)
    words = QuestionWords(store.escalations, store.notes, readable)
    certificates = _certificate_watch(settings, components, store, channels)
    answers = _answer_library(settings, store, library)
    gaps = GapViews(settings.tenant, store.gap_reports, words, readable)
    figures = InsightViews(
        settings.tenant, store.statistics, store.insights, components.index, settings.zone
    )
    writer = DigestWriter(
        settings.tenant, store.digests, gaps, figures, directory, public_url=settings.public_url
    )
    jobs = (
        _gap_job(settings, components, store, channels).job(),
        Job(label_review.JOB, _MINUTE, _label_collector(settings, store, channels).run),
        Job(certificate_watch.JOB, _HOUR, certificates.run),
        Job(answer_library.JOB, _MINUTE / 2, answers.run),
        *_correction_jobs(settings, components, store, channels, directory, runs),
        Job(insights.JOB, _MINUTE, _fact_collector(settings, store).run),
        Job(digest.JOB, _FEW_MINUTES, _digest_job(settings, store, writer, channels).run),
        Job(shadow_mode.JOB, _SOON, _draft_sender(settings, store, channels, readable).run),
        *_case_webhook_jobs(settings, store, readable),
    )
    return LearningServices(
        JobRunner(settings.tenant, jobs, store.jobs, owner=str(uuid.uuid4()), is_open=is_open),
        words,
        gaps,
        _label_review(settings, store, words, readable),
        certificates,
        _answer_review(
            settings,
            components,
            store,
            drafts=_answer_drafts(settings, components, store, words, channels, directory),
            library=answers,
            publisher=publisher,
        ),
        figures,
        publisher,
    )


def _answer_library(settings: Settings, store: Store, library: Library) -> AnswerLibrary:
    return AnswerLibrary(
        settings.tenant,
        answers=store.answers,
        interactions=store.interactions,
        library=library,
        marks=store.jobs,
        signed=settings.answers_signed,
        now=utc_now,
    )


def _answer_drafts(
    settings: Settings,
    components: Components,
    store: Store,
    words: QuestionWords,
    channels: Sequence[Channel],
    directory: Directory,
) -> AnswerDrafts:
    default = settings.default_model
    usual = None if default is None else components.models.get(default.name)
    prompt = load_prompt("draft_answer")
    return AnswerDrafts(
        settings.tenant,
        cases=store.escalations,
        interactions=store.interactions,
        answers=store.answers,
        words=words,
        index=components.index,
        directory=directory,
        channels=_knowing_public_channels(channels),
        writer=None if usual is None else DraftWriter(usual.chat, prompt, store.usage),
        lasts=timedelta(days=settings.answer_days),
        now=utc_now,
    )


def _answer_review(
    settings: Settings,
    components: Components,
    store: Store,
    *,
    drafts: AnswerDrafts,
    library: AnswerLibrary,
    publisher: Publishes | None,
) -> AnswerReview:
    return AnswerReview(
        settings.tenant,
        answers=store.answers,
        interactions=store.interactions,
        drafts=drafts,
        library=library,
        near=NearAnswers(settings.tenant, components.index, components.embedder),
        workers=store.escalations,
        publisher=publisher,
        by_second=settings.review_by_second,
        now=utc_now,
    )


def digest_schedule(settings: Settings) -> Schedule:
    """Return when digests are due."""
    return Schedule(settings.digest_weekday, settings.digest_hour, settings.zone)


def _digest_job(
    settings: Settings, store: Store, writer: DigestWriter, channels: Sequence[Channel]
) -> DigestJob:
    senders: dict[Platform, SendsDigests] = {
        each.platform: each for each in channels if isinstance(each, SendsDigests)
    }
    if settings.smtp_url is not None and settings.smtp_from is not None:
        tls = ssl.create_default_context()
        senders[EMAIL] = DigestMail(settings.smtp_url, settings.smtp_from, tls)
    return DigestJob(
        settings.tenant, store.digests, writer, senders, digest_schedule(settings), now=utc_now
    )


def _fact_collector(settings: Settings, store: Store) -> FactCollector:
    return FactCollector(settings.tenant, store.gaps, store.insights, store.jobs, now=utc_now)


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
        now=utc_now,
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
        now=utc_now,
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
        now=utc_now,
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
        now=utc_now,
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
        now=utc_now,
    )


def _correction_jobs(
    settings: Settings,
    components: Components,
    store: Store,
    channels: Sequence[Channel],
    directory: Directory,
    runs: ListsActiveRuns,
) -> Sequence[Job]:
    """Return the job that corrects posted answers; none if that is switched off."""
    if not settings.corrections_per_day:
        return ()

    async def expired(page: str) -> bool:
        answer = await store.answers.get(settings.tenant, answer_id_of(page))
        return answer is not None and answer.state == "expired"

    fates = partial(QuoteFates, settings.tenant, components.index, directory, expired)
    delivery = CorrectionDelivery(
        settings.tenant,
        record=store.corrections,
        interactions=store.interactions,
        audits=store.audits,
        runs=runs,
        channels={each.platform: each for each in channels},
        fates=fates,
        limits=CorrectionLimits(settings.corrections_per_page_hourly, settings.corrections_per_day),
        public_url=settings.public_url,
    )
    watch = QuoteWatch(
        settings.tenant,
        record=store.corrections,
        marks=store.jobs,
        interactions=store.interactions,
        index=components.index,
        runs=runs,
        fates=fates,
        delivery=delivery,
        platforms=[each for each in channels if isinstance(each, TellsPeople)],
    )
    return (watch.job(),)


def _knowing_public_channels(
    channels: Sequence[Channel],
) -> Mapping[Platform, KnowsPublicChannels]:
    return {each.platform: each for each in channels if isinstance(each, KnowsPublicChannels)}


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def _gap_job(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> GapJob:
    checks = GapChecks(
        tenant=settings.tenant,
        record=store.gaps,
        desk=components.desk,
        policies=store.policies,
        policy=served_policy(settings.index_spaces),
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
