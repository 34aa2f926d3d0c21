"""Process one message: admit it, have the desk answer it, record the outcome, post the reply.

Any process may do so, and repeat it after another one died.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic, perf_counter

import structlog

from bot.answering.asker_identity import OUTSIDERS_NOT_KNOWN
from bot.domain.errors import AskerUnknown, BotError, ClaimLost, RecordRefused, StoreUnavailable
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Activity, InteractionId, Message, Person, Refusal, Stage
from bot.domain.outcomes import (
    busy_outcome,
    error_code,
    refused_outcome,
    unavailable_outcome,
    waited_outcome,
    without_text,
)
from bot.domain.ports import AnswersInquiries, ReportStage
from bot.inbox.in_flight import ThreadOrder
from bot.inbox.outbox import ReplyOutbox, pause_before
from bot.inbox.ports import Admits, Worklist
from bot.observability.logs import ObserveOutcome
from bot.observability.tracing import describe_outcome, interaction_span

log = structlog.get_logger(__name__)


_ATTEMPTS_TO_LONGEST_PAUSE = 4
"""Attempts after which the pause for an unavailable store grows no longer: 8 seconds."""

_MOST_FAULTS = 8
"""Unexpected errors after which the asker gets an error reply, instead of waiting for ever."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """Limits on concurrency, on messages in flight, and on durations.

    ``concurrency`` limits questions being answered, ``waiting`` those accepted here and neither
    finished nor waiting for a platform, ``arriving`` those that wait to be recorded.
    What waited for ``longest_wait_seconds`` is handed over to people, unless that is 0.
    ``introduction_seconds`` is how long a platform that cannot identify the asker is asked again,
    ``delivery_hours`` how long a failing delivery is retried, ``visible_after_seconds`` when a
    platform shows a post of a process that died, at the latest.
    """

    concurrency: int = 16
    waiting: int = 2000
    arriving: int = 200
    longest_wait_seconds: float = 3600.0
    deadline_seconds: float = 120.0
    drain_seconds: float = 12.0
    introduction_seconds: float = 60.0
    delivery_hours: float = 24.0
    visible_after_seconds: float = 2.0


async def answer_message(
    admission: Admits,
    desk: AnswersInquiries,
    message: Message,
    report: ReportStage,
    *,
    seconds: float = 120.0,
    late: bool = False,
) -> Outcome:
    """Admit a message and let the desk answer it; unexpected errors become an escalation.

    ``late``: it has waited too long, so people are asked instead, if it is admitted.
    ``seconds`` is the time limit of both together. Raises StoreUnavailable: without the store no
    outcome could be recorded either. Raises AskerUnknown: a later attempt may succeed.
    """
    asker: Person | None = None
    try:
        async with asyncio.timeout(seconds):
            admitted = await admission.admit(message)
            if isinstance(admitted, Refusal):
                return refused_outcome(message, admitted)
            asker = admitted.asker
            if late:
                return replace(waited_outcome(message), asker=asker)
            return await desk.handle(admitted, report)
    except (AskerUnknown, StoreUnavailable):
        raise
    except Exception as error:
        log.exception("desk.failed", interaction_id=message.interaction_id)
        await report(Stage.FAILED)
        stopped = "The desk stopped; the log says why."
        failed = unavailable_outcome(message, stopped, error_code(error))
        return replace(failed, asker=asker)


class MessageWorker:
    """Does the pending work of an interaction; safe to repeat after a crash at any point.

    Args:
        owner: The name of this process in claims.
        observers: Record the outcome of every message.
        answered: Called with every outcome as soon as it is recorded.
        waits: Entered while a message waits for an earlier one of its thread, or is posted again.
    """

    def __init__(
        self,
        *,
        owner: str,
        work: Worklist,
        admission: Admits,
        desk: AnswersInquiries,
        outbox: ReplyOutbox,
        observers: Sequence[ObserveOutcome],
        limits: WorkLimits,
        answered: Callable[[InteractionId, Outcome], None],
        waits: Callable[[InteractionId], AbstractContextManager[None]],
    ) -> None:
        self._owner = owner
        self._work = work
        self._admission = admission
        self._desk = desk
        self._outbox = outbox
        self._observers = observers
        self._answered = answered
        self._limits = limits
        self._waits = waits
        self._order = ThreadOrder(work.behind, waits)
        self._desks = asyncio.Semaphore(limits.concurrency)
        self._handling: dict[InteractionId, asyncio.Task[Outcome]] = {}
        self._tries: dict[InteractionId, int] = {}
        self._faults: dict[InteractionId, int] = {}
        self._unknown_since: dict[InteractionId, float] = {}

    def posts_to(self, message: Message) -> bool:
        """Return whether replies to a message are posted, rather than fetched by the asker."""
        return self._outbox.posts_to(message)

    def interrupt(self, interaction_id: InteractionId) -> None:
        """Stop answering a withdrawn question, or waiting to post its reply."""
        handling = self._handling.get(interaction_id)
        if handling is not None:
            handling.cancel()
        self._outbox.interrupt(interaction_id)

    async def run(
        self, interaction_id: InteractionId, *, opened: Interaction | None = None, full: bool
    ) -> float | None:
        """Do the pending work; return the seconds until a retry, or None when it is done.

        ``opened`` is an interaction that this process has just recorded and claimed. With ``full``
        the asker gets a busy reply. Never raises except when cancelled.
        """
        try:
            pause = await self._run_claimed(interaction_id, opened, full=full)
        except Exception as error:  # noqa: BLE001 - whatever it is, the work is not given up
            return self._postponed(interaction_id, error)
        self._tries.pop(interaction_id, None)
        self._faults.pop(interaction_id, None)
        self._unknown_since.pop(interaction_id, None)
        return pause

    async def _run_claimed(
        self, interaction_id: InteractionId, opened: Interaction | None, *, full: bool
    ) -> float | None:
        interaction = opened or await self._work.claim(interaction_id, self._owner)
        try:
            if interaction is not None:
                return await self._process(interaction, full=full)
        except ClaimLost as error:
            log.info("work.claim_lost", interaction_id=interaction_id, why=str(error))
        # Whoever has the claim does it; when that process dies, its claims are taken over.
        return None

    def _postponed(self, interaction_id: InteractionId, error: Exception) -> float:
        """Return the pause before a retry: short while the store is away, else growing."""
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

    async def _process(self, interaction: Interaction, *, full: bool) -> float | None:
        if interaction.status == "cancelling":
            return await self._outbox.withdraw(interaction)
        if interaction.outcome is not None:
            # Many are looked up at once after a server died, and platforms allow few look-ups.
            with self._waits(interaction.id):
                return await self._outbox.post(interaction, interaction.outcome, first=False)
        async with self._order.turn(interaction):
            with interaction_span(interaction.message) as span:
                recorded, outcome = await self._answer(interaction, full=full)
                describe_outcome(span, outcome)
                if not self._outbox.posts_to(recorded.message):
                    return None
                return await self._outbox.post(recorded, outcome, first=True)

    async def _answer(self, interaction: Interaction, *, full: bool) -> tuple[Interaction, Outcome]:
        """Find an outcome, record it and notify the observers."""
        started = perf_counter()
        outcome = self._outcome_without_desk(interaction, full=full)
        if outcome is None:
            interaction, outcome = await self._answer_or_refuse(interaction)
        else:
            await self._close(interaction, outcome, last=True)
        self._answered(interaction.id, outcome)
        took_ms = (perf_counter() - started) * 1000
        for observe in self._observers:
            observe(*without_text(interaction.message, outcome), took_ms)
        return interaction, outcome

    def _outcome_without_desk(self, interaction: Interaction, *, full: bool) -> Outcome | None:
        """Return an outcome without the desk if the inbox is full or the work failed too often."""
        if full:
            return busy_outcome(interaction.message)
        if self._faults.get(interaction.id, 0) >= _MOST_FAULTS:
            return unavailable_outcome(
                interaction.message, "The work failed again and again; see the log."
            )
        return None

    async def _answer_or_refuse(self, interaction: Interaction) -> tuple[Interaction, Outcome]:
        """Have a question answered; refuse it if its asker could not be identified for too long.

        The platform is always asked once more first, because the store may have been away
        meanwhile.
        """
        try:
            return await self._answer_unedited(interaction)
        except AskerUnknown:
            since = self._unknown_since.get(interaction.id)
            if since is None or monotonic() - since <= self._limits.introduction_seconds:
                raise
        interaction = await self._current(interaction)
        outcome = refused_outcome(interaction.message, OUTSIDERS_NOT_KNOWN)
        await self._close(interaction, outcome, last=True)
        return interaction, outcome

    async def _answer_unedited(self, interaction: Interaction) -> tuple[Interaction, Outcome]:
        """Have a question answered, again if it was edited meanwhile, and record the outcome."""
        for last in (False, True):
            interaction, outcome, stages = await self._run_desk(interaction)
            try:
                if await self._close(interaction, outcome, last=last, stages=stages):
                    break
                if stages:
                    await self._work.stage(interaction.id, *stages)
            except ClaimLost:
                await self._outbox.remove_late_placeholder(interaction)
                raise
        return interaction, outcome

    async def _close(
        self,
        interaction: Interaction,
        outcome: Outcome,
        *,
        last: bool,
        stages: Sequence[Activity] = (),
    ) -> bool:
        posting = not self._outbox.takes_turns(interaction.message)
        return await self._work.close(
            interaction,
            outcome,
            last=last,
            posting=posting,
            posted=self._outbox.fetched_at(interaction),
            stages=stages,
        )

    async def _run_desk(
        self, interaction: Interaction
    ) -> tuple[Interaction, Outcome, Sequence[Activity]]:
        """Return the interaction as answered, its outcome, and the stages not recorded yet."""
        async with self._outbox.progress(interaction) as report:
            await report(Stage.RECEIVED)
            async with self._desks:
                current = await self._current(interaction)
                handling = asyncio.create_task(
                    answer_message(
                        self._admission,
                        self._desk,
                        current.message,
                        report,
                        seconds=self._limits.deadline_seconds,
                        late=self._is_late(current),
                    )
                )
                self._handling[current.id] = handling
                try:
                    outcome = await _await_outcome(handling)
                finally:
                    del self._handling[current.id]
        return replace(current, placeholder=report.placeholder), outcome, report.unwritten

    async def tell_waiting(self, interaction_id: InteractionId, before: int) -> None:
        """Show how many questions are before a message that waits here, and record it."""
        waiting = await self._work.get(interaction_id)
        if waiting is None or waiting.status != "working" or not self._owns(waiting):
            return
        async with self._outbox.progress(waiting) as report:
            await report(Stage.WAITING, before)
        if report.unwritten:
            await self._work.stage(interaction_id, *report.unwritten)

    def _owns(self, interaction: Interaction) -> bool:
        return interaction.claim is not None and interaction.claim.owner == self._owner

    def _is_late(self, interaction: Interaction) -> bool:
        longest = self._limits.longest_wait_seconds
        waited = datetime.now(UTC) - interaction.created_at
        return bool(longest) and waited.total_seconds() > longest

    async def _current(self, interaction: Interaction) -> Interaction:
        """Return the interaction as recorded now, since it may have waited. Raises ClaimLost."""
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
