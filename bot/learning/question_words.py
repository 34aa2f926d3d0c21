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
from itertools import chain
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
from bot.domain.messages import InteractionId, Person
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
    colleague can read where it was asked; False if the platform could not say so. ``requests`` are
    the interactions by which its asker asked for a person: they are its cases, too.
    """

    askers: int = 1
    public: bool = False
    requests: tuple[InteractionId, ...] = ()


ASKED_ONCE = Spread()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and who asked it: the id that it was asked under, and their ``person_key``."""

    id: InteractionId
    author: str
    person: str


def person_key(person: Person) -> str:
    """Return one id for a person on all platforms: a verified e-mail address, else their id."""
    return person.email.lower() if person.email else person.id


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
        ids = await self.known(tenant, list(map(_asked, there)), viewer, spread)
        known = [each for each in there if each.id in ids]
        seen = await visibility_in(self._readable, tenant, known, viewer.reader)
        return {each.id: seen.searched_for(each) for each in known if _may_read_pages(seen, each)}

    async def known(
        self,
        tenant: str,
        asked: Sequence[Asked],
        viewer: Viewer,
        spread: Mapping[InteractionId, Spread],
    ) -> frozenset[InteractionId]:
        """Return the questions that meet the first condition: they are known beyond their asker.

        It saves reading the others, whose words are not shown. Raises StoreUnavailable.
        """
        spreads = {each.id: spread.get(each.id, ASKED_ONCE) for each in asked}
        cases = {each.id: (each.id, *spreads[each.id].requests) for each in asked}
        workers = await self._workers.workers(tenant, list(chain.from_iterable(cases.values())))
        agreed = await self._agreed(tenant)
        return frozenset(
            each.id
            for each in asked
            if {each.author, each.person} & viewer.ids
            or each.person in agreed
            or any(workers.get(case, frozenset()) & viewer.ids for case in cases[each.id])
            or spreads[each.id].askers >= LEAST_ASKERS
            or spreads[each.id].public
        )

    async def agree(self, tenant: str, person: Person, *, shares: bool) -> None:
        """Record whether a person lets others see the words of their questions, on all platforms.

        Raises StoreUnavailable.
        """
        key = f"{_SHARES}{person_key(person)}"
        if shares:
            await self._notes.put(tenant, key, "")
        else:
            await self._notes.remove(tenant, key)

    async def agrees(self, tenant: str, person: Person) -> bool:
        """Return whether a person lets others see their questions. Raises StoreUnavailable."""
        return await self._notes.get(tenant, f"{_SHARES}{person_key(person)}") is not None

    async def _agreed(self, tenant: str) -> frozenset[str]:
        noted = await self._notes.beginning(tenant, _SHARES)
        return frozenset(key.removeprefix(_SHARES) for key in noted)


def _asked(asked: Interaction) -> Asked:
    author = asked.message.author
    return Asked(asked.id, author.id, person_key(author))


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
