"""Protocols of escalations: cases in the record, outbox of notices, channels that show them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    CaseQuery,
    CaseStep,
    Notice,
)
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message, Thread
from bot.escalations.case_view import CaseView


class Cases(Protocol):
    """The cases in the record. Raises bot.domain.errors.StoreUnavailable."""

    async def act(
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        """Apply an act if allowed: change, history and notices in one transaction.

        An act without effect is no error and adds nothing (a repeated reply is a new reply); new
        text with it is refused, because nobody would read it. Raises InteractionUnknown,
        EscalationTaken, ActRefused.
        """
        ...

    async def join(
        self,
        tenant: str,
        case_id: InteractionId,
        lead_id: InteractionId,
        actor: Actor,
        shared_with: frozenset[InteractionId] = frozenset(),
    ) -> Case:
        """Join a case, with those that joined it, to another of the same question.

        From now on both are answered at once; what was answered already is told its asker.
        ``shared_with`` are the cases to whose askers those answers may go: if one is left out, the
        case is refused. Raises as ``act``.
        """
        ...

    async def split(self, tenant: str, case_id: InteractionId, actor: Actor) -> Case:
        """Make a joined case one of its own, which waits for people. Raises as ``act``."""
        ...

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None: ...

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        """Return the cases in the query's order; ``after`` is the last case of the page before."""
        ...

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        """Return the history, oldest first; empty where there is no such case."""
        ...

    async def experts(self, tenant: str) -> Sequence[Actor]:
        """Return the experts who had or acted on a case, by name; 200 at most."""
        ...

    async def open_in(self, thread: Thread) -> Sequence[Case]:
        """Return the cases of a thread's questions that are not settled, newest first."""
        ...


class Outbox(Protocol):
    """Queue of notices, with a lease per process. Raises StoreUnavailable."""

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        """Claim due notices, oldest first, for a minute.

        Of one case and recipient only the first unsettled one. ``attempts`` is the number of
        earlier claims: one of them may have been delivered.
        """
        ...

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        """Record a delivery; ``ref`` is None if the asker's own page shows the notice."""
        ...

    async def later(self, notice: Notice, at: datetime) -> None:
        """Record a failed attempt, and the time of the next."""
        ...

    async def failed(self, notice: Notice, why: str) -> None:
        """Give up a notice; ``why`` is for the operator."""
        ...

    async def remind(self, now: datetime) -> int:
        """Write a reminder for every case that waited too long; return how many.

        The question to the second level counts as one.
        """
        ...

    async def posted(self, case_id: InteractionId, number: int) -> PostedRef | None:
        """Return where the asker's notice of a step was posted; None if it was not."""
        ...


@runtime_checkable
class Tells(Protocol):
    """Optional capability of a channel: post notices to an asker in the question's thread."""

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post a notice. Raises bot.domain.errors.DeliveryFailed, DeliveryRefused."""
        ...

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        """Return what an earlier attempt posted; None if not found or not searchable."""
        ...


@runtime_checkable
class Revises(Protocol):
    """Optional capability of a channel: edit a posted notice; without it a new one is posted."""

    async def revise(
        self, message: Message, notice: Notice, at: PostedRef, remark: str
    ) -> PostedRef:
        """Replace what was posted by ``notice``, with a remark of ours below; idempotent.

        Raises bot.domain.errors.DeliveryFailed, DeliveryRefused.
        """
        ...


@runtime_checkable
class AsksPeople(Protocol):
    """Optional capability of a channel: post reminders in an experts' channel."""

    async def remind(self, case: Case, notice: Notice) -> PostedRef | None:
        """Post a reminder; None if no experts' channel is configured. Raises DeliveryFailed.

        It tells of an assignment, too. The step "second_level" goes to the second level's channel.
        """
        ...


@runtime_checkable
class PostsCards(Protocol):
    """Optional capability of a channel: post the card of a case outside of its reply's delivery."""

    async def card_of(self, message: Message) -> PostedRef | None:
        """Return where a question's card is, with an empty id if that is not known."""
        ...

    async def ask_people(self, delivery: Delivery) -> bool:
        """Post the card of a question; False if it is refused. Raises DeliveryFailed."""
        ...


@runtime_checkable
class ShowsCases(Protocol):
    """Optional capability of a channel: keep the cards of a case up to date."""

    async def show(self, message: Message, view: CaseView) -> None:
        """Update what is posted about a case; do nothing if nothing is.

        ``view`` holds what everyone may read. Called after every step, once for several in quick
        succession, and again after a failure. Raises DeliveryFailed, DeliveryRefused.
        """
        ...


@runtime_checkable
class LinksBack(Protocol):
    """Optional capability of a channel: return the link to a question's message."""

    async def link(self, message: Message) -> str | None:
        """Return the URL; None if others can't open it. Raises bot.domain.errors.DeliveryFailed."""
        ...
