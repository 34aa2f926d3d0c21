"""Joins the parts of a durable inbox: the work, who may do it, and what keeps it going."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from bot.domain.ports import Admits, AnswersInquiries, Channel, Worklist
from bot.domain.types import Message, Platform
from bot.durable.answering import Answering
from bot.durable.delivery import Deliverer
from bot.durable.inbox import DurableInbox, Engine
from bot.durable.keeper import Deaths, Keeper, Runs
from bot.durable.lease import Lease, Replicas
from bot.durable.posting import Posting
from bot.durable.underway import Underway
from bot.durable.work import Limits, Work
from bot.observing.audit import Audit, Observes


class DurableEngine(Engine, Runs, Protocol):
    """The engine with both its sides: of the inbox and of the keeper."""


class ReplicaRecord(Replicas, Deaths, Protocol):
    """Who is alive and who is dead."""


class Record(Protocol):
    """What an inbox needs of the store."""

    @property
    def work(self) -> Worklist: ...

    @property
    def replicas(self) -> ReplicaRecord: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an inbox runs. ``alone``: a lock keeps other servers away, and the record is a file.

    ``prepare`` brings the record's schema up to date, ``clean`` forgets what is too old.
    ``hold_back`` raises RateExceeded for what is not even to be kept.
    """

    alone: bool
    prepare: Callable[[], Awaitable[None]]
    clean: Callable[[], Awaitable[None]]
    log_questions: bool = True
    public_url: str | None = None
    observers: Sequence[Observes] = ()
    hold_back: Callable[[Message], None] | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """An inbox, and who starts and stops it."""

    inbox: DurableInbox
    keeper: Keeper


def durable_inbox(
    record: Record,
    engine: DurableEngine,
    *,
    admission: Admits,
    desk: AnswersInquiries,
    channels: Mapping[Platform, Channel],
    limits: Limits,
    surroundings: Surroundings,
) -> Opened:
    """Join an inbox; nothing is started."""
    owner = str(uuid.uuid4()) if surroundings.alone else engine.executor
    lease = Lease(record.replicas, owner, alone=surroundings.alone)
    underway = Underway()
    deliver = Deliverer(channels, record.work, public_url=surroundings.public_url)
    patience = timedelta(hours=limits.delivery_hours)
    work = Work(
        owner=owner,
        work=record.work,
        answering=Answering(admission, desk, deadline_seconds=limits.deadline_seconds),
        deliver=deliver,
        posting=Posting(record.work, deliver, alive=lease.holds, patience=patience),
        observers=(Audit(log_questions=surroundings.log_questions), *surroundings.observers),
        limits=limits,
        answered=underway.settle,
    )
    inbox = DurableInbox(
        owner=owner,
        worklist=record.work,
        engine=engine,
        work=work,
        underway=underway,
        limits=limits,
        hold_back=surroundings.hold_back,
    )
    keeper = Keeper(
        inbox=inbox,
        engine=engine,
        lease=lease,
        deaths=record.replicas,
        prepare=surroundings.prepare,
        clean=surroundings.clean,
        patient=not surroundings.alone,
    )
    return Opened(inbox, keeper)
