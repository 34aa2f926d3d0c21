"""State machine of an escalation: permitted acts, the resulting state, and the recipients.

Pure. ``after`` is the only state transition; a refusal is worded for the actor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, assert_never

from bot.domain.cases import Act, Actor, Case, CaseStatus, State
from bot.domain.errors import ActRefused, EscalationTaken
from bot.domain.markdown import clip
from bot.domain.texts import tr

WAITING: frozenset[State] = frozenset({"open", "reopened"})
"""Unclaimed; people are reminded."""

OWNED: frozenset[State] = frozenset({"claimed", "answered"})
"""Claimed by an expert; no other expert may act."""

UNSETTLED: frozenset[State] = WAITING | OWNED
"""Somebody still has to act; never deleted."""

SETTLED: frozenset[State] = frozenset({"resolved", "declined"})
"""Closed until reopened. The owner is the last one."""

NoticeAudience = Literal["asker", "people"]
"""Recipients of a notice: the asker in the question's thread, people in the experts' channel."""

CONSENTS: frozenset[Act] = frozenset({"show_more", "keep_more"})
"""The asker's answers to a request to see more; nobody else can give them."""

MORE_ACTS: frozenset[Act] = CONSENTS.union({"ask_more", "see_more"})
"""Acts on what the asker wrote before (bot.escalations.showing_more has their order)."""

ASKERS_ACTS: frozenset[Act] = CONSENTS.union({"resolve", "reopen"})
"""Acts allowed to the asker; all others are for experts."""

LEAVING_ACTS = ASKERS_ACTS - CONSENTS
"""Acts of an asker by which their case is no longer one with others of the same question."""

ANSWERING_ACTS: frozenset[Act] = frozenset({"reply", "resolve", "decline"})
"""Acts whose words go to nobody else if another asker may not read them: the others wait on."""

AMONG_EXPERTS: frozenset[Act] = frozenset({"assign", "note"})
"""Acts whose words no asker reads."""

ONE_CASE_ACTS: frozenset[Act] = MORE_ACTS.union({"note"})
"""Acts on one case alone, of several of the same question."""

REPEATABLE_ACTS: frozenset[Act] = MORE_ACTS.union({"reply", "note", "amend", "retract"})
"""Acts that may change something although the status stays."""

AFTERTHOUGHTS: frozenset[Act] = REPEATABLE_ACTS - {"reply"}
"""Acts that leave what people are still to be told as it is."""

EXPERTS_ONLY: frozenset[Act] = frozenset({"release", "note", "see_more"})
"""Acts of which the asker is not told."""

UNNAMED_PERSON = tr("Someone at the help desk")
"""Shown instead of an empty name."""

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ReminderSchedule:
    """Delay and maximum number of reminders of unclaimed cases, and other times of a case.

    ``after`` zero: never. The interval between reminders equals the delay before the first.
    ``second_level`` is how long a case waits before the second level is asked; zero: never.
    ``joins_within`` is how long the same question joins a case; zero: never.
    """

    after: timedelta = timedelta(minutes=30)
    most: int = 3
    second_level: timedelta = timedelta()
    joins_within: timedelta = timedelta()

    def due(self, now: datetime, pings: int = 0) -> datetime | None:
        """Return the time of the next reminder, None for no more."""
        return now + self.after if self.after and pings < self.most else None


def after(
    status: CaseStatus, act: Act, actor: Actor, *, is_asker: bool, to: Actor | None = None
) -> CaseStatus:
    """Return the status after an act; unchanged if the act has no effect.

    ``to`` is the colleague to whom ``assign`` gives the case; that a reply to amend or retract is
    the actor's own is for the record to check.

    Raises EscalationTaken if another person owns the case, ActRefused if the state does not allow
    the act; both are worded for the actor.
    """
    _admit(act, actor, is_asker=is_asker)
    match act:
        case "note" | "amend":
            return status
        case "ask_more" | "see_more" | "show_more" | "keep_more":
            _check_more(status, act, actor, is_asker=is_asker)
            return status
        case "reply":
            return _answered(status, actor)
        case "resolve":
            return _resolved(status, actor, is_asker=is_asker)
        case "reopen":
            return _reopened(status, actor)
        case _:
            return _after_experts_act(status, act, actor, to)


def _after_experts_act(
    status: CaseStatus,
    act: Literal["claim", "release", "assign", "retract", "decline"],
    actor: Actor,
    to: Actor | None,
) -> CaseStatus:
    match act:
        case "claim":
            return _claimed(status, actor)
        case "release":
            return _released(status, actor)
        case "assign":
            return _assigned(status, actor, to)
        case "retract":
            return _retracted(status, actor)
        case "decline":
            return _declined(status, actor)
        case _:
            assert_never(act)


def is_change(act: Act, before: CaseStatus, then: CaseStatus) -> bool:
    """Return whether an act changes anything; a repeated reply or note is a new one."""
    return act in REPEATABLE_ACTS or before != then


def recipients_of(act: Act, *, is_asker: bool) -> tuple[NoticeAudience, ...]:
    """Return the recipients of an act's notice: people always, the asker unless they acted.

    The question that an asker consents to or not is edited where they were asked.
    """
    silent = is_asker and act not in CONSENTS
    return ("people",) if silent or act in EXPERTS_ONLY else ("asker", "people")


def check_grouping(actor: Actor) -> None:
    """Check that somebody may join and part cases. Raises ActRefused."""
    _admit("assign", actor, is_asker=False)


def check_join(case: Case, lead: Case, actor: Actor) -> None:
    """Check that a case can join another. Raises ActRefused, EscalationTaken."""
    if case.interaction_id == lead.interaction_id:
        raise ActRefused(tr("That is the same case. Choose another one."))
    for each in (case, lead):
        if each.joined_to:
            raise ActRefused(tr("It is already joined to another case. Separate it first."))
    if not case.join_scope or case.join_scope != lead.join_scope:
        raise ActRefused(
            tr(
                "One answer can't go to both: guests asked, or they were asked in different "
                "places, or other experts are asked. Answer each by itself."
            )
        )
    if lead.status.state in SETTLED:
        raise ActRefused(tr("The other case is closed. Reopen it first."))
    _check_owner(case.status, actor)


def check_split(case: Case) -> None:
    """Check that a case can be one of its own again. Raises ActRefused."""
    if not case.joined_to:
        raise ActRefused(tr("It is already a case of its own."))


_NAMELESS: Mapping[str, str] = {
    "Help desk": tr("Help desk"),
    "The help desk": tr("The help desk"),
}
"""What the board and the API keep as the name of an expert without one, for display."""


def display_name(name: str) -> str:
    """Return a person's name for display, on one line and clipped."""
    shown = clip(name, _LONGEST_NAME)
    return _NAMELESS.get(shown) or shown or UNNAMED_PERSON


def _admit(act: Act, actor: Actor, *, is_asker: bool) -> None:
    if not actor.id:
        raise ActRefused(tr("You are not signed in. Sign in and try again."))
    if actor.role == "expert":
        return
    if not is_asker:
        raise ActRefused(tr("Only the asker and the experts can do this."))
    if act not in ASKERS_ACTS:
        raise ActRefused(tr("Only experts can do this. You can close or reopen your question."))


def _check_more(status: CaseStatus, act: Act, actor: Actor, *, is_asker: bool) -> None:
    """Raise ActRefused unless the asker answers a request, or who has the case asks or looks."""
    if act in CONSENTS:
        if not is_asker:
            raise ActRefused(tr("Only the asker can decide that."))
        return
    if is_asker:
        raise ActRefused(tr("You asked this yourself, so there is nothing to ask for."))
    _check_owner(status, actor)
    if status.state not in OWNED:
        raise ActRefused(tr("Claim it first: only its owner can see more, if the asker agrees."))


def _claimed(status: CaseStatus, actor: Actor) -> CaseStatus:
    _check_owner(status, actor)
    return _owned("claimed", actor) if status.state in WAITING else status


def _released(status: CaseStatus, actor: Actor) -> CaseStatus:
    _check_owner(status, actor)
    return status if status.state in WAITING else CaseStatus("open")


def _assigned(status: CaseStatus, actor: Actor, to: Actor | None) -> CaseStatus:
    _check_owner(status, actor)
    if to is None or not to.id:
        raise ActRefused(tr("Choose who it should be assigned to."))
    if status.state in OWNED and to.has(status.owner_id):
        return status
    return _owned("claimed", to)


def _retracted(status: CaseStatus, actor: Actor) -> CaseStatus:
    """Return "claimed" for an answered case of the actor: its answer is gone."""
    own = status.state == "answered" and actor.has(status.owner_id)
    return replace(status, state="claimed") if own else status


def _answered(status: CaseStatus, actor: Actor) -> CaseStatus:
    _check_owner(status, actor)
    return _owned("answered", actor)


def _resolved(status: CaseStatus, actor: Actor, *, is_asker: bool) -> CaseStatus:
    if status.state == "resolved":
        return status
    if is_asker:
        _unsettled(status)
        return replace(status, state="resolved")
    _check_owner(status, actor)
    return _owned("resolved", actor)


def _declined(status: CaseStatus, actor: Actor) -> CaseStatus:
    if status.state == "declined":
        return status
    _check_owner(status, actor)
    if status.state == "answered":
        raise ActRefused(tr("You have already answered it. Resolve it, or release it for others."))
    return _owned("declined", actor)


def _reopened(status: CaseStatus, actor: Actor) -> CaseStatus:
    if status.state in WAITING:
        return status
    if status.state == "claimed":
        raise ActRefused(_why_not_reopened(status, actor))
    return CaseStatus("reopened")


def _why_not_reopened(status: CaseStatus, actor: Actor) -> str:
    owner = display_name(status.owner_name)
    if actor.has(status.owner_id):
        return tr("It is assigned to you. Release it if someone else should take it.")
    if actor.role == "asker":
        return tr(
            "{who} is working on your question. Close it if you no longer need an answer.",
            who=owner,
        )
    return tr("{who} is working on it and has not replied yet. Ask them to release it.", who=owner)


def _owned(state: State, actor: Actor) -> CaseStatus:
    return CaseStatus(state, actor.id, actor.name)


def _check_owner(status: CaseStatus, actor: Actor) -> None:
    """Raise ActRefused for a settled case, EscalationTaken for one that another person owns."""
    _unsettled(status)
    if status.state in OWNED and not actor.has(status.owner_id):
        owner = display_name(status.owner_name)
        raise EscalationTaken(
            tr("It is assigned to {who}. Leave it to them or ask them to release it.", who=owner),
            owner_name=owner,
        )


def _unsettled(status: CaseStatus) -> None:
    if status.state in SETTLED:
        raise ActRefused(_already(status))


def _already(status: CaseStatus) -> str:
    who = display_name(status.owner_name)
    if status.state == "declined":
        if status.owner_id:
            return tr("{who} has already declined it. Reopen it first.", who=who)
        return tr("It has already been declined. Reopen it first.")
    if status.owner_id:
        return tr("{who} has already resolved it. Reopen it first.", who=who)
    return tr("It has already been resolved. Reopen it first.")
