"""Build the background jobs of bot.learning, and run them while the server runs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from aiohttp import web

from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.app.learning_jobs import (
    build_case_webhook_jobs,
    build_certificate_watch,
    build_correction_jobs,
    build_digest_job,
    build_draft_sender,
    build_fact_collector,
    build_gap_job,
    build_label_collector,
    digest_schedule,
    knowing_public_channels,
    model_allowance,
    utc_now,
)
from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Channel, Directory
from bot.domain.settings import Settings
from bot.domain.texts import load_catalogue
from bot.learning import (
    answer_library,
    certificate_watch,
    digest_job,
    insights,
    label_review,
    shadow_mode,
)
from bot.learning.answer_drafts import AnswerDrafts, DraftWriter
from bot.learning.answer_library import AnswerLibrary
from bot.learning.answer_review import AnswerReview
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.corrected_pages import CorrectedPages
from bot.learning.corrections import (
    ListsActiveRuns,
)
from bot.learning.digest import DigestWriter
from bot.learning.gap_views import GapViews
from bot.learning.insights import InsightViews
from bot.learning.jobs import Job, JobRunner
from bot.learning.label_review import LabelReview
from bot.learning.near_answers import NearAnswers
from bot.learning.publishing import Publishes
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from bot.web.board.answers import AnswerPages
from bot.web.board.corrections import CorrectionsPage
from bot.web.board.digests import DigestsPage
from bot.web.board.gaps import GapPages
from bot.web.board.insights import InsightsPage
from bot.web.board.label_queue import LabelsPage
from ingestion.library import Library
from prompts.files import load_prompt

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

    def mount(self, app: web.Application, *, works: bool) -> None:
        """Start and stop the jobs with the server, where it ``works``."""
        app.cleanup_ctx.append(partial(self._run, works=works))

    async def _run(self, _: web.Application, *, works: bool) -> AsyncIterator[None]:
        if works:
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
    more: Sequence[Job] = (),
) -> LearningServices:
    """Build everything that learns; nothing is started.

    ``directory`` resolves what colleagues may read, ``runs`` lists index runs, ``publisher``
    publishes answers in the wiki. ``is_open``: the record can be used. ``more`` are jobs that run
    beside those of learning.
    """
    readable = ReadableInIndex(components.index)
    words = QuestionWords(store.escalations, store.notes, readable)
    certificates = build_certificate_watch(settings, components, store, channels)
    answers = _answer_library(settings, store, library)
    gaps = GapViews(settings.tenant, store.gap_reports, words, readable)
    figures = InsightViews(
        settings.tenant, store.statistics, store.insights, components.index, settings.zone
    )
    writer = DigestWriter(
        settings.tenant,
        store.digests,
        gaps,
        figures,
        CorrectedPages(settings.tenant, store.corrections, components.index),
        directory,
        public_url=settings.public_url,
        language=load_catalogue(settings.ui_language).default,
    )
    jobs = (
        build_gap_job(settings, components, store, channels).job(),
        Job(label_review.JOB, _MINUTE, build_label_collector(settings, store, channels).run),
        Job(certificate_watch.JOB, _HOUR, certificates.run),
        Job(answer_library.JOB, _MINUTE / 2, answers.run),
        *build_correction_jobs(settings, components, store, channels, directory, runs),
        Job(insights.JOB, _MINUTE, build_fact_collector(settings, store).run),
        Job(digest_job.JOB, _FEW_MINUTES, build_digest_job(settings, store, writer, channels).run),
        Job(shadow_mode.JOB, _SOON, build_draft_sender(settings, store, channels, readable).run),
        *build_case_webhook_jobs(settings, store, readable),
        *more,
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
        channels=knowing_public_channels(channels),
        writer=None
        if usual is None
        else DraftWriter(usual.chat, prompt, store.usage, model_allowance(settings, store)),
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
        questions=settings.data_dir / label_review.QUESTIONS_FILE,
        now=utc_now,
    )


def mount_learning_pages(
    app: web.Application,
    settings: Settings,
    components: Components,
    store: Store,
    learning: LearningServices,
) -> None:
    """Add the pages of the board that show what is learned."""
    GapPages(tenant=settings.tenant, views=learning.gaps, states=store.gaps).mount(app)
    AnswerPages(tenant=settings.tenant, review=learning.answers).mount(app)
    corrected = CorrectedPages(settings.tenant, store.corrections, components.index)
    CorrectionsPage(tenant=settings.tenant, reports=store.corrections, corrected=corrected).mount(
        app
    )
    DigestsPage(
        tenant=settings.tenant,
        record=store.digests,
        pages=learning.insights,
        schedule=digest_schedule(settings),
        mail=settings.smtp_url is not None and settings.smtp_from is not None,
    ).mount(app)
    InsightsPage(tenant=settings.tenant, views=learning.insights).mount(app)
    LabelsPage(
        tenant=settings.tenant,
        review=learning.labels,
        watch=learning.certificates,
        gate=components.gate,
        data_dir=settings.data_dir,
    ).mount(app)
