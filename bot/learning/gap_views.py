"""What somebody may see of gaps: counts, the words of questions by the one rule, pages to mend.

A gap's name is the question nearest to its middle that the viewer may see. Of the pages near it
only those are named that the viewer may read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Protocol

from bot.answering.visibility import ReadablePassages, Visibility, visibility_of
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId
from bot.domain.record_reports import Span
from bot.learning.gaps import (
    ChosenState,
    GapMember,
    GapQuery,
    GapSummary,
    PassageRef,
    by_nearness,
    normalised,
    spread_of,
)
from bot.learning.question_words import Asked, QuestionWords, Spread, Viewer
from rag.types import Chunk

MOST_READ = 300
"""Questions of a gap that a view looks at, the newest: those beyond are counted alone."""

MOST_PAGES = 3
_CANDIDATE_PAGES = 12
_ROUNDS = (3, 27, MOST_READ)
"""How many more questions of a gap are tried, in turn, until one may be shown."""

_WINDOW = 25
_MOST_WINDOWS = 20


@dataclass(frozen=True, slots=True)
class NearPage:
    """A page near a gap; ``owner`` is the name of its last editor, "" if unknown."""

    title: str
    url: str
    space: str
    owner: str
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class ShownGap:
    """A gap as somebody may see it; ``name`` is "" if they may see none of its questions.

    ``pages`` are those found for most of its questions. ``answered_by`` is the page that answers a
    closed gap, None if there is none to show. ``blind``: the index could not be asked.
    """

    summary: GapSummary
    name: str
    pages: tuple[NearPage, ...]
    answered_by: NearPage | None = None
    blind: bool = False


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of a gap in its words, asked so many times in the same words."""

    question: str
    times: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class GapDetails:
    """A gap with the questions that may be shown; ``hidden`` counts the others."""

    gap: ShownGap
    questions: tuple[ShownQuestion, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class GapPage:
    """A part of the list; ``next`` is where the next part begins, None at the end."""

    gaps: tuple[ShownGap, ...]
    next: int | None


class GapReports(Protocol):
    """The record of gaps, as views need it. Raises StoreUnavailable."""

    async def listed(
        self, tenant: str, query: GapQuery, limit: int, offset: int
    ) -> Sequence[GapSummary]:
        """Return gaps, most asked or latest first; words are looked for in all questions."""
        ...

    async def one(self, tenant: str, gap: str, span: Span) -> GapSummary | None: ...

    async def members(
        self, tenant: str, gaps: Collection[str], limit: int
    ) -> Mapping[str, Sequence[GapMember]]:
        """Return the newest questions of each gap that count."""
        ...

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        """Return interactions by id, without withdrawn ones."""
        ...


class SetsGapStates(Protocol):
    """Sets what people say of a gap. Raises StoreUnavailable."""

    async def set_state(
        self, tenant: str, gap: str, state: ChosenState, *, actor: str, name: str
    ) -> bool:
        """Set a gap's state, with an audit entry; return False if there is no such gap."""
        ...


@dataclass(frozen=True, slots=True)
class _Looked:
    """The questions of some gaps by gap, how far each is known, and which are known to a viewer."""

    members: Mapping[str, Sequence[GapMember]]
    spread: Mapping[InteractionId, Spread]
    known: frozenset[InteractionId]


class GapViews:
    """Shows the gaps of one tenant."""

    def __init__(
        self, tenant: str, reports: GapReports, words: QuestionWords, readable: ReadablePassages
    ) -> None:
        self._tenant = tenant
        self._reports = reports
        self._words = words
        self._readable = readable

    async def listed(
        self, query: GapQuery, viewer: Viewer, *, limit: int, offset: int = 0
    ) -> GapPage:
        """Return gaps; with words, those with a question that has them and may be shown."""
        shown: list[ShownGap] = []
        place = offset
        for _ in range(_MOST_WINDOWS):
            found = await self._reports.listed(self._tenant, query, _WINDOW + 1, place)
            window, room = found[:_WINDOW], limit - len(shown)
            looked = await self._look(window, viewer)
            fitting = await self._fitting(window, looked, query.words, viewer)
            shown += await self._shown(fitting[:room], looked, viewer)
            if len(fitting) >= room:
                last = window.index(fitting[room - 1]) + 1
                return GapPage(tuple(shown), None if last == len(found) else place + last)
            if len(found) <= _WINDOW:
                return GapPage(tuple(shown), None)
            place += _WINDOW
        return GapPage(tuple(shown), place)

    async def one(self, gap: str, span: Span, viewer: Viewer) -> GapDetails | None:
        """Return a gap with the questions that may be shown; None if there is no such gap."""
        summary = await self._reports.one(self._tenant, gap, span)
        if summary is None:
            return None
        looked = await self._look([summary], viewer)
        (shown,) = await self._shown([summary], looked, viewer)
        words = await self._texts(looked.known, looked, viewer)
        asked: dict[str, list[GapMember]] = {}
        for each in looked.members[summary.id]:
            if each.id in words:
                asked.setdefault(normalised(words[each.id]), []).append(each)
        questions = tuple(
            ShownQuestion(words[newest.id], 1 + len(older), newest.asked_at)
            for newest, *older in asked.values()
        )
        return GapDetails(shown, questions, summary.total - sum(each.times for each in questions))

    async def _look(self, summaries: Sequence[GapSummary], viewer: Viewer) -> _Looked:
        ids = [each.id for each in summaries]
        members = await self._reports.members(self._tenant, ids, MOST_READ) if ids else {}
        spread: dict[InteractionId, Spread] = {}
        for of_gap in members.values():
            spread.update(spread_of(of_gap))
        asked = [
            Asked(each.id, each.author, each.person)
            for each in chain.from_iterable(members.values())
        ]
        return _Looked(
            members, spread, await self._words.known(self._tenant, asked, viewer, spread)
        )

    async def _texts(
        self, ids: Collection[InteractionId], looked: _Looked, viewer: Viewer
    ) -> Mapping[InteractionId, str]:
        """Return the words of those questions that may be shown."""
        asked = await self._reports.asked(self._tenant, ids) if ids else {}
        return await self._words.shown(self._tenant, [*asked.values()], viewer, looked.spread)

    async def _fitting(
        self, summaries: Sequence[GapSummary], looked: _Looked, words: str, viewer: Viewer
    ) -> Sequence[GapSummary]:
        """Return the gaps with all words in one question that may be shown."""
        wanted = words.casefold().split()
        if not wanted:
            return summaries
        gap_of = {
            each.id: each.gap
            for each in chain.from_iterable(looked.members.values())
            if each.id in looked.known and _has(each.question, wanted)
        }
        texts = await self._texts(gap_of.keys(), looked, viewer)
        fitting = {gap_of[each] for each, text in texts.items() if _has(text, wanted)}
        return [each for each in summaries if each.id in fitting]

    async def _shown(
        self, summaries: Sequence[GapSummary], looked: _Looked, viewer: Viewer
    ) -> Sequence[ShownGap]:
        names = await self._names([each.id for each in summaries], looked, viewer)
        near = {each.id: _near_passages(looked.members[each.id]) for each in summaries}
        named = [*chain.from_iterable(near.values())]
        named += chain.from_iterable(each.answered_by for each in summaries)
        found = [each.as_found() for each in named]
        seen = await visibility_of(self._readable, self._tenant, found, viewer.reader)
        return [
            ShownGap(
                each,
                names.get(each.id, ""),
                tuple(_pages(near[each.id], seen)[:MOST_PAGES]),
                next(iter(_pages(each.answered_by, seen)), None),
                blind=seen.blind,
            )
            for each in summaries
        ]

    async def _names(
        self, gaps: Sequence[str], looked: _Looked, viewer: Viewer
    ) -> Mapping[str, str]:
        """Return each gap's question nearest to its middle that may be shown, if there is one."""
        untried = {
            gap: [each.id for each in by_nearness(looked.members[gap]) if each.id in looked.known]
            for gap in gaps
        }
        names: dict[str, str] = {}
        for more in _ROUNDS:
            tried = {gap: ids[:more] for gap, ids in untried.items()}
            texts = await self._texts([*chain.from_iterable(tried.values())], looked, viewer)
            for gap, ids in tried.items():
                name = next((texts[one] for one in ids if texts.get(one)), "")
                names |= {gap: name} if name else {}
            untried = {gap: ids[more:] for gap, ids in untried.items() if gap not in names}
        return names


def _has(text: str, wanted: Sequence[str]) -> bool:
    return all(word in text.casefold() for word in wanted)


def _near_passages(members: Sequence[GapMember]) -> Sequence[PassageRef]:
    """Return passages of the pages found for most questions; the better of those first found."""
    weights = defaultdict[str, float](float)
    for each in members:
        for rank, passage in enumerate(each.passages, start=1):
            weights[passage.page_id] += 1 / rank
    best = sorted(weights, key=lambda page: -weights[page])[:_CANDIDATE_PAGES]
    passages = dict.fromkeys(chain.from_iterable(each.passages for each in members))
    chosen = [each for each in passages if each.page_id in best]
    return sorted(chosen, key=lambda each: -weights[each.page_id])


def _pages(passages: Sequence[PassageRef], seen: Visibility) -> Sequence[NearPage]:
    """Return the pages of passages that may be read, in their order."""
    chunks: dict[str, Chunk] = {}
    for each in passages:
        chunk = seen.passages.get(each.chunk_id)
        if chunk is not None and chunk.page_id == each.page_id:
            chunks.setdefault(each.page_id, chunk)
    return [
        NearPage(each.title, each.url, each.space, each.updated_by, each.updated_at)
        for each in chunks.values()
    ]
