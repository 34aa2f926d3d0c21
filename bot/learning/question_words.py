"""Decide who may see the words of somebody else's question.

The one rule for all views of this room: lists of gaps, drafts of answers, labels, figures, digests
and reports. It has two conditions, and both must hold. The question is known beyond its asker: the
viewer asked it or worked on its case, its asker agreed, at least three people asked it, or it was
asked in a public channel. And the viewer may read all pages that were found for it, because a
question chosen from what was offered, or corrected, has a page's words.

A viewer who may not see the words sees a count, and of the pages those that they may read.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.messages import InteractionId

LEAST_ASKERS = 3
"""People who asked the same question, from which on it is nobody's own any more."""


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """What the rule asks about a question.

    ``asker`` and ``workers`` (experts who acted on its case) are ids of people; ``askers`` is the
    number of different people who asked the same question, its asker included. ``agreed``: its
    asker lets others see it. ``public``: it was asked where every colleague reads; False if the
    platform could not say so. ``chunk_ids`` are the passages that were found for it.
    """

    interaction_id: InteractionId
    asker: str
    askers: int = 1
    workers: frozenset[str] = frozenset()
    agreed: bool = False
    public: bool = False
    chunk_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: all their ids, and the passages among those asked about that they may read.

    A digest to a channel is looked at by nobody in particular: it has no ids, and reads what
    everyone in that channel may read.
    """

    ids: frozenset[str]
    readable: frozenset[str]


def may_see_words(question: QuestionFacts, viewer: Viewer) -> bool:
    """Return whether a viewer may see the words of a question."""
    known = (
        question.asker in viewer.ids
        or bool(question.workers & viewer.ids)
        or question.agreed
        or question.askers >= LEAST_ASKERS
        or question.public
    )
    return known and question.chunk_ids <= viewer.readable
