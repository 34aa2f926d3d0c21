"""Plan how an inquiry is answered: by which model, on which route, with which search request.

A channel's policy may name another model, or none; people from outside and overheard talk are
routed without one. A message that comes with a file is about the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.answering.attachments import shorten_text
from bot.answering.routing.intent_rules import names_no_topic
from bot.answering.routing.message_text import condense, search_text
from bot.domain.handoff import PERSON_REQUEST, asks_topic, requested_question
from bot.domain.interactions import Reply, Route
from bot.domain.messages import NO_MODEL, Attached, Inquiry, Intent
from rag.pipeline import Pipeline, Scope
from rag.types import ModelCall, Turn

_MODEL_NOT_CONFIGURED = (
    "the channel's model is not among OPENAI_CHANNEL_MODELS: the configured one was used"
)


class RoutesMessages(Protocol):
    """Tells what a message wants. Never raises."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route: ...


class AnswersGenerically(Protocol):
    """Small talk and general knowledge, without the index. Never raises."""

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What routes a message and answers it, all with the same model or all without one.

    ``model`` is its name as configured, "" without one. ``notes`` say why it was taken, where that
    is not plain.
    """

    router: RoutesMessages
    generic: AnswersGenerically
    pipeline: Pipeline
    model: str = ""
    notes: tuple[str, ...] = ()


class ModelProfiles:
    """The ways of a desk.

    Args:
        configured: Taken where a channel says nothing.
        others: By the model that a channel names; the one for NO_MODEL calls none. It may be
            left out where the configured way calls none either.
    """

    def __init__(self, configured: ModelProfile, others: Mapping[str, ModelProfile]) -> None:
        self._configured = configured
        self._without = others.get(NO_MODEL, configured)
        self._others = others

    def of(self, model: str, *, quiet: bool) -> ModelProfile:
        """Return the way for a policy's model.

        Where it is to be ``quiet``, routing and small talk take no model: one is asked only once
        the index speaks of the question.
        """
        way = self._named(model)
        if not quiet:
            return way
        without = self._without
        return replace(way, router=without.router, generic=without.generic)

    def _named(self, model: str) -> ModelProfile:
        if not model:
            return self._configured
        if model == NO_MODEL:
            return self._without
        chosen = self._others.get(model)
        if chosen is not None:
            return chosen
        return replace(self._configured, notes=(_MODEL_NOT_CONFIGURED,))


MODEL_CHARACTERS = 8_000
"""Of all files together, as a model reads them: about 2,000 tokens, beside the passages."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for, within which bounds, and the files as a model reads them.

    ``question`` may hold lines of a file and is therefore not recorded.
    """

    question: str
    scope: Scope
    attached: tuple[str, ...] = ()


async def route_inquiry(router: RoutesMessages, inquiry: Inquiry) -> Route:
    """Return which way an inquiry goes: one that comes with a file is about the file."""
    text, attached = inquiry.message.text, inquiry.attached
    if attached and not text.strip():
        return Route(Intent.DOMAIN, 1.0, "rule", file_names(attached))
    route = await router.route(text, inquiry.history)
    if attached and route.intent is Intent.GENERIC:
        return replace(route, intent=Intent.UNKNOWN)
    return route


def search_request_of(inquiry: Inquiry, route: Route) -> SearchRequest:
    """Return what the index is asked."""
    question = route.question if inquiry.message.text.strip() else ""
    return SearchRequest(
        question=search_text(question, inquiry.attached) if inquiry.attached else route.question,
        scope=Scope(
            tenant=inquiry.message.thread.tenant,
            readers=inquiry.audience.principals,
            spaces=inquiry.policy.spaces,
            excluded_pages=inquiry.excluded_pages,
        ),
        attached=_texts_for_model(inquiry.attached),
    )


def question_for_people(inquiry: Inquiry, route: Route) -> str:
    """Return what a person is asked: for "a human, please" also the question that it is about.

    What a button said adds nothing to that question; what people wrote is kept. Files are named.
    """
    said = inquiry.message.text
    if named := requested_question(said):
        said = named
    elif route.intent is Intent.HUMAN and not _is_in_message(route.question, said):
        said = route.question if said == PERSON_REQUEST else f"{route.question}\n{said}"
    if not inquiry.message.attachments:
        return said
    names = ", ".join(" ".join(each.name.split()) for each in inquiry.message.attachments)
    return f"{said}\n(with {names})".strip()


def _is_in_message(question: str, said: str) -> bool:
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


def uses_own_earlier_words(inquiry: Inquiry, route: Route) -> bool:
    """Tell whether a question took words from what its asker said before, which people see too."""
    return any(turn.own and turn.exchange in route.leaned_on for turn in inquiry.history)


def file_names(attached: Sequence[Attached]) -> str:
    """Return the names of files."""
    return ", ".join(" ".join(each.name.split()) for each in attached)


def _texts_for_model(attached: Sequence[Attached]) -> tuple[str, ...]:
    room = MODEL_CHARACTERS // max(1, len(attached))
    return tuple(f"({file_names([each])})\n{shorten_text(each.text, room)}" for each in attached)
