"""Protocols of escalations: cases in the record, outbox of notices, channels that show them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from bot.domain.cases import Act, Actor, Case, CaseQuery, CaseStep, Notice
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Message
from bot.escalations.case_view import CaseView
from rag.types import Principal


class Cases(Protocol):
    """The cases in the record. Raises bot.domain.errors.StoreUnavailable."""

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case:
        """Do what the rules allow: change, history and notices in one transaction.

        What is so already is no error and adds nothing (the same reply twice is two replies);
        new words with it are refused, for nobody would read them.
        Raises InteractionUnknown, EscalationTaken, ActRefused.
        """
        ...

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None: ...

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        """Return the cases in the query's order; ``after`` is where a page ended."""
        ...

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        """Return the history, oldest first; empty where there is no such case."""
        ...


class SeesCases(Protocol):
    """Shows a case within what a reader may read: bot.escalations.casework.Casework."""

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        """Return a case; without any page while the index can't be asked.

        Raises InteractionUnknown, StoreUnavailable.
        """
        ...

    async def bare(self, tenant: str, case_id: InteractionId) -> CaseView:
        """Return how a case stands and its history, without any page: quickly.

        Raises InteractionUnknown, StoreUnavailable.
        """
        ...


class Outbox(Protocol):
    """What is still to be told, and which process tells it. Raises StoreUnavailable."""

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        """Claim notices that are due, oldest first; nobody else gets them for a minute.

        Of one case to the same reader only the first that is not settled. ``attempts`` is how
        often it was claimed before: one of these may have got through.
        """
        ...

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        """Note that it was told; None where the asker's own page shows it."""
        ...

    async def later(self, notice: Notice, at: datetime) -> None:
        """Note an attempt that failed, and when to try again."""
        ...

    async def failed(self, notice: Notice, why: str) -> None:
        """Give up; ``why`` is for the operator."""
        ...

    async def remind(self, now: datetime) -> int:
        """Write a ping to people for every case that waited too long; return how many."""
        ...


@runtime_checkable
class Tells(Protocol):
    """Optional capability of a channel: tell an asker more, in the thread of the question."""

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post a notice. Raises bot.domain.errors.DeliveryFailed, DeliveryRefused."""
        ...

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Look up what an earlier attempt posted; None where a platform can't be asked."""
        ...


@runtime_checkable
class AsksPeople(Protocol):
    """Optional capability of a channel: a place where people are reminded of what waits."""

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder; None where no such place is configured. Raises DeliveryFailed."""
        ...


@runtime_checkable
class ShowsCases(Protocol):
    """Optional capability of a channel: what it shows of a case is kept as the case stands."""

    async def show(self, message: Message, view: CaseView) -> None:
        """Bring what is posted about a question up to date; nothing where nothing is posted.

        ``view`` holds what everyone may read. Called after every step, once for several that came
        quickly, and again after a failure. Raises DeliveryFailed, DeliveryRefused.
        """
        ...


@runtime_checkable
class LinksBack(Protocol):
    """Optional capability of a channel: the address at which a question can be opened."""

    async def link(self, message: Message) -> str | None:
        """Return it; None for what others can't open. Raises bot.domain.errors.DeliveryFailed."""
        ...
