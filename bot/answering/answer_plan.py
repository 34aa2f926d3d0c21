"""Choose the model, the route and the search request for an inquiry.

A channel's policy may name another model, or none. Messages of people from outside and overheard
messages are routed without a model. A message with a file is taken to be about the file.
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
    """Port: classify the intent of a message. Never raises."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route: ...


class AnswersGenerically(Protocol):
    """Port: answer small talk and general knowledge without the index. Never raises."""

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """A router, generic answerer and pipeline that share one model, or use none.

    ``model`` is the model's configured name, "" without one. ``notes`` give the reason for an
    unexpected choice of profile, for the record.
    """

    router: RoutesMessages
    generic: AnswersGenerically
    pipeline: Pipeline
    model: str = ""
    notes: tuple[str, ...] = ()


class ModelProfiles:
    """The model profiles that a desk chooses from.

    Args:
        configured: The default, for channels whose policy names no model.
        others: Profiles by the model that a channel's policy names. The one for NO_MODEL calls no
            model; it may be missing if the configured profile calls none either.
    """

    def __init__(self, configured: ModelProfile, others: Mapping[str, ModelProfile]) -> None:
        self._configured = configured
        self._without = others.get(NO_MODEL, configured)
        self._others = others

    def of(self, model: str, *, quiet: bool) -> ModelProfile:
        """Return the profile for a policy's model.

        With ``quiet``, routing and small talk use no model: a model is called only when the index
        has passages for the question.
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
"""Limit on the text of all attached files in a prompt: about 2,000 tokens, besides passages."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search query with its scope, and the text of attached files for the model's prompt.

    ``question`` may contain lines of a file and is therefore not recorded.
    """

    question: str
    scope: Scope
    attached: tuple[str, ...] = ()


async def route_inquiry(router: RoutesMessages, inquiry: Inquiry) -> Route:
    """Route an inquiry; one with an attached file is never small talk.

    For a file without a message text, the route's question is the file's name.
    """
    text, attached = inquiry.message.text, inquiry.attached
    if attached and not text.strip():
        return Route(Intent.DOMAIN, 1.0, "rule", file_names(attached))
    route = await router.route(text, inquiry.history)
    if attached and route.intent is Intent.GENERIC:
        return replace(route, intent=Intent.UNKNOWN)
    return route


def search_request_of(inquiry: Inquiry, route: Route) -> SearchRequest:
    """Return the search request for a routed inquiry."""
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
    """Return the question to escalate, followed by the names of attached files.

    A message such as "a human, please" is preceded by the earlier question that it refers to. The
    text of a pressed button is dropped; text that the asker wrote is kept.
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
    """Return whether a question is, or is part of, the message's text."""
    return question in said or question == condense(said)


def lacks_topic(inquiry: Inquiry, route: Route) -> bool:
    """Return whether the asker wants a person without naming a topic, and was not asked for one.

    The bot asks for the topic once: an asker who names none again is escalated, so that nobody is
    stuck.
    """
    message, said = inquiry.message, inquiry.message.text
    if route.intent is not Intent.HUMAN or message.attachments or route.question != condense(said):
        return False
    theirs = (turn for turn in inquiry.history if turn.own and turn.role == "assistant")
    asked = any(asks_topic(turn.text) for turn in theirs)
    return not asked and (said == PERSON_REQUEST or names_no_topic(said))


def uses_own_earlier_words(inquiry: Inquiry, route: Route) -> bool:
    """Return whether the question used words of its asker's earlier turns, shown to people too."""
    return any(turn.own and turn.exchange in route.leaned_on for turn in inquiry.history)


def file_names(attached: Sequence[Attached]) -> str:
    """Return the names of files on one line, separated by commas."""
    return ", ".join(" ".join(each.name.split()) for each in attached)


def _texts_for_model(attached: Sequence[Attached]) -> tuple[str, ...]:
    room = MODEL_CHARACTERS // max(1, len(attached))
    return tuple(f"({file_names([each])})\n{shorten_text(each.text, room)}" for each in attached)
