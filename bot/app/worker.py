"""Build the background work: the inbox with its worker, and the notices to askers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

import structlog
from aiohttp import web

from bot.answering.admission import Admission
from bot.answering.asker_identity import AskerIdentification
from bot.answering.limit_reports import AskerNotices, RefusalLog
from bot.answering.limits import FloodControl, LimitChecks
from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.app.documents import build_attachments
from bot.domain.capabilities import Introduces
from bot.domain.messages import Message, Platform, Policy
from bot.domain.ports import Admits, AnswersInquiries, Channel, Directory, Worklist
from bot.domain.record_reports import RetentionResult
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework, NotifyingCases
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.inbox.accept import DurableEngine, DurableInbox
from bot.inbox.heartbeat import InboxSupervisor, Lease, Replicas
from bot.inbox.in_flight import InFlight
from bot.inbox.outbox import ReplyOutbox
from bot.inbox.worker import MessageWorker, WorkLimits
from bot.observability.request_log import ObserveOutcome, RequestLog
from bot.store.database import Store, database_url, prepare


class InboxStore(Protocol):
    """The parts of the store that an inbox needs."""

    @property
    def work(self) -> Worklist: ...

    @property
    def replicas(self) -> Replicas: ...


@dataclass(frozen=True, slots=True)
class InboxOptions:
    """The surroundings of an inbox.

    ``alone``: a lock keeps other servers away, and the store is a file. ``prepare`` migrates the
    store's schema, ``clean`` deletes expired data. ``hold_back`` raises RateExceeded for messages
    that are not even stored.
    """

    alone: bool
    prepare: Callable[[], Awaitable[None]]
    clean: Callable[[], Awaitable[None]]
    log_questions: bool = True
    public_url: str | None = None
    observers: Sequence[ObserveOutcome] = ()
    hold_back: Callable[[Message], None] | None = None


@dataclass(frozen=True, slots=True)
class BuiltInbox:
    """An inbox, and the supervisor that starts and stops it."""

    inbox: DurableInbox
    keeper: InboxSupervisor


def build_durable_inbox(
    record: InboxStore,
    engine: DurableEngine,
    *,
    admission: Admits,
    desk: AnswersInquiries,
    channels: Mapping[Platform, Channel],
    limits: WorkLimits,
    surroundings: InboxOptions,
) -> BuiltInbox:
    """Build an inbox with its worker and supervisor; nothing is started."""
    owner = str(uuid.uuid4()) if surroundings.alone else engine.executor
    lease = Lease(record.replicas, owner, alone=surroundings.alone)
    in_flight = InFlight()
    work = MessageWorker(
        owner=owner,
        work=record.work,
        admission=admission,
        desk=desk,
        outbox=ReplyOutbox(
            channels,
            record.work,
            alive=lease.holds,
            patience=timedelta(hours=limits.delivery_hours),
            public_url=surroundings.public_url,
        ),
        observers=(
            RequestLog(log_questions=surroundings.log_questions).answered,
            *surroundings.observers,
        ),
        limits=limits,
        answered=in_flight.settle,
    )
    inbox = DurableInbox(
        owner=owner,
        worklist=record.work,
        engine=engine,
        work=work,
        in_flight=in_flight,
        limits=limits,
        hold_back=surroundings.hold_back,
    )
    keeper = InboxSupervisor(
        inbox=inbox,
        engine=engine,
        lease=lease,
        replicas=record.replicas,
        prepare=surroundings.prepare,
        clean=surroundings.clean,
        patient=not surroundings.alone,
    )
    return BuiltInbox(inbox, keeper)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """Processes messages and escalations while the server runs."""

    inbox: DurableInbox
    keeper: InboxSupervisor
    news: NoticeLoop
    cases: NotifyingCases

    def mount(self, app: web.Application) -> None:
        """Start and stop the background work with the server."""
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
        """Finish work before aiohttp disconnects its waiters, which takes its timeout twice."""
        await asyncio.gather(self.keeper.drain(), self.news.stop())


def build_background_work(
    settings: Settings,
    parts: Components,
    store: Store,
    engine: DurableEngine,
    *,
    channels: Sequence[Channel],
    observers: Sequence[ObserveOutcome],
    directory: Directory,
    dropped: Callable[[Message], None],
) -> BackgroundWork:
    """Build the inbox, the notices and the cases; nothing is started.

    ``dropped`` is called with each message that is not even stored.
    """
    refusals = RefusalLog()
    readable = ReadableInIndex(parts.index)
    admission = _build_admission(settings, store, channels, directory, readable, refusals)
    floods = FloodControl(usage_limits(settings), refusals, dropped)
    opened = _build_inbox(
        settings,
        parts.desk,
        store,
        engine,
        admission=admission,
        channels=channels,
        observers=observers,
        hold_back=floods.check,
    )
    news = _build_news(store, parts, channels, opened.keeper)
    cases = NotifyingCases(store.escalations, news.hint)
    return BackgroundWork(opened.inbox, opened.keeper, news, cases)


def executor_of(settings: Settings) -> str:
    """Return this process's name for the engine: a fixed one where only one process can run."""
    return "local" if settings.database_url is None else str(uuid.uuid4())


def _build_inbox(
    settings: Settings,
    desk: AnswersInquiries,
    store: Store,
    engine: DurableEngine,
    *,
    admission: Admission,
    channels: Sequence[Channel],
    observers: Sequence[ObserveOutcome],
    hold_back: Callable[[Message], None],
) -> BuiltInbox:
    return build_durable_inbox(
        store,
        engine,
        admission=admission,
        desk=desk,
        channels={each.platform: each for each in channels},
        limits=WorkLimits(concurrency=settings.concurrency, waiting=settings.waiting),
        surroundings=InboxOptions(
            alone=settings.database_url is None,
            prepare=partial(prepare, database_url(settings)),
            clean=partial(_delete_expired, settings, store),
            log_questions=settings.log_questions,
            public_url=settings.public_url,
            observers=observers,
            hold_back=hold_back,
        ),
    )


def _build_admission(
    settings: Settings,
    store: Store,
    channels: Sequence[Channel],
    directory: Directory,
    readable: ReadablePassages,
    refusals: RefusalLog,
) -> Admission:
    introductions = AskerIdentification(
        {each.platform: each for each in channels if isinstance(each, Introduces)},
        open_spaces={
            "slack": frozenset(settings.slack_outsider_spaces),
            "teams": frozenset(settings.teams_outsider_spaces),
        },
        notes=store.notes,
    )
    limits = LimitChecks(
        usage_limits(settings),
        use=store.counting,
        current_pause=store.pauses.current,
        log=refusals,
        notices=AskerNotices(store.notes, frozenset(each.platform for each in channels)),
    )
    return Admission(
        store.interactions,
        directory,
        Policy(spaces=settings.index_spaces),
        store.policies,
        introductions=introductions,
        reading=build_attachments(channels),
        readable=readable,
        notes=store.notes,
        limits=limits,
    )


async def _delete_expired(settings: Settings, store: Store) -> None:
    now = datetime.now(UTC)
    await store.sessions.sweep(now)
    swept = await store.retention.sweep(now, settings.retention_days)
    if swept != RetentionResult():
        log.info("retention.swept", **asdict(swept))


def _build_news(
    store: Store, parts: Components, channels: Sequence[Channel], keeper: InboxSupervisor
) -> NoticeLoop:
    teller = NoticeDelivery(
        outbox=store.notices,
        cases=store.escalations,
        casework=Casework(
            cases=store.escalations,
            interactions=store.interactions,
            readable=ReadableInIndex(parts.index),
        ),
        interactions=store.interactions,
        channels={each.platform: each for each in channels},
        now=utc_now,
    )
    return NoticeLoop(
        owner=str(uuid.uuid4()),
        outbox=store.notices,
        teller=teller,
        is_open=lambda: keeper.part().state == "ready",
    )
