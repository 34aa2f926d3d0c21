"""The cases of one person: those they asked, and those they have as an expert."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.answering.visibility import offered_passages
from bot.domain.cases import Actor, Case, CaseQuery, State, expert_of
from bot.domain.handoff import question_of_person_request
from bot.domain.interactions import Interaction
from bot.domain.markdown import clip
from bot.domain.messages import InteractionId, Person, Platform
from bot.domain.outcomes import question_text
from bot.domain.texts import tr
from bot.escalations.case_view import platform_of
from bot.escalations.lifecycle import UNSETTLED, WAITING, display_name
from bot.escalations.ports import Cases

MOST_CASES = 20
"""Cases of each list; older ones are left out."""

_LONGEST_QUESTION = 150


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case in a list. ``link`` leads to the question where it was asked, "" for none.

    ``status`` is worded for who reads the list; ``since`` is when the case changed last.
    """

    case_id: InteractionId
    question: str
    status: str
    since: datetime
    link: str = ""


@dataclass(frozen=True, slots=True)
class OwnCases:
    """A person's cases, newest first.

    ``open`` and ``settled`` are their own questions, ``claimed`` those they have as an expert.
    ``waiting`` is how many cases nobody has, None for somebody who never had or answered one.
    """

    open: tuple[CaseLine, ...] = ()
    settled: tuple[CaseLine, ...] = ()
    claimed: tuple[CaseLine, ...] = ()
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class CaseFinder:
    """Finds a person's cases in the record. Raises StoreUnavailable.

    ``interaction`` returns the question of a case; ``link`` its address where it was asked, None
    if there is none.
    """

    tenant: str
    cases: Cases
    interaction: Callable[[InteractionId], Awaitable[Interaction | None]]
    link: Callable[[InteractionId], Awaitable[str | None]]

    async def of(self, platform: Platform, person: Person) -> OwnCases:
        """Return the cases of a person, who is named by the platform's own id.

        What they asked is found by that id; what they have as an expert also by their verified
        e-mail address, on whatever platform they claimed it.
        """
        expert = expert_of(platform, person)
        asked = [
            each
            for each in await self._newest(CaseQuery(asker_id=person.id, newest_first=True))
            if platform_of(each) == platform
        ]
        query = CaseQuery(states=UNSETTLED, owner_id=expert.id, newest_first=True, leading=True)
        claimed = await self._newest(query)
        settled = [each for each in asked if each.status.state not in UNSETTLED]
        return OwnCases(
            open=await self._lines([each for each in asked if each not in settled]),
            settled=await self._lines(settled),
            claimed=await self._lines(claimed),
            waiting=await self._waiting(expert),
        )

    async def _newest(self, query: CaseQuery) -> Sequence[Case]:
        return await self.cases.find(self.tenant, query, limit=MOST_CASES)

    async def _waiting(self, expert: Actor) -> int | None:
        """Return how many cases nobody has, up to MOST_CASES; None for who is no expert."""
        known = await self.cases.experts(self.tenant)
        if not any(expert.has(each.id) for each in known):
            return None
        return len(await self._newest(CaseQuery(states=WAITING, leading=True)))

    async def _lines(self, cases: Sequence[Case]) -> tuple[CaseLine, ...]:
        return tuple([await self._line(each) for each in cases])

    async def _line(self, case: Case) -> CaseLine:
        return CaseLine(
            case_id=case.interaction_id,
            question=clip(await self._question(case), _LONGEST_QUESTION),
            status=_status(case),
            since=case.changed_at,
            link=await self.link(case.interaction_id) or "",
        )

    async def _question(self, case: Case) -> str:
        """Return a question, but no option: that is a page's title, perhaps closed by now."""
        asked = await self.interaction(case.interaction_id)
        if asked is not None and asked.withdrawn:
            return WITHDRAWN
        about = question_of_person_request(asked.message) if asked else None
        before = await self.interaction(about) if about else None
        chosen = any(each is not None and offered_passages(each) for each in (asked, before))
        return CHOSEN if asked is None or chosen else question_text(case.question)


CHOSEN = tr("A question chosen from a list")
WITHDRAWN = tr("(withdrawn)")

_STATES: Mapping[State, str] = {
    "open": tr("waiting"),
    "reopened": tr("reopened, waiting"),
    "claimed": tr("claimed"),
    "answered": tr("answered"),
    "resolved": tr("resolved"),
    "declined": tr("declined"),
}


def _status(case: Case) -> str:
    """Return the state of a case, with its owner."""
    state = _STATES[case.status.state]
    if not case.status.owner_id:
        return state
    return tr("{state} by {who}", state=state, who=display_name(case.status.owner_name))
