"""Accept messages: store each one before it is acknowledged, then start its work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from secrets import token_hex

import structlog

from bot.domain.errors import InboxFull, InboxUnavailable, InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Interaction, Outcome, Unfinished
from bot.domain.json_codec import without_surrogates
from bot.domain.messages import InteractionId, Message
from bot.domain.outcomes import is_unfinished, unavailable_outcome
from bot.inbox.in_flight import InFlight, InFlightMessage
from bot.inbox.ports import DurableEngine, Worklist
from bot.inbox.turns import Arrivals, Turns, Waiting
from bot.inbox.worker import MessageWorker, WorkLimits
from bot.observability.tracing import current_traceparent

log = structlog.get_logger(__name__)

_OUTCOME_POLL_SECONDS = 0.25
_TELLING_SECONDS = 5.0
_DRAIN_POLL_SECONDS = 0.02
_TAKEN_AT_A_TIME = 256
_SHARE_SECONDS = 0.1
"""Pause between claiming two groups of a dead process's work, so that others get some of it."""

_TAKEN_ALONE = 16_384
"""Where nobody else can be, a start claims all at once: between groups, work would hold it up."""

_BEGINS_AT_ONCE = 16
"""Beyond that the engine's threads would wait for its few connections."""

_HARD_LIMIT_FACTOR = 2
"""Beyond this multiple of the limit a message is refused without a busy reply, even on a
platform."""


class DurableInbox:
    """Stores messages before they are acknowledged, and starts their work. Implements `Inbox`.

    A message is in the store before ``accept`` returns; its work is begun in turn, and never delays
    the acceptance of others. Both are idempotent by the message's id. Interactions that are
    unfinished in the store, and claimed by no live process, are adopted by whichever process sees
    them first: the store alone says what is to be done.

    Args:
        owner: The name of this process in claims; None: it only keeps messages, and others answer.
        shares: Whether other processes may work on the same messages.
        hold_back: Called before anything is stored. Raises RateExceeded.
    """

    def __init__(
        self,
        *,
        owner: str | None,
        shares: bool,
        worklist: Worklist,
        engine: DurableEngine,
        work: MessageWorker,
        in_flight: InFlight,
        arrivals: Arrivals,
        turns: Turns,
        limits: WorkLimits,
        hold_back: Callable[[Message], None] | None = None,
    ) -> None:
        self._hold_back = hold_back
        self._owner = owner
        self._shares = shares
        self._worklist = worklist
        self._engine = engine
        self._work = work
        self._in_flight = in_flight
        self._limits = limits
        self._arrivals = arrivals
        self._turns = turns
        self._closed = "This server is starting. Send it again in a few seconds."
        self._unanswered = 0
        self._begins = asyncio.Semaphore(_BEGINS_AT_ONCE)

    @property
    def busy(self) -> int:
        """The number of messages accepted here and neither finished nor waiting for a platform."""
        return self._in_flight.busy

    def open(self) -> None:
        """Accept messages from now on."""
        self._closed = ""

    def note_unanswered(self, count: int) -> None:
        """Note how many messages wait for other processes, which count against the limit."""
        self._unanswered = count

    def close(self, why: str) -> None:
        """Accept no more messages; ``why`` ends with what the sender can do."""
        self._closed = why

    async def drain(self) -> None:
        """Wait for work in progress; the next start, or another process, takes over the rest."""
        end = time.monotonic() + self._limits.drain_seconds
        while self._in_flight.busy and time.monotonic() < end:  # noqa: ASYNC110 - rare
            await asyncio.sleep(_DRAIN_POLL_SECONDS)
        if self._in_flight.busy:
            log.warning("inbox.not_drained", unfinished=self._in_flight.busy)
        await self._turns.stop()
        self._in_flight.release()

    async def accept(self, message: Message) -> InteractionId:
        """Store a message and start its work, even if the caller is cancelled meanwhile."""
        accepting = asyncio.create_task(self._accept(message))
        self._arrivals.add(accepting)
        return await asyncio.shield(accepting)

    async def _accept(self, message: Message) -> InteractionId:
        interaction_id = message.interaction_id
        if await self._in_flight.keeps(interaction_id):
            return interaction_id
        if self._hold_back is not None:
            self._hold_back(message)
        entry = self._admit(message)
        try:
            interaction = await self._keep(message)
        except BaseException:
            self._leave(interaction_id)
            raise
        entry.kept.set()
        claim = interaction.claim
        if is_unfinished(interaction) and claim is not None and claim.owner == self._owner:
            entry.opened = interaction
            begin = partial(self._engine.begin, interaction_id, interaction_id)
            self._line_up(interaction_id, _place_of(message), begin, urgent=entry.full)
        else:
            self._leave(interaction_id)
        return interaction_id

    def _line_up(
        self,
        interaction_id: InteractionId,
        place: tuple[str, str, str],
        begin: Callable[[], Awaitable[None]],
        *,
        urgent: bool = False,
    ) -> None:
        """Have the work on a message begun in its turn; the engine learns of it only then."""

        async def begun() -> None:
            if self._in_flight.expect(interaction_id):
                await begin()
            else:
                self._turns.ended(interaction_id)

        tell = partial(self._tell, interaction_id)
        self._turns.add(Waiting(interaction_id, *place, begin=begun, tell=tell, urgent=urgent))

    async def _tell(self, interaction_id: InteractionId, before: int) -> None:
        """Tell the asker of a waiting message how many questions are before it."""
        async with self._in_flight.run_lock(interaction_id):
            entry = self._in_flight.get(interaction_id)
            if entry is None or entry.full or interaction_id not in self._turns:
                return
            # Whatever comes of it, the message is read anew when its turn comes.
            entry.opened = None
            try:
                async with asyncio.timeout(_TELLING_SECONDS):
                    await self._work.tell_waiting(interaction_id, before)
            except Exception as error:  # noqa: BLE001 - it is answered all the same
                log.info("inbox.wait_not_told", error=type(error).__name__)

    def _leave(self, interaction_id: InteractionId) -> None:
        self._in_flight.leave(interaction_id)
        self._turns.ended(interaction_id)

    async def amend(self, message: Message) -> None:
        """Replace a question's text; work in progress is done once more."""
        await self._worklist.amend(replace(message, text=without_surrogates(message.text)))

    async def cancel(self, interaction_id: InteractionId, *, keep_acts: bool = False) -> None:
        """Delete the texts, stop the work and withdraw the reply. Raises InteractionUnknown.

        ``keep_acts``: what experts did about its case is kept, without words.
        """
        interaction = await self._worklist.cancel(interaction_id, keep_acts=keep_acts)
        self._in_flight.unsettle(interaction_id)
        self._turns.drop(interaction_id)
        self._in_flight.reread(interaction_id)
        self._work.interrupt(interaction_id)
        if interaction.status != "cancelling":
            return
        try:
            await self._engine.begin(f"{interaction_id}:withdraw", interaction_id)
        except InboxUnavailable:
            # Else it would count as waiting here, and not be withdrawn by a later round.
            self._leave(interaction_id)
            raise

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        """Wait for an outcome. Raises InteractionUnknown, InboxUnavailable."""
        while True:
            entry = self._in_flight.get(interaction_id)
            if entry is not None:
                await entry.settled.wait()
                if entry.outcome is not None:
                    return entry.outcome
            outcome = await self._recorded(interaction_id)
            if outcome is not None:
                return outcome
            await asyncio.sleep(_OUTCOME_POLL_SECONDS)

    async def run(self, interaction_id: InteractionId) -> float | None:
        """Process an interaction for the engine; return the seconds until a retry. Never raises."""
        lock = self._in_flight.run_lock(interaction_id)
        async with lock:
            entry = self._in_flight.enter(interaction_id)
            entry.kept.set()
            self._in_flight.wake(interaction_id)
            self._turns.took(interaction_id)
            pause: float | None = None
            try:
                opened, entry.opened = entry.opened, None
                pause = await self._work.run(interaction_id, opened=opened, full=entry.full)
            finally:
                if pause is None:
                    self._leave(interaction_id)
            if pause is not None:
                self._in_flight.sleep(interaction_id, pause)
                self._turns.ended(interaction_id)
            return pause

    async def take_up(self) -> int:
        """Take messages that others kept, as many as soon have their turn; return their number."""
        taken = 0
        while self._owner is not None and not self._closed and (room := self._turns.room):
            found = await self._worklist.take(self._owner, room)
            for interaction in found:
                entry = self._in_flight.enter(interaction.id)
                entry.kept.set()
                entry.opened = interaction
                begin = partial(self._engine.begin, interaction.id, interaction.id)
                self._line_up(interaction.id, _place_of(interaction.message), begin)
            taken += len(found)
            if len(found) < room:
                break
        return taken

    async def adopt(self, dead: Sequence[str] = ()) -> int:
        """Take over what no live process works on; return the number of interactions.

        ``dead``: processes whose lease has run out. What they had begun is begun again at once.
        """
        begun = await self._engine.abandon(dead) if dead else frozenset()
        left = await self._worklist.unfinished_ids(self._owner)
        for gone in self._in_flight.overdue_but(left):
            self._leave(gone)
        overdue = frozenset(filter(self._in_flight.overdue, left))
        if not overdue and not dead:
            return 0
        mine = await self._worklist.unfinished(self._owner)
        stuck = [each for each in mine if self._in_flight.overdue(each.id)]
        await self._restart(stuck, {each.id for each in stuck})
        return len(stuck) + await self._take_over(dead, begun)

    async def _take_over(self, dead: Sequence[str], begun: Collection[InteractionId]) -> int:
        """Claim what processes that died had claimed, and do it; return the number."""
        taken, most = 0, _TAKEN_AT_A_TIME if self._shares else _TAKEN_ALONE
        while self._owner is not None:
            found = await self._worklist.take_over(self._owner, most, dead)
            taken += len(found)
            if not await self._restart(found, begun) or len(found) < most:
                break
            await asyncio.sleep(_SHARE_SECONDS)
        return taken

    async def _restart(
        self, claimed: Sequence[Unfinished], begun: Collection[InteractionId]
    ) -> bool:
        """Begin work that this process has claimed; return whether the engine takes it.

        What was ``begun`` before, or is only to be posted or withdrawn, does not wait for a place.
        """
        at_once = []
        for each in claimed:
            self._leave(each.id)
            self._in_flight.enter(each.id).kept.set()
            if each.answered or each.id in begun:
                self._in_flight.expect(each.id)
                at_once.append(each)
                continue
            place = (each.thread, each.person, each.channel)
            self._line_up(each.id, place, partial(self._begin_anew, each))
        at_once.sort(key=lambda each: each.answered)
        return all(await asyncio.gather(*map(self._begin_at_once, at_once)))

    async def _begin_at_once(self, work: Unfinished) -> bool:
        """Return whether the engine took the work; if not, a later round begins it."""
        try:
            async with self._begins:
                await self._begin_anew(work)
        except InboxUnavailable as error:
            log.warning("inbox.not_begun", interaction_id=work.id, why=str(error))
            self._leave(work.id)
            return False
        return True

    async def _begin_anew(self, work: Unfinished) -> None:
        """Begin work under a new id, as the engine runs each id once. Raises InboxUnavailable."""
        await self._engine.begin(f"{work.id}:{work.epoch}:{token_hex(4)}", work.id)

    def _admit(self, message: Message) -> InFlightMessage:
        """Reserve a place for a message. Raises InboxUnavailable, InboxFull."""
        if self._closed:
            raise InboxUnavailable(f"Message {message.key!r} is not taken. {self._closed}")
        self._arrivals.check()
        busy, limit = self._in_flight.busy + self._unanswered, self._limits.waiting
        # Who only keeps messages can't tell the asker to ask again later.
        posts = self._owner is not None and self._work.posts_to(message)
        if busy >= limit * (_HARD_LIMIT_FACTOR if posts else 1):
            raise InboxFull(f"{busy} questions are waiting. Ask again in a few minutes.")
        entry = self._in_flight.enter(message.interaction_id)
        entry.full = busy >= limit
        return entry

    async def _keep(self, message: Message) -> Interaction:
        try:
            traceparent = message.traceparent or current_traceparent()
            kept = replace(message, text=without_surrogates(message.text), traceparent=traceparent)
            return await self._worklist.open(kept, self._owner)
        except StoreUnavailable as error:
            raise InboxUnavailable(
                f"Message {message.key!r} could not be kept: {error} Send it again."
            ) from error

    async def _recorded(self, interaction_id: InteractionId) -> Outcome | None:
        """Return the stored outcome, None while another process works on the interaction."""
        interaction = await self._worklist.get(interaction_id)
        if interaction is None:
            raise InteractionUnknown(f"There is no interaction {interaction_id!r}. Ask first.")
        if interaction.withdrawn:
            raise InteractionUnknown(
                f"Interaction {interaction_id!r} was withdrawn by its asker. Ask the question anew."
            )
        if interaction.outcome is None and interaction.status == "failed":
            return unavailable_outcome(interaction.message, "An older version gave it up.")
        if interaction.outcome is None and self._closed:
            raise InboxUnavailable(
                f"Interaction {interaction_id!r} is kept and is answered when the server runs "
                "again. Ask for it again then."
            )
        return interaction.outcome


def _place_of(message: Message) -> tuple[str, str, str]:
    """Return the thread, person and channel whose turn a message takes."""
    thread = message.thread
    channel = f"{thread.tenant}:{thread.platform}:{thread.channel}"
    return (
        f"{thread.tenant}:{thread.key}",
        f"{thread.tenant}:{message.author.id}",
        channel,
    )
