"""Read a case's history: replies with their corrections, and what of it the asker may see. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.cases import ActDetail, Actor, CaseStep, Step

_INTERNAL: frozenset[Step] = frozenset(
    {"note", "second_level", "join", "split", "joined", "left", "lead"}
)
_CORRECTIONS: frozenset[Step] = frozenset({"amend", "retract"})


def standing_reply(steps: Sequence[CaseStep], number: int) -> CaseStep | None:
    """Return the reply of a number as it was corrected last; None if it was taken back."""
    said = next((each for each in steps if (each.number, each.step) == (number, "reply")), None)
    for each in steps:
        if said is None or each.detail.about != number or each.step not in _CORRECTIONS:
            continue
        said = None if each.step == "retract" else replace(said, text=each.text or said.text)
    return said


def own_reply(steps: Sequence[CaseStep], number: int, actor: Actor) -> bool:
    """Return whether the step of a number is a reply of this expert, taken back or not."""
    return any(
        (each.number, each.step) == (number, "reply") and each.actor and actor.has(each.actor.id)
        for each in steps
    )


def standing_replies(steps: Sequence[CaseStep]) -> tuple[CaseStep, ...]:
    """Return the experts' replies as they stand now, oldest first, without those taken back."""
    replies = (each for each in steps if each.step == "reply" and _by_expert(each))
    standing = (standing_reply(steps, each.number) for each in replies)
    return tuple(each for each in standing if each is not None)


def as_corrected(steps: Sequence[CaseStep]) -> tuple[CaseStep, ...]:
    """Return the history as those who answer see it: each reply has its present words alone.

    One that was taken back has none.
    """
    return tuple(_as_corrected(steps, each) for each in steps)


def _as_corrected(steps: Sequence[CaseStep], step: CaseStep) -> CaseStep:
    if step.step == "amend":
        return replace(step, text="")
    if step.step != "reply":
        return step
    return standing_reply(steps, step.number) or replace(step, text="")


def for_asker(steps: Sequence[CaseStep]) -> tuple[CaseStep, ...]:
    """Return the history as the asker may see it.

    Notes and the reason of an assignment are experts' alone; a corrected reply has its present
    words, and one that was taken back is left out.
    """
    return tuple(shown for each in steps if (shown := _for_asker(steps, each)) is not None)


def _for_asker(steps: Sequence[CaseStep], step: CaseStep) -> CaseStep | None:
    if step.step in _INTERNAL or step.step in _CORRECTIONS:
        return None
    if step.step == "reply":
        return standing_reply(steps, step.number)
    return replace(step, text="") if step.step == "assign" else step


def assignee_of(detail: ActDetail) -> str:
    """Return the name of the colleague to whom a case was given, "" for another act."""
    return detail.to.name if detail.to else ""


def _by_expert(step: CaseStep) -> bool:
    return step.actor is not None and step.actor.role == "expert"
