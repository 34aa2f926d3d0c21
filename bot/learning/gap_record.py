"""What the record keeps of gaps for the job that follows it: the values, and the port."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId, Message
from bot.learning.gaps import GapQuestion


@dataclass(frozen=True, slots=True)
class FollowedQuestion:
    """An interaction in the order of arrival; ``candidate``: it may be, or be about, a gap's."""

    number: int
    id: InteractionId
    asked_at: datetime
    finished: bool
    candidate: bool


@dataclass(frozen=True, slots=True)
class VotedDown:
    """A thumb down on a question that is in no gap."""

    id: InteractionId
    given_at: datetime


@dataclass(frozen=True, slots=True)
class GroupedQuestion:
    """A question to group: its gap so far, that gap's state ("" for none), and its vector."""

    id: InteractionId
    gap: str | None
    state: str
    vector: bytes


class GapRecord(Protocol):
    """The record of gaps, as the job needs it. Raises StoreUnavailable."""

    async def follow(
        self, tenant: str, after: int, waiting: Collection[int], limit: int
    ) -> Sequence[FollowedQuestion]:
        """Return those ``waiting``, and ``limit`` interactions after a number, in order."""
        ...

    async def voted_down(self, tenant: str, since: datetime, limit: int) -> Sequence[VotedDown]:
        """Return thumbs down since a time on questions that are in no gap, in order."""
        ...

    async def asked(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, Interaction]:
        """Return interactions by id, without withdrawn ones."""
        ...

    async def asked_before(self, message: Message, text: str) -> InteractionId | None:
        """Return the newest other question in a message's thread with exactly this text."""
        ...

    async def with_words(self, tenant: str, question: str) -> str | None:
        """Return a gap that has a question in exactly these words."""
        ...

    async def attach(self, question: GapQuestion, gap: str, *, opened: bool) -> bool:
        """Add a question to a gap, ``opened`` for it; return whether it was in none.

        A closed gap is reopened by it. A question that is in a gap stays there.
        """
        ...

    async def without_vector(
        self, tenant: str, embedder: str, limit: int
    ) -> Sequence[tuple[InteractionId, str]]:
        """Return questions, with their words, that have no vector of an embedder."""
        ...

    async def set_vectors(self, embedder: str, vectors: Mapping[InteractionId, bytes]) -> None: ...

    async def grouped(self, tenant: str, embedder: str, limit: int) -> Sequence[GroupedQuestion]:
        """Return the newest questions that count and have a vector of an embedder."""
        ...

    async def move(
        self, tenant: str, moves: Mapping[str, Collection[str]], opened: Collection[str]
    ) -> None:
        """Move questions to gaps, of which ``opened`` are new."""
        ...

    async def tidy(self, tenant: str) -> None:
        """Reopen closed gaps with newer questions; delete gaps without any that nobody took."""
        ...

    async def of_unknown_place(self, tenant: str, limit: int) -> Sequence[InteractionId]:
        """Return questions whose platform could not say whether they were asked publicly."""
        ...

    async def set_public(self, interaction_id: InteractionId, *, public: bool) -> None: ...
