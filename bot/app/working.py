"""The inbox and the outbox: what works on messages, and what tells askers of their cases."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from aiohttp import web

from bot.admission import Admission
from bot.app.attachments import attachments_of
from bot.domain.capabilities import Introduces
from bot.domain.ports import AnswersInquiries, Channel, Directory
from bot.domain.record_reports import RetentionResult
from bot.domain.settings import Settings
from bot.domain.types import Message, Policy
from bot.domain.usage import usage_limits
from bot.durable.inbox import DurableInbox
from bot.durable.joining import DurableEngine, Opened, Surroundings, durable_inbox
from bot.durable.keeper import Keeper
from bot.durable.work import Limits
from bot.escalations.casework import Casework, NotifyingCases
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.escalations.reading import IndexReading, Readable
from bot.introductions import Introductions
from bot.limits.floods import Floods
from bot.limits.limits import LimitedAdmission
from bot.limits.notices import AskerNotices, Notices
from bot.observing.audit import Observes
from bot.parts import Parts
from bot.store.store import Store, database_url, prepare
from bot.superseded import MarksSuperseded

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Working:
    """What works on messages and escalations while the server runs."""

    inbox: DurableInbox
    keeper: Keeper
    news: NoticeLoop
    cases: NotifyingCases

    def mount(self, app: web.Application) -> None:
        """Start and stop it with the server."""
        app.cleanup_ctx.append(self._keep)
        app.cleanup_ctx.append(self._tell)
        app.on_shutdown.append(self._drain)

    async def _keep(self, _: web.Application) -> AsyncIterator[None]:
        await self.keeper.start()
        yield
        await self.keeper.stop()

    async def _tell(self, _: web.Application) -> AsyncIterator[None]:
        self.news.start()
        yield
        await self.news.stop()

    async def _drain(self, _: web.Application) -> None:
        """Finish before aiohttp cuts off who waits for it, which takes its time-out twice."""
        await asyncio.gather(self.keeper.drain(), self.news.stop())


def working_of(
    settings: Settings,
    parts: Parts,
    store: Store,
    engine: DurableEngine,
    *,
    channels: Sequence[Channel],
    observers: Sequence[Observes],
    directory: Directory,
    dropped: Callable[[Message], None],
    superseded: Collection[str] = (),
) -> Working:
    """Join it; nothing is started.

    ``superseded`` are the labels of pages that are warned of; ``dropped`` is told of each message
    that is not even kept.
    """
    desk = MarksSuperseded(parts.desk, superseded)
    notices = Notices()
    readable = IndexReading(parts.index)
    admission = _admission(settings, store, channels, directory, readable, notices)
    floods = Floods(usage_limits(settings), notices, dropped)
    opened = _inbox(
        settings,
        desk,
        store,
        engine,
        admission=admission,
        channels=channels,
        observers=observers,
        hold_back=floods.check,
    )
    news = _news(store, parts, channels, opened.keeper)
    cases = NotifyingCases(store.escalations, news.hint)
    return Working(opened.inbox, opened.keeper, news, cases)


def executor_of(settings: Settings) -> str:
    """Name this process for the engine: always the same where only one can be."""
    return "local" if settings.database_url is None else str(uuid.uuid4())


def _inbox(
    settings: Settings,
    desk: AnswersInquiries,
    store: Store,
    engine: DurableEngine,
    *,
    admission: LimitedAdmission,
    channels: Sequence[Channel],
    observers: Sequence[Observes],
    hold_back: Callable[[Message], None],
) -> Opened:
    return durable_inbox(
        store,
        engine,
        admission=admission,
        desk=desk,
        channels={each.platform: each for each in channels},
        limits=Limits(concurrency=settings.concurrency, waiting=settings.waiting),
        surroundings=Surroundings(
            alone=settings.database_url is None,
            prepare=partial(prepare, database_url(settings)),
            clean=partial(_clean, settings, store),
            log_questions=settings.log_questions,
            public_url=settings.public_url,
            observers=observers,
            hold_back=hold_back,
        ),
    )


def _admission(
    settings: Settings,
    store: Store,
    channels: Sequence[Channel],
    directory: Directory,
    readable: Readable,
    notices: Notices,
) -> LimitedAdmission:
    introductions = Introductions(
        {each.platform: each for each in channels if isinstance(each, Introduces)},
        open_spaces={
            "slack": frozenset(settings.slack_outsider_spaces),
            "teams": frozenset(settings.teams_outsider_spaces),
        },
        notes=store.notes,
    )
    return LimitedAdmission(
        Admission(
            store.interactions,
            directory,
            Policy(spaces=settings.index_spaces),
            store.policies,
            introductions=introductions,
            reading=attachments_of(channels),
            readable=readable,
            notes=store.notes,
        ),
        use=store.counting,
        pauses=store.pauses,
        limits=usage_limits(settings),
        notices=notices,
        told=AskerNotices(store.notes, frozenset(each.platform for each in channels)),
    )


async def _clean(settings: Settings, store: Store) -> None:
    now = datetime.now(UTC)
    await store.sessions.sweep(now)
    swept = await store.retention.sweep(now, settings.retention_days)
    if swept != RetentionResult():
        log.info("retention.swept", **asdict(swept))


def _news(store: Store, parts: Parts, channels: Sequence[Channel], keeper: Keeper) -> NoticeLoop:
    teller = NoticeDelivery(
        outbox=store.notices,
        cases=store.escalations,
        works=Casework(
            cases=store.escalations,
            interactions=store.interactions,
            readable=IndexReading(parts.index),
        ),
        recorded=store.interactions,
        channels={each.platform: each for each in channels},
        now=utc_now,
    )
    return NoticeLoop(
        owner=str(uuid.uuid4()),
        outbox=store.notices,
        teller=teller,
        is_open=lambda: keeper.part().state == "ready",
    )
