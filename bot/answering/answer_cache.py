"""Give a saved answer to a question that was asked before, as long as nothing has changed since.

An answer is saved under a digest of all that it depends on (bot.answering.cache_keys), and the
pages behind it are checked again for each asker. What is saved is the outcome in the record, not a
copy of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from bot.answering.answer_plan import ModelProfile, SearchRequest
from bot.answering.cache_keys import CacheKeys
from bot.answering.grounded_answer import CORRECTED, READ_AS, GroundedAnswer, failing_pages
from bot.answering.visibility import RecordedPassage, Visibility, is_open
from bot.domain.errors import StoreUnavailable
from bot.domain.formatting import ago_text
from bot.domain.interactions import CacheUse, Outcome, Reply, Trace
from bot.domain.messages import Inquiry
from bot.domain.ports import RechecksPermissions
from rag.errors import RagError
from rag.ports import SearchIndex

SAVED_ANSWER = "Saved answer from {} to the same question; its sources were checked again just now."
"""Remark below a saved answer, with its age."""

LONGEST_HOURS = 24
"""The most hours that a saved answer is given."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """The outcome of the question that an answer was composed for, and when."""

    outcome: Outcome
    answered_at: datetime


class SavedAnswers(Protocol):
    """Port: find the answers that are saved for later askers, by all processes."""

    async def find(self, tenant: str, key: str, since: datetime) -> SavedAnswer | None:
        """Return the answer composed under a key after ``since``. Raises StoreUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """What everyone who reads a reply gets, before the addition for its asker alone.

    ``profile`` is what answered, ``chunk_ids`` are the passages found. ``grounded`` is None for a
    saved answer.
    """

    outcome: Outcome
    profile: ModelProfile
    chunk_ids: frozenset[str]
    grounded: GroundedAnswer | None = None


Compose = Callable[[], Awaitable[PublicAnswer]]


class AnswerCache:
    """Finds a saved answer to a question, or composes one that may be saved.

    Of several who ask the same at once in this process, one is waited for by the others.

    Args:
        saved: The saved answers.
        keys: Makes the keys of questions.
        index: Holds the pages of a saved answer.
        hours: How long an answer is given again, above 0 and at most LONGEST_HOURS.
        embeds: Whether searches use vectors; an answer found without them is not saved then.
        recheck: Checks the permissions of pages at their source; None trusts the index.
        now: Returns the time.
    """

    def __init__(
        self,
        saved: SavedAnswers,
        keys: CacheKeys,
        index: SearchIndex,
        *,
        hours: float,
        embeds: bool,
        recheck: RechecksPermissions | None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._saved = saved
        self._keys = keys
        self._index = index
        self._lifetime = timedelta(hours=min(hours, LONGEST_HOURS))
        self._embeds = embeds
        self._recheck = recheck
        self._now = now
        self._under_way: dict[str, asyncio.Future[SavedAnswer | None]] = {}

    async def answer(
        self,
        inquiry: Inquiry,
        profile: ModelProfile,
        trace: Trace,
        request: SearchRequest,
        compose: Compose,
    ) -> PublicAnswer:
        """Return the saved answer to a routed inquiry, else the one that ``compose`` returns.

        Raises what ``compose`` raises.
        """
        started = time.perf_counter()
        key = await self._keys.of(inquiry, profile, trace, request)
        if key is None:
            return await compose()
        asked = _Lookup(key, profile, trace, request, started)
        first = self._under_way.get(key)
        if first is not None:
            saved = await _result(first, profile.seconds)
            return await self._given(asked, saved) or self._composed(asked, await compose())
        with self._waited_for(key) as waited_for:
            saved = await self._find(request.scope.tenant, key)
            if given := await self._given(asked, saved):
                waited_for.set_result(saved)
                return given
            composed = self._composed(asked, await compose())
            waited_for.set_result(_saved(composed))
            return composed

    async def _find(self, tenant: str, key: str) -> SavedAnswer | None:
        try:
            return await self._saved.find(tenant, key, self._now() - self._lifetime)
        except StoreUnavailable as error:
            _log.warning("answer_cache.record_unavailable", why=str(error))
            return None

    async def _given(self, asked: _Lookup, saved: SavedAnswer | None) -> PublicAnswer | None:
        """Return a saved answer for another asker; None if they may not read all its pages now."""
        if saved is None or not await self._is_readable(saved, asked.request):
            return None
        outcome = _reused(asked, saved, self._now())
        found = {each.chunk_id for each in outcome.trace.passages if each.signals}
        return PublicAnswer(outcome, asked.profile, frozenset(found))

    async def _is_readable(self, saved: SavedAnswer, request: SearchRequest) -> bool:
        """Return whether the pages behind an answer may be read, and say what they said.

        Of a sure answer these are its sources. What a partial one lacks was written by a model that
        had read all passages.
        """
        response, passages = saved.outcome.response, saved.outcome.trace.passages
        if not isinstance(response, Reply) or not response.sources:
            return False
        sure = response.confidence_level == "sure"
        named: list[RecordedPassage] = [*response.sources, *(() if sure else passages)]
        try:
            chunks = await self._index.chunks(
                request.scope.tenant, {each.chunk_id for each in named}, request.scope.readers
            )
        except RagError as error:
            _log.warning("answer_cache.pages_unknown", why=str(error))
            return False
        quoted = all(map(Visibility(chunks).quotes, response.sources))
        if not quoted or not all(is_open(each, chunks) for each in named):
            return False
        return not await failing_pages(self._recheck, list(chunks.values()), request.scope)

    def _composed(self, asked: _Lookup, found: PublicAnswer) -> PublicAnswer:
        """Return an answer that was composed now, marked as one to save if it may be."""
        used = CacheUse(asked.key, "saved" if self._may_be_saved(found) else "miss", self._now())
        trace = replace(found.outcome.trace, cache=used)
        return replace(found, outcome=replace(found.outcome, trace=trace))

    def _may_be_saved(self, found: PublicAnswer) -> bool:
        """Return whether an answer passed the gate, and nothing that it needed had failed."""
        grounded = found.grounded
        if grounded is None or not grounded.passes or grounded.model_failed:
            return False
        if not isinstance(found.outcome.response, Reply) or grounded.notes:
            return False
        retrieval = grounded.retrieval
        return not retrieval.notes and (retrieval.vector is not None or not self._embeds)

    @contextmanager
    def _waited_for(self, key: str) -> Iterator[asyncio.Future[SavedAnswer | None]]:
        """Let others who ask the same wait in the block; without a result they get None."""
        result: asyncio.Future[SavedAnswer | None] = asyncio.get_running_loop().create_future()
        self._under_way[key] = result
        try:
            yield result
        finally:
            del self._under_way[key]
            if not result.done():
                result.set_result(None)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A question whose saved answer is looked for since ``started`` (time.perf_counter)."""

    key: str
    profile: ModelProfile
    trace: Trace
    request: SearchRequest
    started: float


def without_saving(outcome: Outcome) -> Outcome:
    """Return an outcome that is not saved for others."""
    used = outcome.trace.cache
    if used is None or used.result != "saved":
        return outcome
    return replace(outcome, trace=replace(outcome.trace, cache=replace(used, result="miss")))


async def _result(first: asyncio.Future[SavedAnswer | None], seconds: float) -> SavedAnswer | None:
    done, _ = await asyncio.wait([first], timeout=seconds)
    return first.result() if done else None


def _saved(composed: PublicAnswer) -> SavedAnswer | None:
    used = composed.outcome.trace.cache
    if used is None or used.result != "saved":
        return None
    return SavedAnswer(composed.outcome, used.answered_at)


def _reused(asked: _Lookup, saved: SavedAnswer, now: datetime) -> Outcome:
    """Return the outcome of a question that gets a saved answer: nothing of the earlier asker.

    The record holds admission's notes and remarks about that asker beside the answer's own.
    """
    earlier, trace = saved.outcome.trace, asked.trace
    corrected = CORRECTED in earlier.notes
    reading, _, _ = READ_AS.partition("{")
    remarks = [each for each in saved.outcome.remarks if each.startswith(reading)]
    took = (time.perf_counter() - asked.started) * 1000
    question = earlier.route.question if corrected else trace.route.question
    return Outcome(
        saved.outcome.response,
        replace(
            trace,
            route=replace(trace.route, question=question),
            passages=earlier.passages,
            features=earlier.features,
            threshold=earlier.threshold,
            gate=earlier.gate,
            calibration=earlier.calibration,
            timings_ms={**trace.timings_ms, "cache": took},
            notes=(*trace.notes, *([CORRECTED] if corrected else [])),
            searches=earlier.searches,
            vector=earlier.vector,
            cache=CacheUse(asked.key, "hit", saved.answered_at),
        ),
        remarks=(*remarks, SAVED_ANSWER.format(ago_text(saved.answered_at, now))),
    )
