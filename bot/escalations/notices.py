"""Deliver notices about escalations from the outbox, to askers and to experts.

One loop per process claims due notices, whichever process wrote them, and makes one attempt at
each; a failed one is retried for a day. Reminders of waiting cases are written here, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import structlog

from bot.domain.cases import Case, Notice, State, Step
from bot.domain.errors import DeliveryFailed, DeliveryRefused, InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Delivery, Interaction, PostedRef
from bot.domain.messages import Message, Platform
from bot.domain.ports import Channel, Interactions, Withdraws
from bot.domain.texts import tr
from bot.escalations import lifecycle
from bot.escalations.asker_notices import notice_of
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.escalations.history import standing_reply
from bot.escalations.ports import AsksPeople, Cases, Outbox, PostsCards, Revises, ShowsCases, Tells
from bot.escalations.showing_more import MoreRequest, answer_remark, request_in
from bot.inbox.outbox import delivery_id, pause_before
from bot.observability.logs import LastingTrouble
from rag.types import EVERYONE

_AT_ONCE = 10
_FRESH_SECONDS = 10.0
"""A claim lasts 60 s and a delivery at most 40 s, so an older claim is not used any more."""

_STOP_SECONDS = 5.0

log = structlog.get_logger(__name__)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class NoticeLoop:
    """Loop over the outbox that writes reminders and delivers due notices.

    The outbox hands out the notices of one case one after the other; cases do not wait for each
    other.

    Args:
        owner: Name of this process in the outbox.
        is_open: Returns whether the record is available.
        every_seconds: Interval between rounds, unless ``hint`` is called.
    """

    def __init__(
        self,
        *,
        owner: str,
        outbox: Outbox,
        teller: NoticeDelivery,
        is_open: Callable[[], bool],
        now: Callable[[], datetime] = utc_now,
        every_seconds: float = 2.0,
    ) -> None:
        self._owner = owner
        self._outbox = outbox
        self._teller = teller
        self._is_open = is_open
        self._now = now
        self._every_seconds = every_seconds
        self._hinted = asyncio.Event()
        self._stopping = False
        self._trouble = LastingTrouble("news")
        self._task: asyncio.Task[None] | None = None

    def hint(self) -> None:
        """Start the next round now, because a notice may be due; cheap."""
        self._hinted.set()

    def start(self) -> None:
        """Start the loop; overdue notices are delivered first."""
        self._task = asyncio.create_task(self._go_round())

    async def stop(self) -> None:
        """Start no more deliveries, and wait for running ones, at most five seconds."""
        self._stopping = True
        self._hinted.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_STOP_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def round(self) -> int:
        """Deliver the notices that are due now; return their number. Raises StoreUnavailable."""
        now = self._now()
        await self._outbox.remind(now)
        due = await self._outbox.due(self._owner, now, _AT_ONCE)
        claimed_at = time.monotonic()
        deliveries = (self._tell(each, claimed_at) for each in due)
        for failed in await asyncio.gather(*deliveries, return_exceptions=True):
            if isinstance(failed, BaseException):
                raise failed
        return len(due)

    async def _go_round(self) -> None:
        while not self._stopping:
            self._hinted.clear()
            if not await self._more():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hinted.wait(), self._every_seconds)

    async def _more(self) -> bool:
        """Make a round; return whether more may be due: a delivered notice releases the next."""
        if not self._is_open():
            return False
        try:
            found = await self.round()
        except Exception as error:  # noqa: BLE001 - noted; the next round tries again
            self._trouble.note(error)
            return False
        self._trouble.note(None)
        return found > 0

    async def _tell(self, notice: Notice, claimed_at: float) -> None:
        """Deliver a notice; one that is skipped is due again when its claim has expired."""
        stale = time.monotonic() - claimed_at > _FRESH_SECONDS
        if not (self._stopping or stale):
            await self._teller.tell(notice)


_DEADLINE_SECONDS = 40.0
_RETRY_FOR = timedelta(hours=24)
_REMINDING_STEPS: frozenset[Step] = frozenset({"open", "ping", "reopen", "second_level"})
"""Steps that experts are reminded of while nobody has the case; others only update the card, but
for an assignment and an asker's agreement to show more, of which who has the case is told.

An opening is among them for questions whose answer could not be delivered; others have a card.
"""
_LEAVING_STEPS: frozenset[Step] = frozenset({"lead", "split", "reopen"})
"""Steps after which a case that joined another is one of its own, which needs a card."""
_TO_BE_ANSWERED: frozenset[State] = lifecycle.WAITING | {"claimed"}
_CORRECTED = tr("This is the corrected answer.")


class NoticeDelivery:
    """Makes one attempt to deliver a notice and records its result.

    A platform without a channel (API, web page) shows the record itself: there a notice counts as
    delivered when it is written. Notices about withdrawn questions are dropped.

    Args:
        casework: Builds the views of cases.
        channels: By platform.
        now: Returns the current time, to schedule a retry.
    """

    def __init__(
        self,
        *,
        outbox: Outbox,
        cases: Cases,
        casework: Casework,
        interactions: Interactions,
        channels: Mapping[Platform, Channel],
        now: Callable[[], datetime],
    ) -> None:
        self._outbox = outbox
        self._cases = cases
        self._casework = casework
        self._interactions = interactions
        self._channels = channels
        self._now = now

    async def tell(self, notice: Notice) -> None:
        """Deliver a notice, or schedule a retry.

        Raises StoreUnavailable: then a delivery may be unrecorded, and is looked up next time.
        """
        asked = await self._interactions.get(notice.interaction_id)
        if asked is None or asked.withdrawn:
            await self._outbox.sent(notice, None)
            return
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                ref = await self._told(notice, asked)
        except DeliveryRefused as error:
            await self._give_up(notice, str(error))
        except DeliveryFailed as error:
            await self._later(notice, asked, error)
        except StoreUnavailable:
            raise
        except TimeoutError:
            late = f"It was not told within {_DEADLINE_SECONDS:.0f} s."
            await self._later(notice, asked, DeliveryFailed(late))
        except Exception as error:
            log.exception("notice.broke", notice_id=notice.id)
            await self._later(notice, asked, DeliveryFailed(type(error).__name__))
        else:
            await self._outbox.sent(notice, ref)
            await self._take_back_if_withdrawn(asked.message, ref)

    async def _told(self, notice: Notice, asked: Interaction) -> PostedRef | None:
        message = asked.message
        if notice.to == "people":
            return await self._tell_people(notice, asked)
        channel = self._channels.get(message.thread.platform)
        if channel is None:
            return None
        if not isinstance(channel, Tells):
            raise DeliveryRefused(
                f"The adapter of {channel.platform!r} can't tell askers of escalations. Have it "
                "implement bot.escalations.ports.Tells; until then tell them yourself."
            )
        if notice.step in lifecycle.CONSENTS:
            return await self._answer(notice, message, channel)
        if notice.detail.about:
            return await self._revise(notice, message, channel)
        if notice.step == "ask_more" and not await self._is_asked(notice, message):
            return None
        there = await channel.find_told(message, notice) if notice.attempts else None
        return there or await channel.tell(message, notice)

    async def _is_asked(self, notice: Notice, message: Message) -> bool:
        """Return whether a request to see more still waits for its asker."""
        steps = await self._cases.steps(message.thread.tenant, notice.interaction_id)
        return request_in(steps) == MoreRequest(notice.number)

    async def _answer(self, notice: Notice, message: Message, channel: Tells) -> PostedRef | None:
        """Edit a request to see more that its asker answered, so that it has no buttons."""
        about, case_id = notice.detail.about, notice.interaction_id
        steps = await self._cases.steps(message.thread.tenant, case_id)
        asked = next((each for each in steps if each.number == about), None)
        at = await self._outbox.posted(case_id, about)
        if asked is None or at is None or not isinstance(channel, Revises):
            return None
        return await channel.revise(message, notice_of(asked), at, answer_remark(notice))

    async def _revise(self, notice: Notice, message: Message, channel: Tells) -> PostedRef | None:
        """Edit the notice of a reply that was corrected or taken back, or post what became of it.

        What its author wrote in the asker's thread is corrected there by the author.
        """
        about, case_id = notice.detail.about, notice.interaction_id
        steps = await self._cases.steps(message.thread.tenant, case_id)
        reply = next((each for each in steps if each.number == about), None)
        if reply is None or (reply.detail.in_thread and notice.step == "amend"):
            return None
        at = await self._outbox.posted(case_id, about)
        if at is None or not isinstance(channel, Revises):
            there = await channel.find_told(message, notice) if notice.attempts else None
            return there or await channel.tell(message, notice)
        said = standing_reply(steps, about) or replace(reply, text="")
        remark = _CORRECTED if said.text else ""
        return await channel.revise(message, notice_of(said), at, remark)

    async def _tell_people(self, notice: Notice, asked: Interaction) -> PostedRef | None:
        """Post the card of a case that had none, remind of an unclaimed one, update its cards."""
        message = asked.message
        try:
            view = await self._casework.shown(
                message.thread.tenant, notice.interaction_id, frozenset({EVERYONE})
            )
        except InteractionUnknown:
            return None
        if view.case.joined_to:
            await self._show(message, view)
            return None
        if notice.step in _LEAVING_STEPS and view.case.status.state in _TO_BE_ANSWERED:
            await self._post_card(asked)
        waits = view.case.status.state in lifecycle.WAITING
        is_due = waits and notice.step in _REMINDING_STEPS
        if notice.step == "assign":
            to = notice.detail.to
            is_due = to is not None and to.has(view.case.status.owner_id)
        if notice.step == "show_more":
            request = request_in(view.steps)
            is_due = request is not None and request.allowed
        ref = await self._remind(notice, view.case) if is_due else None
        await self._show(message, view)
        return ref

    async def _post_card(self, asked: Interaction) -> None:
        """Post the card of a case that joined another until now, unless it has one.

        Raises DeliveryFailed while its reply is on the way: that may post the card.
        """
        channel, outcome = self._channels.get(asked.message.thread.platform), asked.outcome
        if not isinstance(channel, PostsCards) or outcome is None:
            return
        card = await channel.card_of(asked.message)
        if card is None or not card.id:
            if asked.posted is None and asked.status != "failed":
                raise DeliveryFailed("Its reply is not posted yet.")
            delivered = Delivery(delivery_id(asked.id), asked.id, asked.message, outcome)
            await channel.ask_people(delivered)

    async def _show(self, message: Message, view: CaseView) -> None:
        for channel in self._channels.values():
            if isinstance(channel, ShowsCases):
                try:
                    await channel.show(message, view)
                except DeliveryRefused as error:
                    case_id = view.case.interaction_id
                    log.warning("notice.not_shown", interaction_id=case_id, why=str(error))

    async def _remind(self, notice: Notice, case: Case) -> PostedRef | None:
        """Remind experts of a case on every platform with an experts' channel."""
        places = [each for each in self._channels.values() if isinstance(each, AsksPeople)]
        refs = [ref for each in places if (ref := await each.remind(case, notice)) is not None]
        if not refs:
            log.info("notice.on_the_board_only", notice_id=notice.id, step=notice.step)
        return refs[0] if refs else None

    async def _take_back_if_withdrawn(self, message: Message, ref: PostedRef | None) -> None:
        """Remove a notice if the question was withdrawn while it was posted."""
        if ref is None:
            return
        now = await self._interactions.get(message.interaction_id)
        channel = self._channels.get(message.thread.platform)
        if (now is None or now.withdrawn) and isinstance(channel, Withdraws):
            try:
                await channel.withdraw(message, [ref])
            except DeliveryFailed as error:
                log.warning("notice.not_withdrawn", ref=ref.id, why=str(error))

    async def _later(self, notice: Notice, asked: Interaction, error: DeliveryFailed) -> None:
        now = self._now()
        if now - await self._since(notice, asked) > _RETRY_FOR:
            await self._give_up(notice, str(error))
            return
        pause = max(pause_before(notice.attempts + 1), error.retry_after_seconds or 0.0)
        await self._outbox.later(notice, now + timedelta(seconds=pause))
        log.warning(
            "notice.postponed",
            notice_id=notice.id,
            attempts=notice.attempts + 1,
            seconds=round(pause, 1),
            why=str(error),
        )

    async def _since(self, notice: Notice, asked: Interaction) -> datetime:
        """Return since when a notice is tried: its step, or when its case got what others had."""
        tenant, case_id = asked.message.thread.tenant, notice.interaction_id
        case = await self._cases.get(tenant, case_id)
        steps = await self._cases.steps(tenant, case_id)
        at = next((each.at for each in steps if each.number == notice.number), self._now())
        return max(at, case.changed_at) if case else at

    async def _give_up(self, notice: Notice, why: str) -> None:
        await self._outbox.failed(notice, why)
        log.error("notice.given_up", notice_id=notice.id, to=notice.to, why=why)
