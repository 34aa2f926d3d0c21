"""State machine of an escalation: who may do what, the state after it, and who is told.

Pure. ``after`` is the one way from a status to the next; a refusal is worded for whoever tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, assert_never

from bot.domain.cases import Act, Actor, CaseStatus, State
from bot.domain.errors import ActRefused, EscalationTaken
from bot.domain.text.markdown import clip

WAITING: frozenset[State] = frozenset({"open", "reopened"})
"""Nobody has it; people are reminded of it."""

OWNED: frozenset[State] = frozenset({"claimed", "answered"})
"""Somebody has it, and nobody else may act for them."""

UNSETTLED: frozenset[State] = WAITING | OWNED
"""Somebody still waits for something; it is never forgotten."""

SETTLED: frozenset[State] = frozenset({"resolved", "declined"})
"""It is over, until somebody reopens it. The owner is the one who had it last."""

NoticeAudience = Literal["asker", "people"]
"""Who is told: the asker in the thread of the question, people where people are asked."""

ASKERS_ACTS: frozenset[Act] = frozenset({"resolve", "reopen"})
"""What the asker may do; everything else is for those who answer."""

UNNAMED_PERSON = "Somebody at the help desk"
"""How a person without a name is called."""

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ReminderSchedule:
    """When people are reminded of what nobody has claimed, and how often at most.

    ``after`` zero: never. Between two reminders it is as long as before the first.
    """

    after: timedelta = timedelta(minutes=30)
    most: int = 3

    def due(self, now: datetime, pings: int = 0) -> datetime | None:
        """Return when they are reminded next, None for not any more."""
        return now + self.after if self.after and pings < self.most else None


def after(standing: CaseStatus, act: Act, actor: Actor, *, is_asker: bool) -> CaseStatus:
    """Return how it stands after an act; the same where that is so already.

    Raises EscalationTaken where another person has it, ActRefused where it can't be done; either
    is worded for the one who tried.
    """
    _admit(act, actor, is_asker=is_asker)
    match act:
        case "claim":
            return _claimed(standing, actor)
        case "release":
            return _released(standing, actor)
        case "reply":
            return _answered(standing, actor)
        case "resolve":
            return _resolved(standing, actor, is_asker=is_asker)
        case "decline":
            return _declined(standing, actor)
        case "reopen":
            return _reopened(standing, actor)
        case _:
            assert_never(act)


def is_change(act: Act, before: CaseStatus, then: CaseStatus) -> bool:
    """Tell whether an act is anything new; the same reply twice is two replies."""
    return act == "reply" or before != then


def recipients_of(act: Act, *, is_asker: bool) -> tuple[NoticeAudience, ...]:
    """Return who is told of an act: people always; the asker not of what they did themselves."""
    return ("people",) if is_asker or act == "release" else ("asker", "people")


def display_name(name: str) -> str:
    """Return a person's name as it is shown, on one line."""
    return clip(name, _LONGEST_NAME) or UNNAMED_PERSON


def _admit(act: Act, actor: Actor, *, is_asker: bool) -> None:
    if not actor.id:
        raise ActRefused("It is not known who you are. Sign in, and try again.")
    if actor.role == "expert":
        return
    if not is_asker:
        raise ActRefused("Only the one who asked, and those who answer, can do this.")
    if act not in ASKERS_ACTS:
        raise ActRefused(
            "Only those who answer can do this. You can close your question, or reopen it."
        )


def _claimed(standing: CaseStatus, actor: Actor) -> CaseStatus:
    _unsettled(standing)
    _not_anothers(standing, actor)
    return _owned("claimed", actor) if standing.state in WAITING else standing


def _released(standing: CaseStatus, actor: Actor) -> CaseStatus:
    _unsettled(standing)
    _not_anothers(standing, actor)
    return standing if standing.state in WAITING else CaseStatus("open")


def _answered(standing: CaseStatus, actor: Actor) -> CaseStatus:
    _unsettled(standing)
    _not_anothers(standing, actor)
    return _owned("answered", actor)


def _resolved(standing: CaseStatus, actor: Actor, *, is_asker: bool) -> CaseStatus:
    if standing.state == "resolved":
        return standing
    _unsettled(standing)
    if is_asker:
        return replace(standing, state="resolved")
    _not_anothers(standing, actor)
    return _owned("resolved", actor)


def _declined(standing: CaseStatus, actor: Actor) -> CaseStatus:
    if standing.state == "declined":
        return standing
    _unsettled(standing)
    _not_anothers(standing, actor)
    if standing.state == "answered":
        raise ActRefused("You have answered it already. Resolve it, or release it for others.")
    return _owned("declined", actor)


def _reopened(standing: CaseStatus, actor: Actor) -> CaseStatus:
    if standing.state in WAITING:
        return standing
    if standing.state == "claimed":
        raise ActRefused(_why_not_reopened(standing, actor))
    return CaseStatus("reopened")


def _why_not_reopened(standing: CaseStatus, actor: Actor) -> str:
    owner = display_name(standing.owner_name)
    if actor.has(standing.owner_id):
        return "You have it. Release it if somebody else should take it."
    if actor.role == "asker":
        return (
            f"{owner} has your question and has not answered yet. Close it if you no longer need "
            "an answer."
        )
    return f"{owner} has it and has not answered yet. Ask them to release it."


def _owned(state: State, actor: Actor) -> CaseStatus:
    return CaseStatus(state, actor.id, actor.name)


def _unsettled(standing: CaseStatus) -> None:
    if standing.state in SETTLED:
        by = f" by {display_name(standing.owner_name)}" if standing.owner_id else ""
        raise ActRefused(f"It was {standing.state}{by} already. Reopen it first.")


def _not_anothers(standing: CaseStatus, actor: Actor) -> None:
    if standing.state in OWNED and not actor.has(standing.owner_id):
        owner = display_name(standing.owner_name)
        raise EscalationTaken(
            f"{owner} has it already. Leave it to them, or ask them to release it.",
            owner_name=owner,
        )
