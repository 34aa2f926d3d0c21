"""Build the background jobs of bot.learning from settings, store and platforms."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.answering.admission import served_policy
from bot.answering.visibility import ReadablePassages
from bot.app.components import Components
from bot.domain.messages import Platform
from bot.domain.ports import Channel, Directory, KnowsPublicChannels, TellsPeople
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework
from bot.learning import case_webhook
from bot.learning.case_webhook import CaseWebhook
from bot.learning.certificate_watch import CertificateWatch
from bot.learning.corrections import CorrectionDelivery, CorrectionLimits, ListsActiveRuns
from bot.learning.digest import EMAIL, DigestWriter, Schedule, SendsDigests
from bot.learning.digest_job import DigestJob
from bot.learning.digest_mail import DigestMail
from bot.learning.gap_checks import GapChecks, ModelAllowance
from bot.learning.gap_jobs import GapJob
from bot.learning.insights import FactCollector
from bot.learning.jobs import Job
from bot.learning.label_review import LabelCollector
from bot.learning.quote_fates import QuoteFates
from bot.learning.quote_watch import QuoteWatch
from bot.learning.reviewed_answers import answer_id_of
from bot.learning.shadow_mode import DraftSender, ReviewsDrafts
from bot.store.database import Store

_SOON = timedelta(seconds=5)


def digest_schedule(settings: Settings) -> Schedule:
    """Return when digests are due."""
    return Schedule(settings.digest_weekday, settings.digest_hour, settings.zone)


def build_digest_job(
    settings: Settings, store: Store, writer: DigestWriter, channels: Sequence[Channel]
) -> DigestJob:
    """Return what sends the weekly digest."""
    senders: dict[Platform, SendsDigests] = {
        each.platform: each for each in channels if isinstance(each, SendsDigests)
    }
    if settings.smtp_url is not None and settings.smtp_from is not None:
        tls = ssl.create_default_context()
        senders[EMAIL] = DigestMail(settings.smtp_url, settings.smtp_from, tls)
    return DigestJob(
        settings.tenant, store.digests, writer, senders, digest_schedule(settings), now=utc_now
    )


def build_fact_collector(settings: Settings, store: Store) -> FactCollector:
    """Return what notes facts of questions for insights."""
    return FactCollector(settings.tenant, store.gaps, store.insights, store.jobs, now=utc_now)


def build_certificate_watch(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> CertificateWatch:
    """Return what holds labels against certificates."""
    return CertificateWatch(
        settings.tenant,
        gate=components.gate,
        labels=store.labels,
        interactions=store.interactions,
        questions=store.statistics,
        suspensions=store.suspensions,
        marks=store.jobs,
        audits=store.audits,
        platforms=[each for each in channels if isinstance(each, TellsPeople)],
        now=utc_now,
    )


def build_case_webhook_jobs(
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


def build_draft_sender(
    settings: Settings, store: Store, channels: Sequence[Channel], readable: ReadablePassages
) -> DraftSender:
    """Return what sends drafts of channels in shadow mode to reviewers."""
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


def build_label_collector(
    settings: Settings, store: Store, channels: Sequence[Channel]
) -> LabelCollector:
    """Return what collects candidates for labels."""
    return LabelCollector(
        settings.tenant,
        labels=store.labels,
        interactions=store.interactions,
        marks=store.jobs,
        channels=knowing_public_channels(channels),
        now=utc_now,
    )


def build_correction_jobs(
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


def knowing_public_channels(
    channels: Sequence[Channel],
) -> Mapping[Platform, KnowsPublicChannels]:
    """Return the platforms that know which of their channels are public."""
    return {each.platform: each for each in channels if isinstance(each, KnowsPublicChannels)}


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def model_allowance(settings: Settings, store: Store) -> ModelAllowance:
    """Return whether models may be called for what nobody asks at the moment."""
    return ModelAllowance(
        settings.tenant, usage_limits(settings), store.counting, store.pauses.current
    )


def build_gap_job(
    settings: Settings, components: Components, store: Store, channels: Sequence[Channel]
) -> GapJob:
    """Return what groups unanswered questions and asks them again."""
    checks = GapChecks(
        tenant=settings.tenant,
        record=store.gaps,
        desk=components.desk,
        policies=store.policies,
        policy=served_policy(settings.index_spaces),
        calls=store.usage,
        allowance=model_allowance(settings, store),
        budget=settings.gap_questions_per_night,
    )
    return GapJob(
        settings.tenant,
        store.gaps,
        store.jobs,
        embedder=components.embedder,
        platforms=knowing_public_channels(channels),
        checks=checks,
        night=settings.learning_hour,
    )
