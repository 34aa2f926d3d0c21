"""The job that keeps gaps: follows the record, and groups and asks again at night.

How far it came is its mark. Whatever is repeated after a kill changes nothing: a question is in one
gap, and a gap's counts are those of its questions.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

import structlog

from bot.domain.errors import DeliveryFailed
from bot.domain.handoff import question_of_person_request
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId, Message, Platform
from bot.domain.ports import KnowsPublicChannels
from bot.learning.gap_checks import GapChecks
from bot.learning.gap_clustering import Hold, Labels, NearestGap, group, inherit, moves
from bot.learning.gap_record import GapRecord, GroupedQuestion
from bot.learning.gaps import (
    GapCause,
    GapQuestion,
    asker_of,
    asks_for_person,
    can_be_missed,
    cause_of,
    passages_of,
    recorded_vector,
    stored_vector,
    unit_vectors,
)
from bot.learning.jobs import Job, JobMarks
from rag.ports import Embedder
from rag.types import Vectors

NAME = "gaps"
EVERY = timedelta(minutes=1)
MOST_FOLLOWED = 200
"""Interactions a call; between two calls other jobs and processes get their turn."""

MOST_WAITING = 100
MOST_EMBEDDED = 100
MOST_GROUPED = 20_000
"""The newest questions are grouped anew; older ones stay where they are."""

SETTLED = timedelta(seconds=10)
"""After this all interactions with a lower number are visible, too."""

GIVEN_UP = timedelta(days=1)
"""An interaction that is unfinished after this is not waited for any more."""

_FIRST_VOTE = datetime(2000, 1, 1, tzinfo=UTC)
_VOTES_SEEN_AGAIN = timedelta(minutes=5)
"""Clocks of processes differ, and a vote is visible only some time after it was given."""

_HOLDS: Mapping[str, Hold] = {
    "taken": "claims",
    "page_written": "claims",
    "not_ours": "kept",
    "closed": "kept",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GapMark:
    """How far the job came.

    ``number`` is the last interaction that was looked at, ``waiting`` those before it that were
    unfinished; ``voted`` the time of the last vote. ``grouped`` and ``asked`` are the days of the
    last night's works, ``spent`` the questions asked again in that night. ``writer`` is who wrote
    the mark: what it remembers of the gaps is right as long as nobody else does.
    """

    number: int = 0
    waiting: tuple[int, ...] = ()
    voted: str = ""
    grouped: str = ""
    asked: str = ""
    spent: int = 0
    writer: str = ""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> GapMark:
        stored = json.loads(text or "{}")
        return cls(**{**stored, "waiting": tuple(stored.get("waiting", ()))})


class GapJob:
    """Keeps the gaps of one tenant.

    Args:
        tenant: Whose gaps these are.
        record: The record of gaps.
        marks: Keeps the mark.
        embedder: Embeds questions whose vector is missing; None groups by words alone.
        platforms: The platforms that know which channels are public.
        checks: Asks the questions of gaps again.
        night: The hour (UTC) from which the night's work is done.
        settled: See SETTLED.
    """

    def __init__(
        self,
        tenant: str,
        record: GapRecord,
        marks: JobMarks,
        *,
        embedder: Embedder | None,
        platforms: Mapping[Platform, KnowsPublicChannels],
        checks: GapChecks,
        night: int,
        settled: timedelta = SETTLED,
    ) -> None:
        self._tenant = tenant
        self._record = record
        self._marks = marks
        self._embedder = embedder
        self._platforms = platforms
        self._checks = checks
        self._night = night
        self._settled = settled
        self._writer = str(uuid.uuid4())
        self._nearest: NearestGap | None = None

    def job(self) -> Job:
        """Return the job to run."""
        return Job(NAME, EVERY, lambda: self.run(datetime.now(UTC)))

    async def run(self, now: datetime) -> bool:
        """Do a bounded piece of work; return whether there is more."""
        mark = GapMark.of(await self._marks.mark(self._tenant, NAME))
        if mark.writer != self._writer:
            self._nearest = None
        if self._nearest is None and await self._embed():
            return True
        moved, followed = await self._follow(mark, now)
        moved, voted = await self._follow_votes(moved)
        moved = replace(moved, writer=self._writer)
        if moved != mark:
            await self._keep(moved)
        if followed or voted:
            return True
        return await self._work_at_night(moved, now)

    async def _keep(self, mark: GapMark) -> None:
        await self._marks.set_mark(self._tenant, NAME, mark.text())

    async def _follow(self, mark: GapMark, now: datetime) -> tuple[GapMark, bool]:
        """Add the questions of interactions that came, or were finished, since the mark."""
        listed = await self._record.follow(self._tenant, mark.number, mark.waiting, MOST_FOLLOWED)
        # Not filtered by the time: one with a lower number may still become visible.
        found = list(takewhile(lambda each: each.asked_at <= now - self._settled, listed))
        await self._add([each.id for each in found if each.finished and each.candidate])
        waiting = [
            each.number for each in found if not each.finished and now - each.asked_at < GIVEN_UP
        ]
        number = max([mark.number, *(each.number for each in found)])
        moved = replace(mark, number=number, waiting=tuple(waiting[-MOST_WAITING:]))
        return moved, len(listed) >= MOST_FOLLOWED and number > mark.number

    async def _follow_votes(self, mark: GapMark) -> tuple[GapMark, bool]:
        """Add the questions that were thumbed down since the mark."""
        last = datetime.fromisoformat(mark.voted) if mark.voted else _FIRST_VOTE
        votes = await self._record.voted_down(self._tenant, last - _VOTES_SEEN_AGAIN, MOST_FOLLOWED)
        asked = await self._record.asked(self._tenant, [each.id for each in votes])
        for each in asked.values():
            if can_be_missed(each):
                await self._attach(each, "thumbed_down")
        newest = max([last, *(each.given_at for each in votes)])
        more = len(votes) == MOST_FOLLOWED and newest > last
        return replace(mark, voted=newest.isoformat()), more

    async def _add(self, ids: Sequence[InteractionId]) -> None:
        asked = await self._record.asked(self._tenant, ids)
        for each in (asked[one] for one in ids if one in asked):
            cause = cause_of(each)
            if cause is not None:
                await self._attach(each, cause)
            elif asks_for_person(each):
                await self._add_earlier(each)

    async def _add_earlier(self, request: Interaction) -> None:
        """Add the question that a person was asked about, if it is an earlier one."""
        message, outcome = request.message, request.outcome
        about = question_of_person_request(message)
        if about is None and outcome is not None:
            about = await self._record.asked_before(message, outcome.trace.route.question)
        if about is None:
            return
        asked = (await self._record.asked(self._tenant, [about])).get(about)
        if asked is not None and can_be_missed(asked):
            await self._attach(asked, "handed_over", request=request.id)

    async def _attach(self, asked: Interaction, cause: GapCause, *, request: str = "") -> None:
        outcome = asked.outcome
        if outcome is None:
            return
        question = outcome.trace.route.question
        nearest, vector = await self._known_gaps(), await self._vector(asked)
        gap = None if vector is None else nearest.nearest(vector)
        if vector is None:
            gap = await self._record.with_words(self._tenant, question)
        added = GapQuestion(
            id=asked.id,
            tenant=self._tenant,
            cause=cause,
            asked_at=asked.created_at,
            person=asker_of(asked),
            question=question,
            public=await self._is_public(asked.message),
            embedder="" if vector is None or self._embedder is None else self._embedder.name,
            vector=b"" if vector is None else stored_vector(vector),
            passages=passages_of(asked),
            request=request,
        )
        chosen = gap or str(uuid.uuid4())
        is_new = await self._record.attach(added, chosen, opened=gap is None)
        if is_new and vector is not None:
            nearest.add(chosen, vector)

    async def _vector(self, asked: Interaction) -> Vectors | None:
        if self._embedder is None or asked.outcome is None:
            return None
        trace = asked.outcome.trace
        recorded = recorded_vector(trace.vector, self._embedder.name)
        if recorded is not None:
            return recorded
        return await self._embedder.embed_query(trace.route.search_query or trace.route.question)

    async def _is_public(self, message: Message) -> bool | None:
        """Return whether a question was asked publicly; None if the platform can't say now."""
        platform = self._platforms.get(message.thread.platform)
        if message.private or platform is None:
            return False
        try:
            return await platform.is_public(message)
        except DeliveryFailed as error:
            log.info("gaps.place_unknown", why=str(error))
            return None

    async def _known_gaps(self) -> NearestGap:
        if self._nearest is None:
            found = await self._grouped()
            held = [(each.gap, each.vector) for each in found if each.gap is not None]
            self._nearest = NearestGap()
            if held:
                gaps, vectors = zip(*held, strict=True)
                self._nearest = NearestGap.over(gaps, unit_vectors(vectors))
        return self._nearest

    async def _grouped(self) -> Sequence[GroupedQuestion]:
        if self._embedder is None:
            return ()
        return await self._record.grouped(self._tenant, self._embedder.name, MOST_GROUPED)

    async def _embed(self) -> bool:
        """Embed some questions that have no vector of the present embedder; return whether any."""
        if self._embedder is None:
            return False
        name = self._embedder.name
        missing = await self._record.without_vector(self._tenant, name, MOST_EMBEDDED)
        if not missing:
            return False
        vectors = await self._embedder.embed([question for _, question in missing])
        ids = [each for each, _ in missing]
        await self._record.set_vectors(
            name, {one: stored_vector(each) for one, each in zip(ids, vectors, strict=True)}
        )
        return True

    async def _work_at_night(self, mark: GapMark, now: datetime) -> bool:
        """Group anew, then ask again, once a night; return whether there is more to do."""
        if now.hour < self._night:
            return False
        night = now.date().isoformat()
        if mark.grouped != night:
            await self._look_up_places()
            await self.regroup()
            await self._keep(replace(mark, grouped=night, spent=0))
            return True
        if mark.asked == night:
            return False
        asked = await self._checks.ask_again(mark.spent, now)
        asked_now = replace(mark, spent=mark.spent + asked)
        await self._keep(asked_now if asked else replace(mark, asked=night))
        return bool(asked)

    async def regroup(self) -> None:
        """Group the newest questions anew; gaps keep their ids, and those that people took stay."""
        found = await self._grouped()
        if found:
            labels = await asyncio.to_thread(_group, [each.vector for each in found])
            before = [each.gap for each in found]
            holds = {
                each.gap: _HOLDS[each.state]
                for each in found
                if each.gap is not None and each.state in _HOLDS
            }
            after = inherit(labels, before, holds)
            ids = [each.id for each in found]
            moved = moves(ids, before, after)
            await self._record.move(self._tenant, moved, set(after) - set(before))
        await self._record.tidy(self._tenant)
        self._nearest = None

    async def _look_up_places(self) -> None:
        """Ask again whether questions were asked publicly, where the platform could not say."""
        ids = await self._record.of_unknown_place(self._tenant, MOST_FOLLOWED)
        for each in (await self._record.asked(self._tenant, ids)).values():
            public = await self._is_public(each.message)
            if public is not None:
                await self._record.set_public(each.id, public=public)


def _group(stored: Sequence[bytes]) -> Labels:
    return group(unit_vectors(stored))
