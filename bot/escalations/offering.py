"""What people, and the asker, are shown of a case, and what they are offered to do; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.escalations.finding import Finding
from bot.escalations.life import called
from bot.escalations.types import Act, Case, CaseStep, State, Step
from bot.escalations.view import CaseView

HISTORY: Mapping[Step, str] = {
    "open": "asked",
    "claim": "claimed it",
    "release": "released it",
    "reply": "replied",
    "resolve": "resolved it",
    "decline": "declined it",
    "reopen": "reopened it",
    "ping": "People were reminded",
}
"""What somebody did, as those who answer read it; what follows their name."""


THEN: Mapping[Step, State] = {
    "claim": "claimed",
    "reply": "answered",
    "resolve": "resolved",
    "decline": "declined",
    "reopen": "reopened",
}
"""How a case stands after a step that its asker is told of."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something to do, as it is written on a button; ``first``: it is what is usually done."""

    act: Act
    label: str
    first: bool = False


_REPLY = Offer("reply", "Reply")
_RESOLVE = Offer("resolve", "Resolve")
_DECLINE = Offer("decline", "Not for us")
_RELEASE = Offer("release", "Release")
_WAITING = (Offer("claim", "Claim", first=True), _REPLY, _RESOLVE, _DECLINE)
_PEOPLES: Mapping[State, tuple[Offer, ...]] = {
    "open": _WAITING,
    "reopened": _WAITING,
    "claimed": (Offer("reply", "Reply", first=True), _RESOLVE, _DECLINE, _RELEASE),
    "answered": (Offer("reply", "Reply again"), _RESOLVE, _RELEASE),
}

_NO_LONGER = Offer("resolve", "I no longer need it")
_AGAIN = Offer("reopen", "Ask again")
_ASKERS: Mapping[State, tuple[Offer, ...]] = {
    "open": (_NO_LONGER,),
    "reopened": (_NO_LONGER,),
    "claimed": (_NO_LONGER,),
    "answered": (Offer("resolve", "This helped, close it"), _AGAIN),
    "resolved": (_AGAIN,),
    "declined": (_AGAIN,),
}

_STANDS: Mapping[State, str] = {
    "open": "Waits for somebody",
    "reopened": "Opened again, nobody has it",
    "claimed": "Claimed",
    "answered": "Answered",
    "resolved": "Resolved",
    "declined": "Declined",
}


def peoples_offers(state: State) -> tuple[Offer, ...]:
    """Return what a card that several people see offers; it does not know who looks at it."""
    return _PEOPLES.get(state, ())


def askers_offers(state: State) -> tuple[Offer, ...]:
    """Return what the asker is offered."""
    return _ASKERS.get(state, ())


def pages_heading(finding: Finding) -> str:
    """Say what the pages on a card are: what an answer quoted, or what was only found."""
    if finding.gate == "passed":
        return "Pages of the answer that was given"
    if finding.gate == "unsure":
        return "Pages of the guess that was shown"
    return "Pages found (not confirmed)"


def stands(view: CaseView) -> str:
    """Say how a case stands and by whom: "Claimed by Anna Lopez"."""
    case = view.case
    state = case.standing.state
    last = last_act(view.steps)
    if state == "resolved" and last is not None and last.actor and last.actor.role == "asker":
        return "Closed by the one who asked"
    by = f" by {called(case.standing.owner_name)}" if case.standing.owner_id else ""
    return f"{_STANDS[state]}{by}"


def since(case: Case) -> datetime:
    """Return since when a case is as it is; one that was released still waits since it came."""
    return case.opened_at if case.standing.state == "open" else case.changed_at


def acts(steps: Sequence[CaseStep]) -> tuple[CaseStep, ...]:
    """Return what people and the asker did, oldest first; that it was asked is none of it."""
    return tuple(step for step in steps if step.step not in {"open", "ping"})


def last_act(steps: Sequence[CaseStep]) -> CaseStep | None:
    """Return what somebody did last; None while nobody did anything but ask."""
    return next(reversed(acts(steps)), None)
