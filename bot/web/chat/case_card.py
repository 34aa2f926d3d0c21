"""View model of the escalation card that the asker sees; no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from markupsafe import Markup

from bot.domain.cases import Case, CaseStep, State
from bot.domain.messages import InteractionId
from bot.domain.texts import changed, join_texts, tr
from bot.escalations.history import for_asker
from bot.escalations.lifecycle import OWNED, UNSETTLED, WAITING, display_name
from bot.escalations.showing_more import WANTS_MORE, request_in
from bot.web.pages.safe_html import plain_html

_HEADLINES: Mapping[State, str] = {
    "open": tr("Waiting for a person"),
    "resolved": tr("Closed"),
    "reopened": tr("Waiting for a person again"),
}
_CLOSE_LABELS: Mapping[State, str] = {
    "open": tr("No longer needed"),
    "claimed": tr("No longer needed"),
    "answered": tr("This helped, close it"),
    "reopened": tr("No longer needed"),
}
_REOPENED_FROM: frozenset[State] = frozenset({"answered", "resolved", "declined"})
_STEPS_INTO: Mapping[State, frozenset[str]] = {
    "open": frozenset({"open"}),
    "claimed": frozenset({"claim", "assign"}),
    "answered": frozenset({"reply"}),
    "resolved": frozenset({"resolve"}),
    "declined": frozenset({"decline"}),
    "reopened": frozenset({"reopen"}),
}
"""The steps that lead to each state."""


@dataclass(frozen=True, slots=True)
class CardEntry:
    """A message, or a note about an act; ``mine`` if it is the asker's."""

    name: str
    initial: str
    at: datetime
    html: Markup
    mine: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class CaseCard:
    """The state of a case and since when, its messages, and the asker's possible actions.

    ``wanted`` says who asks to see more of the conversation, by the step ``request``.
    """

    id: InteractionId
    version: int
    state: State
    headline: str
    since: datetime
    pings: int = 0
    said: tuple[CardEntry, ...] = ()
    close: str = ""
    can_reopen: bool = False
    wanted: str = ""
    request: int = 0
    trouble: str = field(default="", compare=False)

    @property
    def settled(self) -> bool:
        """Whether the state is final unless somebody acts."""
        return self.state not in UNSETTLED


def case_card(case: Case, steps: Sequence[CaseStep]) -> CaseCard:
    """Return the card of a case."""
    state = case.status.state
    steps = for_asker(steps)
    last = _last_change(steps, state)
    by = None if state in OWNED else last
    name = display_name(case.status.owner_name) if by is None else _name(by)
    request = request_in(steps)
    asked = request is not None and not request.allowed
    return CaseCard(
        id=case.interaction_id,
        version=case.version,
        state=state,
        headline=_headline(state, name),
        since=last.at if last is not None else case.changed_at,
        pings=case.pings if state in WAITING else 0,
        said=tuple(said for step in steps if (said := _card_entry(step)) is not None),
        close=_CLOSE_LABELS.get(state, ""),
        can_reopen=state in _REOPENED_FROM,
        wanted=join_texts(" ", (display_name(case.status.owner_name), WANTS_MORE)) if asked else "",
        request=request.number if request is not None and asked else 0,
    )


def _headline(state: State, name: str) -> str:
    match state:
        case "claimed":
            return tr("{name} is working on it", name=name)
        case "answered":
            return tr("{name} replied", name=name)
        case "declined":
            return tr("{name} can't help with this", name=name)
        case _:
            return _HEADLINES[state]


def _last_change(steps: Sequence[CaseStep], state: State) -> CaseStep | None:
    changed = (step for step in reversed(steps) if step.step in _STEPS_INTO[state])
    return next(changed, None)


def _card_entry(step: CaseStep) -> CardEntry | None:
    """Return the card's entry for a step; None for steps that only the headline shows."""
    match step.step:
        case "reply":
            return _entry_of(step)
        case "decline":
            return _entry_of(step) if step.text else None
        case "reopen":
            return _entry_of(step, note="" if step.text else _reopened(step))
        case "resolve":
            return _entry_of(step, note=_closed(step))
        case _:
            return None


def _reopened(step: CaseStep) -> str:
    if _is_asker(step):
        return tr("You asked again")
    return tr("{name} reopened it", name=_name(step))


def _closed(step: CaseStep) -> str:
    if _is_asker(step):
        return tr("You closed it")
    return tr("{name} closed it", name=_name(step))


def _entry_of(step: CaseStep, *, note: str = "") -> CardEntry:
    name = _name(step)
    return CardEntry(
        name=name,
        initial=changed(name, _initial),
        at=step.at,
        html=plain_html(step.text),
        mine=_is_asker(step),
        note=note,
    )


def _initial(name: str) -> str:
    return name[:1].upper()


def _name(step: CaseStep) -> str:
    return tr("You") if _is_asker(step) else display_name(step.actor.name if step.actor else "")


def _is_asker(step: CaseStep) -> bool:
    return step.actor is not None and step.actor.role == "asker"
