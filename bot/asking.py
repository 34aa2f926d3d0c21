"""From an inquiry to what is searched for, what a model reads, and what a person is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.attachments.telling import searched
from bot.attachments.text import shortened
from bot.domain.handoff import PERSON_REQUEST, asks_topic, requested_question
from bot.domain.types import Attached, Inquiry, Intent, Route
from bot.routing.intents.human import names_no_topic
from bot.routing.question import condense
from bot.ways import Routes
from rag.pipeline import Scope

MODEL_CHARACTERS = 8_000
"""Of all files together, as a model reads them: about 2,000 tokens, beside the passages."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is searched for, within which bounds, and the files as a model reads them.

    ``question`` may hold lines of a file and is therefore not recorded.
    """

    question: str
    scope: Scope
    attached: tuple[str, ...] = ()


async def routed(router: Routes, inquiry: Inquiry) -> Route:
    """Return which way an inquiry goes: one that comes with a file is about the file."""
    text, attached = inquiry.message.text, inquiry.attached
    if attached and not text.strip():
        return Route(Intent.DOMAIN, 1.0, "rule", named(attached))
    route = await router.route(text, inquiry.history)
    if attached and route.intent is Intent.GENERIC:
        return replace(route, intent=Intent.UNKNOWN)
    return route


def asked_of(inquiry: Inquiry, route: Route) -> Asked:
    """Return what the index is asked."""
    question = route.question if inquiry.message.text.strip() else ""
    return Asked(
        question=searched(question, inquiry.attached) if inquiry.attached else route.question,
        scope=Scope(
            tenant=inquiry.message.thread.tenant,
            readers=inquiry.audience.principals,
            spaces=inquiry.policy.spaces,
            excluded_pages=inquiry.excluded_pages,
        ),
        attached=_for_the_model(inquiry.attached),
    )


def question_for_people(inquiry: Inquiry, route: Route) -> str:
    """Return what a person is asked: for "a human, please" also the question that it is about.

    What a button said adds nothing to that question; what people wrote is kept. Files are named.
    """
    said = inquiry.message.text
    if named := requested_question(said):
        said = named
    elif route.intent is Intent.HUMAN and not _is_said(route.question, said):
        said = route.question if said == PERSON_REQUEST else f"{route.question}\n{said}"
    if not inquiry.message.attachments:
        return said
    names = ", ".join(" ".join(each.name.split()) for each in inquiry.message.attachments)
    return f"{said}\n(with {names})".strip()


def _is_said(question: str, said: str) -> bool:
    """Tell whether a question is, or is part of, what was just said."""
    return question in said or question == condense(said)


def lacks_topic(inquiry: Inquiry, route: Route) -> bool:
    """Tell whether a person is wanted and nobody could say for what; it is asked back once.

    Who was asked and names nothing again gets through to people, so that nobody is stuck.
    """
    message, said = inquiry.message, inquiry.message.text
    if route.intent is not Intent.HUMAN or message.attachments or route.question != condense(said):
        return False
    theirs = (turn for turn in inquiry.history if turn.own and turn.role == "assistant")
    asked = any(asks_topic(turn.text) for turn in theirs)
    return not asked and (said == PERSON_REQUEST or names_no_topic(said))


def leans_on_own(inquiry: Inquiry, route: Route) -> bool:
    """Tell whether a question took words from what its asker said before, which people see too."""
    return any(turn.own and turn.exchange in route.leaned_on for turn in inquiry.history)


def named(attached: Sequence[Attached]) -> str:
    """Return the names of files."""
    return ", ".join(" ".join(each.name.split()) for each in attached)


def _for_the_model(attached: Sequence[Attached]) -> tuple[str, ...]:
    room = MODEL_CHARACTERS // max(1, len(attached))
    return tuple(f"({named([each])})\n{shortened(each.text, room)}" for each in attached)
