"""Decide who may see the words of somebody else's question.

The one rule for all views of this room: lists of gaps, drafts of answers, labels, figures, digests
and reports. It has two conditions, and both must hold. The question is known beyond its asker: the
viewer asked it or worked on its case, its asker agreed, at least three people asked it, or it was
asked in a public channel. And the viewer may read all pages that were found for it, because a
question that was chosen from what was offered, or whose spelling was corrected, has a page's words.

Where the words may not be seen, views show a count, and of the pages those that the viewer may
read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.answering.asker_identity import Reader
from bot.answering.visibility import (
    ReadablePassages,
    RecordedPassage,
    Visibility,
    sources_of,
    visibility_in,
)
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId
from bot.domain.ports import Notes

LEAST_ASKERS = 3
"""People who asked the same question, from which on it is nobody's own any more."""

_SHARES = "learning:shares:"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: all their ids, and what they may read.

    A digest to a channel is read by nobody in particular: it has no ids, and its reader is what all
    in that channel may read.
    """

    ids: frozenset[str]
    reader: Reader


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a question is known by how it was asked.

    ``askers`` is the number of different people who asked the same question. ``public``: every
    colleague can read where it was asked; False if the platform could not say so.
    """

    askers: int = 1
    public: bool = False


ASKED_ONCE = Spread()


class CaseWorkers(Protocol):
    """Who worked on the cases of questions. Raises StoreUnavailable."""

    async def workers(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, frozenset[str]]:
        """Return the ids of the experts who acted on each case; one without any is left out."""
        ...


class QuestionWords:
    """Shows the words of questions to those who may see them.

    ``notes`` keep who lets others see their questions.
    """

    def __init__(self, workers: CaseWorkers, notes: Notes, readable: ReadablePassages) -> None:
        self._workers = workers
        self._notes = notes
        self._readable = readable

    async def shown(
        self,
        tenant: str,
        asked: Sequence[Interaction],
        viewer: Viewer,
        spread: Mapping[InteractionId, Spread],
    ) -> Mapping[InteractionId, str]:
        """Return the words of those questions that a viewer may see, as they were searched for.

        One that is not in ``spread`` was asked by one person, privately. While the index is
        unavailable, only questions for which nothing was found are shown. Raises StoreUnavailable.
        """
        there = [each for each in asked if not each.withdrawn]
        workers = await self._workers.workers(tenant, [each.id for each in there])
        agreed = await self._agreed(tenant)
        known = [
            each
            for each in there
            if _is_known(
                each, viewer.ids, spread.get(each.id, ASKED_ONCE), workers.get(each.id, frozenset())
            )
            or each.message.author.id in agreed
        ]
        seen = await visibility_in(self._readable, tenant, known, viewer.reader)
        return {each.id: seen.searched_for(each) for each in known if _may_read_pages(seen, each)}

    async def agree(self, tenant: str, person_id: str, *, shares: bool) -> None:
        """Record whether a person lets others see the words of their questions.

        Raises StoreUnavailable.
        """
        if shares:
            await self._notes.put(tenant, f"{_SHARES}{person_id}", "")
        else:
            await self._notes.remove(tenant, f"{_SHARES}{person_id}")

    async def _agreed(self, tenant: str) -> frozenset[str]:
        noted = await self._notes.beginning(tenant, _SHARES)
        return frozenset(key.removeprefix(_SHARES) for key in noted)


def _is_known(
    asked: Interaction, ids: frozenset[str], spread: Spread, workers: frozenset[str]
) -> bool:
    return (
        asked.message.author.id in ids
        or bool(workers & ids)
        or spread.askers >= LEAST_ASKERS
        or spread.public
    )


def _found_for(asked: Interaction) -> Sequence[RecordedPassage]:
    """Return the passages found for a question, and those behind the turns before it."""
    outcome = asked.outcome
    if outcome is None:
        return ()
    trace = outcome.trace
    return (*sources_of(outcome.response), *trace.passages, *(trace.heard or ()))


def _may_read_pages(seen: Visibility, asked: Interaction) -> bool:
    """Return whether something is still open of each page that was found for a question.

    All passages of a page have its readers; some may be gone since, because it was mended.
    """
    found = _found_for(asked)
    open_ = {chunk.page_id for chunk in seen.passages.values()}
    return all(each.page_id in open_ for each in found)
