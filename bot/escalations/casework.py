"""What those who answer do and see: the one way to an escalation for every platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import structlog

from bot.errors import ActRefused, InteractionUnknown
from bot.escalations.finding import (
    exchange_of,
    finding_of,
    leaned_on,
    searched,
)
from bot.escalations.ports import Cases
from bot.escalations.reading import Readable, Sight, named_in
from bot.escalations.types import Act, Actor, Case
from bot.escalations.view import CaseView
from bot.types import Interaction, InteractionId
from rag.errors import RagError
from rag.types import Principal

__all__ = ["LONGEST_REPLY", "CaseView", "Casework", "Exchanges", "checked"]

LONGEST_REPLY = 4000
"""Characters of what somebody says with an act."""

_BEFORE = 5
"""Earlier exchanges that are shown at most."""
_SAYS_NOTHING: frozenset[Act] = frozenset({"claim", "release"})

log = structlog.get_logger(__name__)


class Exchanges(Protocol):
    """The record of what was asked and answered. Raises bot.errors.StoreUnavailable."""

    async def get(self, interaction_id: InteractionId) -> Interaction | None: ...


class Casework:
    """Acts on escalations and shows them."""

    def __init__(self, *, cases: Cases, interactions: Exchanges, readable: Readable) -> None:
        self._cases = cases
        self._interactions = interactions
        self._readable = readable

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case:
        """Do what the rules allow; ``text`` is the reply or the reason, plain text.

        Raises InteractionUnknown, EscalationTaken, ActRefused; the latter two are worded for the
        one who tried.
        """
        return await self._cases.act(tenant, case_id, act, actor, checked(act, text))

    async def view(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        """Return a case with what ``reader`` may read of what was found.

        Raises InteractionUnknown; rag.errors.IndexUnavailable while it can't be known what may be
        read.
        """
        case = await self._cases.get(tenant, case_id)
        escalated = None if case is None else await self._interactions.get(case_id)
        if case is None or escalated is None:
            raise _unknown(case_id)
        before = await self._before(escalated)
        explained = searched(escalated, before)
        found = [each for one in (explained, *before) for each in named_in(one)]
        seen = Sight(await self._readable.readable(tenant, found, reader))
        return CaseView(
            case=case,
            steps=tuple(await self._cases.steps(tenant, case_id)),
            finding=finding_of(explained, seen),
            before=tuple(exchange_of(each, seen) for each in before),
        )

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        """Return a case as ``view`` does, without any page while the index can't be asked.

        People wait, whether the index is there or not. Raises InteractionUnknown.
        """
        try:
            return await self.view(tenant, case_id, reader)
        except RagError as error:
            log.warning("escalation.index_unavailable", why=str(error))
        return await self.bare(tenant, case_id)

    async def bare(self, tenant: str, case_id: InteractionId) -> CaseView:
        """Return how a case stands and its history; no page, and nothing that was said before.

        Raises InteractionUnknown.
        """
        case = await self._cases.get(tenant, case_id)
        if case is None:
            raise _unknown(case_id)
        steps = await self._cases.steps(tenant, case_id)
        return CaseView(case=case, steps=tuple(steps), finding=None, before=())

    async def _before(self, escalated: Interaction) -> Sequence[Interaction]:
        """Return what the question leaned on, and what that did, oldest first.

        Of whoever asked it alone: what others said in the same thread is not theirs to hand on,
        and a personal chat is one thread with all that its owner ever asked.
        """
        found: dict[InteractionId, Interaction] = {}
        wanted = list(leaned_on(escalated))
        while wanted and len(found) < _BEFORE:
            each = await self._interactions.get(wanted.pop())
            if each is not None and each.id not in found and _belongs(each, escalated):
                found[each.id] = each
                wanted = [*leaned_on(each), *wanted]
        return sorted(found.values(), key=lambda each: each.number)


def _belongs(each: Interaction, escalated: Interaction) -> bool:
    earlier, asked = each.message, escalated.message
    same = (earlier.thread, earlier.author.id) == (asked.thread, asked.author.id)
    return same and not each.withdrawn


def _unknown(case_id: InteractionId) -> InteractionUnknown:
    return InteractionUnknown(f"There is no escalation {case_id!r}. It may be withdrawn.")


def checked(act: Act, text: str) -> str:
    """Return what is said with an act, without space around it. Raises ActRefused."""
    if act in _SAYS_NOTHING:
        return ""
    said = text.strip()
    if len(said) > LONGEST_REPLY:
        raise ActRefused(
            f"That is {len(said):,} characters; {LONGEST_REPLY:,} can be sent at once. Shorten it, "
            "or send it in parts."
        )
    if not said and act == "reply":
        raise ActRefused("The reply is empty. Write what the asker should read.")
    if not said and act == "decline":
        raise ActRefused("Say why it is not for you; the asker is told.")
    return said
