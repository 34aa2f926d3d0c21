"""Requests to see more of an asker's conversation: their order, and what is shown. Pure.

A request, its answer and the look are steps of the case. An agreement is for one request and one
look, and ends with the case, or when nobody has it any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.answering.permitted_views import EarlierExchange
from bot.domain.cases import Act, CaseStep, Notice, Step
from bot.domain.errors import ActRefused
from bot.domain.handoff import is_person_request
from bot.domain.interactions import Interaction
from bot.domain.texts import tr

MOST_SHOWN = 10
"""Maximum number of earlier exchanges that are shown."""

LOOKS_BACK = timedelta(days=7)
"""What was asked longer before the case's question is not shown."""

READ_FOR_IT = 30
"""Messages of a thread that are read to find the asker's own."""

_ENDS: frozenset[Step] = frozenset(
    {"keep_more", "see_more", "release", "resolve", "decline", "reopen"}
)
ANSWER_REMARKS: Mapping[Step, str] = {
    "show_more": tr("You agreed to show it."),
    "keep_more": tr("You said no, so it is not shown."),
}
"""What stands below a request once its asker has answered it."""

WANTS_MORE = tr(
    "would like to see what you asked me here before: your own questions of the last seven days, "
    "ten at most, with my answers. Nothing is shown unless you agree; then it is shown once, to "
    "the person handling your question."
)
"""Text after the expert's name, which asks for the asker's agreement."""

NOTHING_EARLIER = tr("They haven't asked anything here before, so there is nothing to request.")
INDEX_UNAVAILABLE = tr(
    "I can't check right now which answers you can read, so nothing is shown. "
    "Please try again in a minute."
)
_NOT_ASKED = tr("This request is no longer open, so nothing is shown.")
_NOT_ALLOWED = tr("There is nothing to show yet. Ask the asker first.")


@dataclass(frozen=True, slots=True)
class MoreRequest:
    """A request that stands: the number of its step, and whether the asker agreed."""

    number: int
    allowed: bool = False


def request_in(steps: Sequence[CaseStep]) -> MoreRequest | None:
    """Return the request that stands after a history; None without one."""
    found: MoreRequest | None = None
    for each in steps:
        if each.step == "ask_more":
            found = found or MoreRequest(each.number)
        elif each.step == "show_more" and found and found.number == each.detail.about:
            found = replace(found, allowed=True)
        elif each.step in _ENDS:
            found = None
    return found


def changes_request(steps: Sequence[CaseStep], act: Act, about: int) -> bool:
    """Return whether an act changes the request that stands; a repeated one does not.

    ``about`` is the request that an asker answers. Raises ActRefused if the act is not possible.
    """
    request = request_in(steps)
    match act:
        case "ask_more":
            return request is None
        case "see_more":
            if request is None or not request.allowed:
                raise ActRefused(_NOT_ALLOWED)
            return True
        case _:
            return _is_new_answer(steps, act, about, request)


def _is_new_answer(
    steps: Sequence[CaseStep], act: Act, about: int, request: MoreRequest | None
) -> bool:
    given = [
        each.step for each in steps if each.detail.about == about and each.step in ANSWER_REMARKS
    ]
    if given[-1:] == [act]:
        return False
    if request is None or request.number != about:
        raise ActRefused(_NOT_ASKED)
    return True


def answer_remark(notice: Notice) -> str:
    """Return the line below a request that its asker answered; "" for any other notice."""
    return ANSWER_REMARKS.get(notice.step, "")


def shown_of(escalated: Interaction, there: Sequence[Interaction]) -> tuple[Interaction, ...]:
    """Return the exchanges of a thread, oldest first, that may be shown if the asker agrees.

    They are the asker's own before the case's question, without withdrawn ones and presses that
    asked for a person: those may name another's question.
    """
    asked = escalated.message
    own = (
        each
        for each in there
        if (each.message.thread, each.message.author.id) == (asked.thread, asked.author.id)
        and each.id != escalated.id
        and not each.withdrawn
        and not is_person_request(each.message)
        and asked.received_at - each.message.received_at <= LOOKS_BACK
    )
    return tuple(own)[-MOST_SHOWN:]


def is_worth_showing(exchange: EarlierExchange) -> bool:
    """Return whether an exchange has words, or an answer that is withheld."""
    return bool(exchange.question or exchange.answer or exchange.withheld)
