"""Build the background work: the inbox with its worker, and the notices to askers."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from aiohttp import web

from bot.answering.admission import Admission, served_policy
from bot.answering.asker_identity import AskerIdentification
from bot.answering.limit_reports import AskerNotices, RefusalLog
from bot.answering.limits import FloodControl, LimitChecks
from bot.answering.visibility import ReadableInIndex, ReadablePassages
from bot.app.components import Components
from bot.app.documents import build_attachments
from bot.domain.messages import Message, Platform
from bot.domain.ports import AnswersInquiries, Channel, Directory, Introduces
from bot.domain.record_reports import RetentionResult
from bot.domain.settings import Settings
from bot.domain.usage import usage_limits
from bot.escalations.casework import Casework
from bot.escalations.notices import NoticeDelivery, NoticeLoop, utc_now
from bot.escalations.notifying_cases import NotifyingCases
from bot.escalations.shared_words import SharedWords
from bot.inbox.accept import DurableInbox
from bot.inbox.accept_only import AcceptOnlyEngine, AcceptOnlySupervisor
from bot.inbox.heartbeat import InboxSupervisor, Lease
from bot.inbox.in_flight import InFlight
from bot.inbox.outbox import ReplyOutbox
from bot.inbox.ports import Admits, DurableEngine, Supervises
from bot.inbox.turns import PLACES_PER_ANSWER, Arrivals, Turns
from bot.inbox.worker import MessageWorker, WorkLimits
from bot.observability.logs import ObserveOutcome, RequestLog
from bot.store.database import Store, database_url, prepare


@dataclass(frozen=True, slots=True)
class InboxOptions:
    """The options of an inbox.

    ``alone``: a lock keeps other servers away, and the store is a file. ``works``: this process
    answers; else it only keeps messages. ``prepare`` migrates the store's schema, ``clean`` deletes
    expired data. ``hold_back`` raises RateExceeded for messages
    that are not even stored.
    """

    alone: bool
    prepare: Callable[[], Awaitable[None]]
    clean: Callable[[], Awaitable[None]]
    log_questions: bool = False
    public_url: str | None = None
    observers: Sequence[ObserveOutcome] = ()
    hold_back: Callable[[Message], None] | None = None
    works: bool = True


@dataclass(frozen=True, slots=True)
class BuiltInbox:
    """An inbox, and the supervisor that starts and stops it."""

    inbox: DurableInbox
    supervisor: Supervises


def build_durable_inbox(
    store: Store,
    engine: DurableEngine,
    *,
    admission: Admits,
    desk: AnswersInquiries,
    channels: Mapping[Platform, Channel],
    limits: WorkLimits,
    options: InboxOptions,
) -> BuiltInbox:
    """Build an inbox with its worker and supervisor; nothing is started."""
    owner = engine.executor
    lease = Lease(store.replicas, owner, alone=options.alone)
    in_flight = InFlight()
    arrivals = Arrivals(limits.arriving)
    turns = Turns(limits.concurrency * PLACES_PER_ANSWER, arrivals.let_pass)
    work = MessageWorker(
        owner=owner,
        work=store.work,
        admission=admission,
        desk=desk,
        outbox=ReplyOutbox(
            channels,
            store.work,
            alive=lease.holds,
            patience=timedelta(hours=limits.delivery_hours),
            visible_after_seconds=limits.visible_after_seconds,
            public_url=options.public_url,
        ),
        observers=(
            RequestLog(log_questions=options.log_questions).answered,
            *options.observers,
        ),
        limits=limits,
        answered=in_flight.settle,
        waits=turns.lent,
    )
    inbox = DurableInbox(
        owner=owner if options.works else None,
        shares=not options.alone,
        worklist=store.work,
        engine=engine,
        work=work,
        in_flight=in_flight,
        arrivals=arrivals,
        turns=turns,
        limits=limits,
        hold_back=options.hold_back,
    )
    if not options.works:
        keeping = AcceptOnlySupervisor(
            inbox=inbox,
            working=store.replicas.living,
            unanswered=store.replicas.unanswered,
            prepare=options.prepare,
        )
        return BuiltInbox(inbox, keeping)
    supervisor = InboxSupervisor(
        inbox=inbox,
        engine=engine,
        lease=lease,
        replicas=store.replicas,
        prepare=options.prepare,
        clean=options.clean,
        patient=not options.alone,
    )
    return BuiltInbox(inbox, supervisor)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BackgroundWork:
    """Processes messages and escalations while the server runs."""

    inbox: DurableInbox
    supervisor: Supervises
    notices: NoticeLoop
    cases: NotifyingCases
    works: bool = True

    def mount(self, app: web.Application) -> None:
        """Start and stop the background work with the server; notices where it ``works``."""
        app.cleanup_ctx.append(self._supervise)
        if self.works:
            app.cleanup_ctx.append(self._send_notices)
        app.on_shutdown.append(self._drain)

    async def _supervise(self, _: web.Application) -> AsyncIterator[None]:
        await self.supervisor.start()
        yield
        await self.supervisor.stop()

    async def _send_notices(self, _: web.Application) -> AsyncIterator[None]:
        self.notices.start()
        yield
        await self.notices.stop()

    async def _drain(self, _: web.Application) -> None:
        """Finish work before aiohttp disconnects its waiters, which takes its timeout twice."""
        await asyncio.gather(self.supervisor.drain(), self.notices.stop())


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
    wiki_hosts: frozenset[str] | None = None,
) -> BackgroundWork:
    """Build the inbox, the notices and the cases; nothing is started.

    ``dropped`` is called with each message that is not even stored. ``wiki_hosts`` are those of
    pages with readers, None if they are not known.
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
    loop = _build_notices(store, parts, channels, opened.supervisor)
    words = SharedWords(store.interactions, readable, wiki_hosts)
    cases = NotifyingCases(store.escalations, loop.hint, words)
    return BackgroundWork(opened.inbox, opened.supervisor, loop, cases, works=settings.works)


def open_engine(settings: Settings) -> DurableEngine:
    """Return the durable engine of a process; it is started with the inbox.

    Each start has a name of its own in it, which is also the owner of its claims.
    """
    # Half a second that the other commands, and `--help`, need not wait for.
    from bot.inbox.engine import DbosEngine, engine_url, forget_work_at  # noqa: PLC0415

    url = engine_url(settings)
    if not settings.works:
        return AcceptOnlyEngine(partial(forget_work_at, url))
    return DbosEngine(url, str(uuid.uuid4()))


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
        limits=WorkLimits(
            concurrency=settings.concurrency,
            waiting=settings.waiting,
            arriving=settings.arriving,
            longest_wait_seconds=60.0 * settings.longest_wait_minutes,
        ),
        options=InboxOptions(
            alone=settings.database_url is None,
            works=settings.works,
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
        served_policy(settings.index_spaces),
        store.policies,
        introductions=introductions,
        reading=build_attachments(channels, store.files),
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


def _build_notices(
    store: Store, parts: Components, channels: Sequence[Channel], supervisor: Supervises
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
        is_open=lambda: supervisor.part().state == "ready",
    )
