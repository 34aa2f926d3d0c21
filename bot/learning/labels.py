"""Turn feedback into labelled questions: what use proposes, and what a person accepts.

A candidate is one answered question with what is known of its answer. Accepting it says whether the
answer was right, and where the answer is; accepted labels are written into the operator's questions
file (docs/learning.md), which ``evaluate``, ``train`` and ``certify`` read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, get_args

from bot.domain.messages import InteractionId

LabelOrigin = Literal["thumb", "reopened", "sampled", "shadow", "reviewed"]
"""What proposed a label. reopened: a person's answer to the question was not enough. sampled: drawn
at random from a week's answers, so that the share of right ones can be estimated; thumbs are given
to the best and the worst. shadow: a reviewer's verdict on a draft. reviewed: a person's answer was
kept as a page."""

LabelState = Literal["candidate", "accepted", "rejected"]

Truth = Literal["right", "wrong", "unanswerable"]
"""What a label says of the answer that was given. wrong: the answer is on other pages.
unanswerable: no page answers the question, so nothing should have been answered."""

ORIGINS: tuple[LabelOrigin, ...] = get_args(LabelOrigin)
TRUTHS: tuple[Truth, ...] = get_args(Truth)

UNBIASED: frozenset[LabelOrigin] = frozenset({"sampled", "shadow"})
"""Origins that do not depend on how good the answer was."""


@dataclass(frozen=True, slots=True)
class LabelKey:
    """The interaction that a label is about, and what proposed it."""

    interaction_id: InteractionId
    origin: LabelOrigin


@dataclass(frozen=True, slots=True)
class Label:
    """A candidate, or what became of it.

    ``pages`` are the ids of the pages that answer the question: first those that were cited, then
    those that the reviewer named. ``question`` is empty until it is accepted: its words belong to
    its asker until then. ``groups`` are principals who together may read those pages. ``public``:
    every colleague can read where the question was asked.
    """

    key: LabelKey
    truth: Truth
    state: LabelState
    created_at: datetime
    pages: tuple[str, ...] = ()
    question: str = ""
    groups: tuple[str, ...] = ()
    public: bool = False
    decided_by: str = ""
    decided_at: datetime | None = None

    @property
    def question_id(self) -> str:
        """The id of the question in the operator's file."""
        return f"{FROM_USE}{self.key.interaction_id}"


FROM_USE = "use-"
"""Prefix of the ids of labels in the operator's file; all other lines are the operator's own."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An act that says something about an answer; ``pages`` are those that it names itself."""

    key: LabelKey
    truth: Truth
    at: datetime
    pages: tuple[str, ...] = ()


class Labels(Protocol):
    """The labels in the record. Raises StoreUnavailable."""

    async def proposals(
        self, tenant: str, after: datetime, until: datetime, limit: int
    ) -> Sequence[Proposal]:
        """Return the votes, reopened cases, verdicts and kept answers of a time, oldest first.

        ``after`` and ``until`` are included.
        """
        ...

    async def sampled(
        self, tenant: str, since: datetime, until: datetime, count: int
    ) -> Sequence[InteractionId]:
        """Return the same ``count`` answers of a span at each call, drawn regardless of content."""
        ...

    async def propose(self, tenant: str, found: Sequence[Label]) -> None:
        """Keep candidates, also in place of an earlier one; what is decided stays as it is."""
        ...

    async def find(
        self, tenant: str, state: LabelState, *, limit: int, before: datetime | None = None
    ) -> Sequence[Label]:
        """Return labels, newest first: those created before a time, or all."""
        ...

    async def get(self, tenant: str, key: LabelKey) -> Label | None: ...

    async def decide(self, tenant: str, label: Label) -> bool:
        """Accept or reject a candidate; return False if another decision was made before."""
        ...

    async def accepted(
        self, tenant: str, since: datetime | None = None, until: datetime | None = None
    ) -> Sequence[Label]:
        """Return the labels that were accepted in a time, or all, oldest first."""
        ...
