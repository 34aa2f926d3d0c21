"""Correct posted answers in place when what they quote is no longer on its page.

A posted answer is edited, with a line and the date; where that is impossible its asker gets a
private note. An answer keeps its text only as long as all its pages may be read where it was
posted; else the line replaces it. Each attempt checks the quotes again: a quote that is back needs
no correction. bot.learning.quote_watch finds what is to be corrected.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

import structlog

from bot.answering.routing.languages import is_correction, texts_in
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.interactions import Delivery, Interaction, Outcome, Reply
from bot.domain.messages import InteractionId, Platform
from bot.domain.ports import Audits, Channel, CorrectsReplies, Interactions
from bot.domain.urls import with_public_links
from bot.inbox.outbox import delivery_id, pause_before
from bot.learning.quote_fates import QuoteFate, QuoteFates, fate_of, sources_quoted
from ingestion.records.types import Run

CorrectionState = Literal["due", "held", "told", "noted", "refused", "dropped", "back"]
"""due: to be told. held: by the brake, until an admin decides. told: the answer was edited. noted:
its asker got a private note. refused: the platform takes neither. dropped: by an admin, or nothing
is posted any more. back: the quote is on its page again."""

AT_ONCE = 20
"""Corrections that are told in one call of the job."""

_DEADLINE_SECONDS = 40.0
_RETRY_FOR = timedelta(hours=24)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_RUN_PAUSE = timedelta(minutes=2)
_ENDING_OF_0_2 = "Ask again for the present answer."
_ACTOR = "job:corrections"
_TOLD: frozenset[CorrectionState] = frozenset({"told", "noted", "refused"})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Correction:
    """A posted answer that is to be corrected, because of a page, or was.

    ``due_at`` is None once it is settled, or while it is held back.
    """

    interaction_id: InteractionId
    space: str
    page: str
    found_at: datetime
    state: CorrectionState
    due_at: datetime | None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class CorrectedPage:
    """A page, and how many answers were corrected because of it: in place, by a note, not at all.

    ``waiting`` are those that are due or held back.
    """

    space: str
    page: str
    last_at: datetime
    told: int
    noted: int
    refused: int
    waiting: int


class CorrectionReports(Protocol):
    """What the board shows of corrections, and what admins decide. Raises StoreUnavailable."""

    async def pages(
        self, tenant: str, limit: int, offset: int, since: datetime | None = None
    ) -> Sequence[CorrectedPage]:
        """Return the pages with corrections that were found since a time, the newest first."""
        ...

    async def held(self, tenant: str) -> Mapping[str, int]:
        """Return the number of corrections that are held back, by space."""
        ...

    async def decide(
        self, tenant: str, space: str, state: Literal["due", "dropped"], now: datetime, actor: str
    ) -> int:
        """Release or drop what is held back of a space, with an audit entry; return the number."""
        ...


class CorrectionRecord(Protocol):
    """The record of corrections. Raises StoreUnavailable."""

    async def due(self, tenant: str, now: datetime, limit: int) -> Sequence[Correction]:
        """Return the corrections that are due, oldest first."""
        ...

    async def settled_since(self, tenant: str, since: datetime) -> Mapping[tuple[str, str], int]:
        """Return how many were told, noted or refused since a time, by space and page."""
        ...

    async def settle(
        self, tenant: str, correction: Correction, state: CorrectionState, now: datetime, why: str
    ) -> None:
        """Record what became of a correction; "back" has its quotes watched again."""
        ...

    async def later(self, tenant: str, correction: Correction, at: datetime, why: str) -> None:
        """Record when a correction is due again, with its attempts."""
        ...

    async def remark(
        self, tenant: str, interaction_id: InteractionId, change: Callable[[Outcome], Outcome]
    ) -> Interaction | None:
        """Change a recorded outcome, and return its interaction; None if it was withdrawn."""
        ...


class ListsActiveRuns(Protocol):
    """The ledger of index runs. Raises ingestion.errors.LedgerUnavailable."""

    async def active(self) -> Sequence[Run]:
        """Return the waiting and working runs of all processes."""
        ...

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs, newest first."""
        ...


@dataclass(frozen=True, slots=True)
class CorrectionLimits:
    """Most corrections because of one page within an hour, and of all within a day; 0: none."""

    per_page_hourly: int
    per_day: int


def correction_line(fate: QuoteFate, at: datetime, language: str = "") -> str:
    """Return the line of a corrected answer in the language of its question."""
    return texts_in(language).correction.line(at, closed=fate == "closed")


def with_correction(outcome: Outcome, line: str) -> Outcome:
    """Return an outcome with the line below it, in place of that of an earlier correction."""
    kept = [each for each in outcome.remarks if not _is_correction(each)]
    return replace(outcome, remarks=(*kept, line))


def _is_correction(remark: str) -> bool:
    of_0_2 = remark.startswith("Updated ") and remark.endswith(_ENDING_OF_0_2)
    return of_0_2 or is_correction(remark)


class CorrectionDelivery:
    """Tells due corrections, each once a change, within the limits.

    Args:
        tenant: The company.
        record: The corrections.
        runs: Nothing is corrected while a run over its space is under way.
        channels: By platform. What has none shows the record itself (API, web page).
        fates: Makes what looks up quotes.
        public_url: The address of this server for colleagues.
    """

    def __init__(
        self,
        tenant: str,
        *,
        record: CorrectionRecord,
        interactions: Interactions,
        audits: Audits,
        runs: ListsActiveRuns,
        channels: Mapping[Platform, Channel],
        fates: Callable[[], QuoteFates],
        limits: CorrectionLimits,
        public_url: str | None,
    ) -> None:
        self._tenant = tenant
        self._record = record
        self._interactions = interactions
        self._audits = audits
        self._runs = runs
        self._channels = channels
        self._fates = fates
        self._limits = limits
        self._public_url = public_url

    async def round(self, now: datetime) -> bool:
        """Tell what is due and allowed; return whether there may be more at once."""
        due = await self._record.due(self._tenant, now, AT_ONCE)
        if not due:
            return False
        left = self._limits.per_day - sum(
            (await self._record.settled_since(self._tenant, now - _DAY)).values()
        )
        by_page = Counter(await self._record.settled_since(self._tenant, now - _HOUR))
        active = await self._runs.active()
        told: Counter[tuple[str, str, CorrectionState]] = Counter()
        try:
            for each in due:
                if left <= 0:
                    break
                if any(run.space in {None, each.space} for run in active if not run.dry_run):
                    await self._record.later(self._tenant, each, now + _RUN_PAUSE, "")
                elif by_page[each.space, each.page] >= self._limits.per_page_hourly:
                    await self._record.later(self._tenant, each, now + _HOUR / 4, "")
                elif (state := await self._tell(each, now, syncing=bool(active))) in _TOLD:
                    told[each.space, each.page, state] += 1
                    by_page[each.space, each.page] += 1
                    left -= 1
        finally:
            await self._audit(told)
        return len(due) == AT_ONCE and left > 0

    async def _audit(self, told: Mapping[tuple[str, str, CorrectionState], int]) -> None:
        for space, page, state in sorted(told):
            detail = f"{told[space, page, state]} {state}"
            subject = f"{space}/{page}"
            await self._audits.append(
                self._tenant, _ACTOR, "answers.correct", subject, detail=detail
            )

    async def _tell(self, due: Correction, now: datetime, *, syncing: bool) -> CorrectionState:
        """Tell a correction, or schedule a retry; return the state that it has then."""
        asked = await self._interactions.get(due.interaction_id)
        sources = () if asked is None else sources_quoted(asked)
        if asked is None or not sources:
            return await self._settle(due, "dropped", now)
        quotes = [(each.space, each.page_id, each.chunk_id, each.quote) for each in sources]
        states = await self._fates().of(asked, quotes)
        if syncing and "gone" in states:
            # It may have moved to the space that is read just now.
            await self._record.later(self._tenant, due, now + _RUN_PAUSE, "")
            return "due"
        # Of other pages "unknown" may mean that the directory is away: they stay as they were.
        fate = fate_of(
            [
                state
                for each, state in zip(sources, states, strict=True)
                if state != "unknown" or each.page_id == due.page
            ]
        )
        if fate == "there":
            return await self._settle(due, "back", now)
        line = correction_line(fate, due.found_at, _language_of(asked))
        asked = await self._record.remark(
            self._tenant, asked.id, lambda outcome: with_correction(outcome, line)
        )
        if asked is None or asked.outcome is None:
            return await self._settle(due, "dropped", now)
        channel = self._channels.get(asked.message.thread.platform)
        if channel is None:
            return await self._settle(due, "told", now)
        return await self._post(due, channel, asked, _shown(asked.outcome, fate, line), now)

    async def _post(
        self, due: Correction, channel: Channel, asked: Interaction, shown: Outcome, now: datetime
    ) -> CorrectionState:
        """Edit the posted answer; where the platform never will, send its asker a note."""
        if not isinstance(channel, CorrectsReplies) or asked.posted is None:
            return await self._settle(due, "refused", now, f"{channel.platform} can't edit answers")
        delivery = Delivery(
            delivery_id(asked.id),
            asked.id,
            asked.message,
            with_public_links(shown, self._public_url),
        )
        texts = texts_in(_language_of(asked)).correction
        note = texts.about(asked.created_at, _note(shown))
        try:
            await _in_time(channel.correct(delivery, asked.posted))
        except DeliveryRefused as refused:
            return await self._note(due, channel, asked, note, now, str(refused))
        except (DeliveryFailed, TimeoutError) as error:
            return await self._later(due, now, error)
        return await self._settle(due, "told", now)

    async def _note(
        self,
        due: Correction,
        channel: CorrectsReplies,
        asked: Interaction,
        note: str,
        now: datetime,
        why: str,
    ) -> CorrectionState:
        now_asked = await self._interactions.get(asked.id)
        if now_asked is None or now_asked.withdrawn:
            return await self._settle(due, "dropped", now)
        try:
            await _in_time(channel.note(asked.message, note))
        except DeliveryRefused as refused:
            return await self._settle(due, "refused", now, f"{why} {refused}")
        except (DeliveryFailed, TimeoutError) as error:
            return await self._later(due, now, error)
        return await self._settle(due, "noted", now, why)

    async def _later(
        self, due: Correction, now: datetime, error: DeliveryFailed | TimeoutError
    ) -> CorrectionState:
        why = str(error) or "it took too long"
        if now - due.found_at > _RETRY_FOR:
            return await self._settle(due, "refused", now, why)
        asked_for = error.retry_after_seconds if isinstance(error, DeliveryFailed) else None
        pause = max(pause_before(due.attempts + 1), asked_for or 0.0)
        again = replace(due, attempts=due.attempts + 1)
        await self._record.later(self._tenant, again, now + timedelta(seconds=pause), why)
        log.warning("correction.postponed", interaction_id=due.interaction_id, why=why)
        return "due"

    async def _settle(
        self, due: Correction, state: CorrectionState, now: datetime, why: str = ""
    ) -> CorrectionState:
        await self._record.settle(self._tenant, due, state, now, why)
        if state == "refused":
            log.error("correction.refused", interaction_id=due.interaction_id, why=why)
        return state


def _shown(outcome: Outcome, fate: QuoteFate, line: str) -> Outcome:
    """Return the corrected answer as it is posted: the line alone if its pages are closed."""
    if fate == "changed":
        return outcome
    return replace(outcome, response=Reply(line, tone="generic"), private=None, remarks=())


def _language_of(asked: Interaction) -> str:
    return asked.outcome.trace.route.language if asked.outcome else ""


def _note(shown: Outcome) -> str:
    return shown.remarks[-1] if shown.remarks else shown.response.text


async def _in_time(attempt: Awaitable[None]) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        await attempt
