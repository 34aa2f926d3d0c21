"""The job that keeps the quotes of posted answers and looks whether they are still on their pages.

It looks when an index run has ended, and every hour: at the versions and readers of the pages of a
space, in one listing, then at the chunks of those that changed. What it finds is recorded together
with how far it looked, so that a kill repeats and loses nothing. Where half of the quoted pages of
a space have changed at once, as after its conversion by another converter, corrections are held
back until an admin decides.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Protocol

import structlog

from bot.answering.permitted_views import QuoteState
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import InteractionId
from bot.domain.ports import Interactions, TellsPeople
from bot.domain.texts import trn
from bot.learning.corrections import Correction, CorrectionDelivery, ListsActiveRuns
from bot.learning.jobs import Job, JobMarks
from bot.learning.quote_fates import QuoteFate, QuoteFates, fate_of, sources_quoted
from ingestion.records.types import Run
from rag.ports import SearchIndex
from rag.types import Page

NAME = "corrections"
EVERY = timedelta(minutes=1)
WATCHED = timedelta(days=14)
"""How long the quotes of an answer are looked for."""

MOST_FOLLOWED = 200
STORM_PAGES = 10
"""Pages below which nothing is held back; above, if they are half of a space's quoted pages."""

STORM_SHARE = 0.5
MOVE_GRACE = timedelta(minutes=35)
"""A page that is gone may turn up in another space; so long its answers are left as they are.

That is a bit more than CONFLUENCE_RECONCILE_MINUTES by default, when each space was looked at.
"""

_SETTLED = timedelta(seconds=10)
_GIVEN_UP = timedelta(days=1)
_MOST_WAITING = 100
_LOOKS_AGAIN = timedelta(hours=1)
_FIRST_LOOK = timedelta(minutes=10)
_RUNS = 20

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PostedAnswer:
    """An interaction in the order of arrival; ``done``: what is posted of it will not change."""

    number: int
    id: InteractionId
    asked_at: datetime
    done: bool
    cites: bool


@dataclass(frozen=True, slots=True)
class WatchedQuote:
    """A quote of a posted answer.

    ``seen`` is what its page was like when it was looked for last, "" before; ``state`` is what
    came of it.
    """

    interaction_id: InteractionId
    number: int
    space: str
    page: str
    chunk: str
    quote: str
    at: datetime
    seen: str = ""
    state: QuoteFate = "there"


class QuoteRecord(Protocol):
    """The record of quotes. Raises StoreUnavailable."""

    async def posted(
        self, tenant: str, after: int, waiting: Collection[int], limit: int
    ) -> Sequence[PostedAnswer]:
        """Return those ``waiting``, and ``limit`` interactions after a number, in order."""
        ...

    async def watch(self, tenant: str, quotes: Sequence[WatchedQuote]) -> None:
        """Keep the quotes of one answer, unless it was withdrawn; kept ones stay as they are."""
        ...

    async def forget(self, tenant: str, before: datetime) -> None:
        """Delete the quotes of older answers."""
        ...

    async def spaces(self, tenant: str) -> Sequence[str]:
        """Return the spaces of all quotes."""
        ...

    async def watched(self, tenant: str, space: str) -> Sequence[WatchedQuote]:
        """Return the quotes of a space, by answer."""
        ...

    async def found(
        self, tenant: str, quotes: Sequence[WatchedQuote], corrections: Sequence[Correction]
    ) -> None:
        """Record what was seen, and the corrections that are needed, all or nothing."""
        ...

    async def held(self, tenant: str) -> Mapping[str, int]:
        """Return the number of corrections that are held back, by space."""
        ...


@dataclass(frozen=True, slots=True)
class WatchMark:
    """How far the job came.

    ``number`` is the last interaction that was followed, ``waiting`` those before it that were not
    posted yet. ``sign`` is of the index runs when it looked last, at ``looked``; ``skipped`` are
    the spaces that it could not look at then. ``alerted`` are those whose hold admins know of.
    """

    number: int = 0
    waiting: tuple[int, ...] = ()
    sign: str = ""
    looked: str = ""
    skipped: tuple[str, ...] = ()
    alerted: tuple[str, ...] = ()

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> WatchMark:
        stored = json.loads(text or "{}")
        lists = ("waiting", "skipped", "alerted")
        return cls(**{**stored, **{name: tuple(stored.get(name, ())) for name in lists}})


class QuoteWatch:
    """Follows posted answers, looks for their quotes, and has corrections told.

    Args:
        tenant: The company.
        record: Keeps quotes and corrections.
        index: Holds the pages.
        fates: Makes what looks up quotes.
        delivery: Tells what is due.
        platforms: Where admins are told of what is held back.
        settled: After this all interactions with a lower number are visible, too.
    """

    def __init__(
        self,
        tenant: str,
        *,
        record: QuoteRecord,
        marks: JobMarks,
        interactions: Interactions,
        index: SearchIndex,
        runs: ListsActiveRuns,
        fates: Callable[[], QuoteFates],
        delivery: CorrectionDelivery,
        platforms: Sequence[TellsPeople],
        settled: timedelta = _SETTLED,
    ) -> None:
        self._tenant = tenant
        self._record = record
        self._marks = marks
        self._interactions = interactions
        self._index = index
        self._runs = runs
        self._fates = fates
        self._delivery = delivery
        self._platforms = platforms
        self._settled = settled

    def job(self) -> Job:
        """Return the job to run."""
        return Job(NAME, EVERY, lambda: self.run(datetime.now(UTC)))

    async def run(self, now: datetime) -> bool:
        """Do a bounded piece of work; return whether there is more."""
        mark = WatchMark.of(await self._marks.mark(self._tenant, NAME))
        mark, more = await self._follow(mark, now)
        mark = await self._look(mark, now)
        await self._alert(mark)
        return await self._delivery.round(now) or more

    async def _keep(self, mark: WatchMark) -> WatchMark:
        await self._marks.set_mark(self._tenant, NAME, mark.text())
        return mark

    async def _follow(self, mark: WatchMark, now: datetime) -> tuple[WatchMark, bool]:
        """Keep the quotes of answers that were posted since the mark."""
        listed = await self._record.posted(self._tenant, mark.number, mark.waiting, MOST_FOLLOWED)
        found = [each for each in listed if each.asked_at <= now - self._settled]
        for each in found:
            if each.done and each.cites and each.asked_at > now - WATCHED:
                await self._watch(each.id)
        waiting = [
            each.number for each in found if not each.done and now - each.asked_at < _GIVEN_UP
        ]
        number = max([mark.number, *(each.number for each in found)])
        moved = replace(mark, number=number, waiting=tuple(waiting[-_MOST_WAITING:]))
        if moved != mark:
            await self._keep(moved)
        return moved, len(listed) >= MOST_FOLLOWED and number > mark.number

    async def _watch(self, interaction_id: InteractionId) -> None:
        asked = await self._interactions.get(interaction_id)
        if asked is None:
            return
        quotes = [
            WatchedQuote(
                asked.id,
                number,
                each.space,
                each.page_id,
                each.chunk_id,
                each.quote,
                asked.finished_at or asked.created_at,
            )
            for number, each in enumerate(sources_quoted(asked))
            if each.quote and each.space
        ]
        await self._record.watch(self._tenant, quotes)

    async def _look(self, mark: WatchMark, now: datetime) -> WatchMark:
        """Look at the spaces whose pages may have changed since the mark."""
        runs = await self._runs.newest(_RUNS)
        sign = _sign(runs)
        due = not mark.looked or now - datetime.fromisoformat(mark.looked) >= _LOOKS_AGAIN
        if sign == mark.sign and not due and not mark.skipped:
            return mark
        await self._record.forget(self._tenant, now - WATCHED)
        whole = due or sign != mark.sign
        spaces = await self._record.spaces(self._tenant) if whole else mark.skipped
        active = [each for each in await self._runs.active() if not each.dry_run]
        skipped = []
        for space in spaces:
            if any(each.space in {None, space} for each in active):
                skipped.append(space)
            else:
                await self._look_at(space, now)
        looked = now.isoformat() if whole else mark.looked
        return await self._keep(replace(mark, sign=sign, looked=looked, skipped=tuple(skipped)))

    async def _look_at(self, space: str, now: datetime) -> None:
        pages = await self._index.pages(self._tenant, space)
        quotes = await self._record.watched(self._tenant, space)
        changed = [each for each in quotes if _is_to_look_for(each, pages.get(each.page))]
        seen: list[WatchedQuote] = []
        needed: list[Correction] = []
        fates = self._fates()
        for answer, group in groupby(changed, key=lambda each: each.interaction_id):
            looked_for = list(group)
            asked = await self._interactions.get(answer)
            if asked is None or asked.withdrawn:
                continue
            keys = [(each.space, each.page, each.chunk, each.quote) for each in looked_for]
            states = await fates.of(asked, keys)
            for each, state in zip(looked_for, states, strict=True):
                found = _after(each, state, pages.get(each.page), now)
                if found is None:
                    continue
                seen.append(found)
                if _is_worse(each.state, found.state):
                    needed.append(_correction(found, state, now))
        held = await self._is_storm(space, needed, {each.page for each in quotes})
        if held:
            needed = [replace(each, state="held", due_at=None) for each in needed]
            log.error("corrections.held_back", space=space, corrections=len(needed))
        await self._record.found(self._tenant, seen, needed)

    async def _is_storm(
        self, space: str, needed: Sequence[Correction], quoted: Collection[str]
    ) -> bool:
        """Return whether the corrections of a space are to be held back."""
        if not needed:
            return False
        pages = len({each.page for each in needed})
        if pages >= STORM_PAGES and pages >= STORM_SHARE * len(quoted):
            return True
        return space in await self._record.held(self._tenant)

    async def _alert(self, mark: WatchMark) -> None:
        """Tell admins once of each space whose corrections are held back."""
        held = await self._record.held(self._tenant)
        new = [space for space in held if space not in mark.alerted]
        for space in new:
            text = trn(
                "{n} posted answer from {space} would be corrected at once, because many of its "
                "pages have changed together. It is held back: release or drop it at "
                "/board/corrections.",
                "{n} posted answers from {space} would be corrected at once, because many of its "
                "pages have changed together. They are held back: release or drop them at "
                "/board/corrections.",
                held[space],
                space=space,
            )
            for platform in self._platforms:
                try:
                    await platform.tell_people(text)
                except DeliveryFailed as error:
                    log.warning("corrections.not_alerted", space=space, why=str(error))
        if set(held) != set(mark.alerted):
            await self._keep(replace(mark, alerted=tuple(sorted(held))))


def _sign(runs: Sequence[Run]) -> str:
    """Return a sign that changes when a run has ended that may have changed a page."""
    ended = [f"{each.id}:{each.state}" for each in runs if not (each.active or each.dry_run)]
    return hashlib.blake2b("\0".join(ended).encode(), digest_size=8).hexdigest()


def _page_sign(page: Page | None) -> str:
    """Return what of a page decides about its quotes: its text and its readers, one each."""
    if page is None:
        return "gone"
    readers = json.dumps([sorted(each) for each in page.readers])
    return f"{_digest(page.version)}.{_digest(readers)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def _is_to_look_for(quote: WatchedQuote, page: Page | None) -> bool:
    """Return whether a page has changed since a quote was looked for.

    A page that is not listed may have moved: it is looked up each time, until its answer is told.
    """
    if page is None:
        return quote.state != "closed"
    return quote.seen != _page_sign(page)


def _after(
    quote: WatchedQuote, state: QuoteState, page: Page | None, now: datetime
) -> WatchedQuote | None:
    """Return a quote as it was found; None if nothing can be concluded yet.

    The directory may be away, and what an asker may read unknown: an answer was readable when it
    was given, and stays so as long as the readers of its page are the same.
    """
    sign = _page_sign(page)
    if state == "unknown":
        same_readers = quote.seen.partition(".")[2] == sign.partition(".")[2]
        if same_readers or (not quote.seen and now - quote.at < _FIRST_LOOK):
            return None
    fate = fate_of([state])
    return replace(quote, seen=sign, state=fate)


_ORDER: Mapping[QuoteFate, int] = {"there": 0, "changed": 1, "closed": 2}


def _is_worse(before: QuoteFate, after: QuoteFate) -> bool:
    return _ORDER[after] > _ORDER[before]


def _correction(quote: WatchedQuote, state: QuoteState, now: datetime) -> Correction:
    due = now + MOVE_GRACE if state == "gone" else now
    return Correction(quote.interaction_id, quote.space, quote.page, now, "due", due)
