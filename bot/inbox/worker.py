"""Work on one message: admit it, have the desk answer it, record the outcome, post the reply.

Any process may do it, and do it again after another one died.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic, perf_counter

import structlog

from bot.answering.asker_identity import OUTSIDERS_NOT_KNOWN
from bot.domain.errors import AskerUnknown, BotError, ClaimLost, RecordRefused, StoreUnavailable
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Person, Refusal, Stage
from bot.domain.outcomes import (
    busy_outcome,
    error_code,
    refused_outcome,
    unavailable_outcome,
    without_text,
)
from bot.domain.ports import Admits, AnswersInquiries, ReportStage, Worklist
from bot.inbox.in_flight import ThreadOrder
from bot.inbox.outbox import Deliverer, ReplyOutbox, pause_before
from bot.observability.request_log import OutcomeObserver
from bot.observability.tracing import interaction_span

log = structlog.get_logger(__name__)


class MessageAnswerer:
    """Admits a message and lets the desk handle it.

    Args:
        admission: Builds the inquiry, or says why the message is not worked on.
        desk: Answers it.
        deadline_seconds: After that nobody waits any longer.
    """

    def __init__(
        self, admission: Admits, desk: AnswersInquiries, *, deadline_seconds: float = 120.0
    ) -> None:
        self._admission = admission
        self._desk = desk
        self._deadline = deadline_seconds

    async def answer(self, message: Message, report: ReportStage) -> Outcome:
        """Return what becomes of a message; what goes wrong is logged and becomes an escalation.

        Raises StoreUnavailable: without the record no outcome could be kept either. Raises
        AskerUnknown: a later attempt may be answered.
        """
        asker: Person | None = None
        try:
            async with asyncio.timeout(self._deadline):
                admitted = await self._admission.admit(message)
                if isinstance(admitted, Refusal):
                    return refused_outcome(message, admitted)
                asker = admitted.asker
                return await self._desk.handle(admitted, report)
        except (AskerUnknown, StoreUnavailable):
            raise
        except Exception as error:
            log.exception("desk.failed", interaction_id=message.interaction_id)
            await report(Stage.FAILED)
            stopped = "The desk stopped; the log says why."
            failed = unavailable_outcome(message, stopped, error_code(error))
            return replace(failed, asker=asker)


_ATTEMPTS_TO_LONGEST_PAUSE = 4
"""Attempts after which the wait for the record grows no longer: it is 8 seconds then."""

_MOST_FAULTS = 8
"""Then the asker is told that something is broken, instead of waiting for ever."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How much is done at once, how much may be under way, and how long anything may take.

    ``concurrency`` counts questions that are being answered, ``waiting`` those accepted here and
    neither finished nor waiting for a platform. ``introduction_seconds`` is how long a platform
    that can't tell who asks is asked again, ``delivery_hours`` how long a reply that it does not
    take is tried again.
    """

    concurrency: int = 16
    waiting: int = 2000
    deadline_seconds: float = 120.0
    drain_seconds: float = 12.0
    introduction_seconds: float = 60.0
    delivery_hours: float = 24.0


class MessageWorker:
    """Does what is to be done about an interaction; safe to be run again after any death.

    Args:
        owner: The name of this process in claims.
        observers: Write down what became of every message.
        answered: Told of every outcome as soon as it is recorded.
    """

    def __init__(
        self,
        *,
        owner: str,
        work: Worklist,
        answering: MessageAnswerer,
        deliver: Deliverer,
        posting: ReplyOutbox,
        observers: Sequence[OutcomeObserver],
        limits: WorkLimits,
        answered: Callable[[InteractionId, Outcome], None],
    ) -> None:
        self._owner = owner
        self._work = work
        self._answering = answering
        self._deliver = deliver
        self._observers = observers
        self._posting = posting
        self._answered = answered
        self._introduction_seconds = limits.introduction_seconds
        self._order = ThreadOrder(work.behind)
        self._desks = asyncio.Semaphore(limits.concurrency)
        self._handling: dict[InteractionId, asyncio.Task[Outcome]] = {}
        self._tries: dict[InteractionId, int] = {}
        self._faults: dict[InteractionId, int] = {}
        self._unknown_since: dict[InteractionId, float] = {}

    def tells(self, message: Message) -> bool:
        """Tell whether an asker can be told something other than by who asks for it."""
        return self._deliver.posts_to(message)

    def interrupt(self, interaction_id: InteractionId) -> None:
        """Stop answering a question that was withdrawn, or waiting to post its reply."""
        handling = self._handling.get(interaction_id)
        if handling is not None:
            handling.cancel()
        self._posting.interrupt(interaction_id)

    async def run(
        self, interaction_id: InteractionId, *, opened: Interaction | None = None, full: bool
    ) -> float | None:
        """Do what is to be done; return the seconds until it is to be tried again, or None.

        ``opened`` is an interaction that this process has just recorded and claimed. ``full`` says
        that the asker is told to come back later. Never raises but when it is cancelled.
        """
        try:
            interaction = opened or await self._work.claim(interaction_id, self._owner)
            if interaction is None:
                return None
            pause = await self._do(interaction, full=full)
        except ClaimLost as error:
            log.info("work.claim_lost", interaction_id=interaction_id, why=str(error))
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the work is not given up
            return self._postponed(interaction_id, error)
        self._tries.pop(interaction_id, None)
        self._faults.pop(interaction_id, None)
        self._unknown_since.pop(interaction_id, None)
        return pause

    def _postponed(self, interaction_id: InteractionId, error: Exception) -> float:
        """Return when to come again: soon while the record is away, else later each time."""
        known = isinstance(error, BotError) and not isinstance(error, RecordRefused)
        tries = self._tries[interaction_id] = self._tries.get(interaction_id, 0) + 1
        self._faults[interaction_id] = self._faults.get(interaction_id, 0) + (not known)
        if isinstance(error, AskerUnknown):
            self._unknown_since.setdefault(interaction_id, monotonic())
        log.warning(
            "work.postponed",
            interaction_id=interaction_id,
            error=type(error).__name__,
            why=str(error) if known else "",
            exc_info=None if known else error,
        )
        return pause_before(min(tries, _ATTEMPTS_TO_LONGEST_PAUSE) if known else tries)

    async def _do(self, interaction: Interaction, *, full: bool) -> float | None:
        if interaction.status == "cancelling":
            return await self._posting.withdraw(interaction)
        if interaction.outcome is not None:
            return await self._posting.again(interaction, interaction.outcome)
        async with self._order.turn(interaction):
            with interaction_span(interaction.message) as told:
                recorded, outcome = await self._answer(interaction, full=full)
                told.answered(outcome)
                return await self._posting.first(recorded, outcome)

    async def _answer(self, interaction: Interaction, *, full: bool) -> tuple[Interaction, Outcome]:
        """Find an outcome and record it."""
        started = perf_counter()
        outcome = self._said_at_once(interaction, full=full)
        if outcome is None:
            interaction, outcome = await self._handled_or_refused(interaction)
        else:
            await self._close(interaction, outcome, last=True)
        self._answered(interaction.id, outcome)
        took_ms = (perf_counter() - started) * 1000
        for observer in self._observers:
            observer.answered(*without_text(interaction.message, outcome), took_ms)
        return interaction, outcome

    def _said_at_once(self, interaction: Interaction, *, full: bool) -> Outcome | None:
        """Return what is said without the desk: there is no room, or it has failed too often."""
        if full:
            return busy_outcome(interaction.message)
        if self._faults.get(interaction.id, 0) >= _MOST_FAULTS:
            return unavailable_outcome(
                interaction.message, "The work failed again and again; see the log."
            )
        return None

    async def _handled_or_refused(self, interaction: Interaction) -> tuple[Interaction, Outcome]:
        """Have it answered; refuse it once its platform could not tell for too long who asks.

        However long ago that began, the platform is asked first: the record was away, perhaps.
        """
        try:
            return await self._handled(interaction)
        except AskerUnknown:
            since = self._unknown_since.get(interaction.id)
            if since is None or monotonic() - since <= self._introduction_seconds:
                raise
        interaction = await self._current(interaction)
        outcome = refused_outcome(interaction.message, OUTSIDERS_NOT_KNOWN)
        await self._close(interaction, outcome, last=True)
        return interaction, outcome

    async def _handled(self, interaction: Interaction) -> tuple[Interaction, Outcome]:
        """Have it answered, once more if it was edited meanwhile, and record the outcome."""
        for last in (False, True):
            interaction, outcome = await self._handle(interaction)
            try:
                if await self._close(interaction, outcome, last=last):
                    break
            except ClaimLost:
                await self._posting.tidy(interaction)
                raise
        return interaction, outcome

    async def _close(self, interaction: Interaction, outcome: Outcome, *, last: bool) -> bool:
        waits = self._deliver.takes_turns(interaction.message)
        return await self._work.close(interaction, outcome, last=last, posting=not waits)

    async def _handle(self, interaction: Interaction) -> tuple[Interaction, Outcome]:
        async with self._deliver.progress(interaction) as report:
            await report(Stage.RECEIVED)
            async with self._desks:
                current = await self._current(interaction)
                handling = asyncio.create_task(self._answering.answer(current.message, report))
                self._handling[current.id] = handling
                try:
                    outcome = await _await_outcome(handling)
                finally:
                    del self._handling[current.id]
        return replace(current, placeholder=report.placeholder), outcome

    async def _current(self, interaction: Interaction) -> Interaction:
        """Return what is recorded now, for it may have waited for its turn. Raises ClaimLost."""
        recorded = await self._work.get(interaction.id)
        if recorded is None or recorded.claim != interaction.claim:
            raise ClaimLost(f"Interaction {interaction.id!r} was withdrawn or taken over.")
        return replace(recorded, placeholder=recorded.placeholder or interaction.placeholder)


async def _await_outcome(handling: asyncio.Task[Outcome]) -> Outcome:
    """Wait for an outcome. Raises ClaimLost when the question was withdrawn meanwhile."""
    try:
        await asyncio.wait([handling])
    except asyncio.CancelledError:
        handling.cancel()
        with suppress(asyncio.CancelledError):
            await handling
        raise
    if handling.cancelled():
        raise ClaimLost("The question was withdrawn while it was being answered.")
    return handling.result()
