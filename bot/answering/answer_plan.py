"""Choose the model, the route and the search request for an inquiry.

A channel's policy may name another model, or none. Messages of people from outside and overheard
messages are routed without a model. A message with a file is taken to be about the file.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from bot.answering.attachments import shorten_text
from bot.answering.routing.conversation import is_one_topic_word
from bot.answering.routing.message_text import condense, search_text
from bot.domain.interactions import ConfidenceLevel, Reply, Route
from bot.domain.messages import NO_MODEL, Attached, Inquiry, Intent
from rag.errors import RagError
from rag.pipeline import Pipeline, Retrieval
from rag.search_scope import Asked, Scope
from rag.text.words import stems
from rag.types import ModelCall, Turn

if TYPE_CHECKING:
    # The recognisers are imported only where something is masked.
    from rag.personal_data.masking import Masker

_log = structlog.get_logger(__name__)

_MODEL_NOT_CONFIGURED = (
    "the model that was named is not configured (OPENAI_CHANNEL_MODELS, MODELS__NAME__MODEL): "
    "the usual one was used"
)


History = tuple[Turn, ...]
RouteMessage = Callable[[str, History], Awaitable[Route]]
"""Classifies the intent of a message. Never raises."""

ReplyGenerically = Callable[[Route, str, History], Awaitable[tuple[Reply, tuple[ModelCall, ...]]]]
"""Answers small talk and general knowledge without the index. Never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What routes messages, answers small talk and answers from the pages, all with one model.

    ``model`` is the model's configured name, "" without one, and ``calibrated_as`` the name that
    its calibrations are kept by. ``seconds`` is the time limit of all its calls for one inquiry.
    ``notes`` give the reason for an unexpected choice of profile, for the record. ``masker``
    masks personal data of the question for its model or the embedder; None where nothing is masked.
    """

    route: RouteMessage
    reply_generically: ReplyGenerically
    pipeline: Pipeline
    model: str = ""
    calibrated_as: str = ""
    seconds: float = 20.0
    notes: tuple[str, ...] = ()
    masker: Masker | None = None


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

    @property
    def without_model(self) -> ModelProfile:
        """The profile that calls no model."""
        return self._without

    def of(self, model: str, *, quiet: bool) -> ModelProfile:
        """Return the profile for a policy's model.

        With ``quiet``, routing, small talk and planning use no model: a model is called only when
        the index has passages for the question.
        """
        profile = self._named(model)
        if not quiet:
            return profile
        without = self._without
        return replace(
            profile,
            route=without.route,
            reply_generically=without.reply_generically,
            pipeline=profile.pipeline.without_planning(),
        )

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

    ``question`` may contain lines of a file and is therefore not recorded. ``asked`` are the
    asker's words if it is a translation of them. No answer is surer than ``ceiling``. Unless it
    ``corrects``, the query is searched for as it stands.
    """

    question: str
    scope: Scope
    attached: tuple[str, ...] = ()
    asked: Asked | None = None
    ceiling: ConfidenceLevel = "sure"
    corrects: bool = True


_NAMED = "the question names a page, a section or a term of the wiki"
_NEW_TOPIC = "one word that titles name was taken for a new question"

_POLITE = re.compile(r"\b(?:(?:can|could|would|will) you|do you know)\b", re.IGNORECASE)
_ABOUT_BOT = re.compile(r"\b(?:you|yours?|yourself)\b", re.IGNORECASE)


async def route_inquiry(profile: ModelProfile, inquiry: Inquiry) -> Route:
    """Route an inquiry; one with an attached file is never small talk.

    A word that titles name is a new question in a conversation too.

    Nor is it general knowledge if it names something that its audience may read, unless a rule says
    so. For a file without a message text, the route's question is the file's name.
    """
    text, attached = inquiry.message.text, inquiry.attached
    if attached and not text.strip():
        return Route(Intent.DOMAIN, 1.0, "rule", file_names(attached))
    route = await profile.route(text, inquiry.history)
    if await _is_new_topic(profile.pipeline, inquiry, route):
        route = await profile.route(text, ())
        route = replace(route, notes=(*route.notes, _NEW_TOPIC))
    if route.intent is not Intent.GENERIC:
        return route
    if attached:
        return replace(route, intent=Intent.UNKNOWN)
    if route.decided_by != "rule" and await _names_something(profile.pipeline, inquiry, route):
        return replace(route, intent=Intent.UNKNOWN, notes=(*route.notes, _NAMED))
    return route


async def _is_new_topic(pipeline: Pipeline, inquiry: Inquiry, route: Route) -> bool:
    """Return whether what rules took for a follow-up is one word that titles of pages name.

    What follows a colon in a title is what the page says of its topic: "Laptops: replacement".
    """
    text = inquiry.message.text
    by_rules = route.leaned_on and route.intent is not Intent.HUMAN and not route.calls
    if not by_rules or not is_one_topic_word(text):
        return False
    try:
        found = await pipeline.without_planning().retrieve(condense(text), _scope_of(inquiry))
    except RagError as error:
        _log.warning("naming_words_unknown", why=str(error))
        return False
    asked = set(stems(found.question))
    titles = (each.chunk.title.partition(":")[0] for each in found.passages)
    return any(asked <= set(stems(title)) for title in titles)


async def _names_something(pipeline: Pipeline, inquiry: Inquiry, route: Route) -> bool:
    """Return whether the question, in the wiki's language, names something of the wiki."""
    question = route.search_query or route.question
    if _ABOUT_BOT.search(_POLITE.sub(" ", question)):
        return False
    try:
        return await pipeline.names_something(question, _scope_of(inquiry))
    except RagError as error:
        _log.warning("naming_words_unknown", why=str(error))
        return False


def search_request_of(inquiry: Inquiry, route: Route) -> SearchRequest:
    """Return the search request for a routed inquiry.

    Neither lines of files nor words of another language, or their translation, are corrected.
    """
    question = route.search_query or route.question
    own = question if inquiry.message.text.strip() else ""
    return SearchRequest(
        question=search_text(own, inquiry.attached) if inquiry.attached else question,
        scope=_scope_of(inquiry),
        attached=_texts_for_model(inquiry.attached),
        asked=Asked(route.question, route.language) if route.search_query else None,
        ceiling=_ceiling(route),
        corrects=not (inquiry.attached or route.language),
    )


def private_search_request(inquiry: Inquiry, request: SearchRequest) -> SearchRequest | None:
    """Return the request with the asker as its reader; None if they may read no more than all."""
    message, audience = inquiry.message, inquiry.audience
    principals = message.author.principals
    if message.shows_nothing or audience.kind == "private" or principals <= audience.principals:
        return None
    return replace(request, scope=replace(request.scope, readers=principals))


def _ceiling(route: Route) -> ConfidenceLevel:
    """Return how sure an answer may be: nobody has checked what was translated.

    A question that could not be translated may still share a code or a name with a page.
    """
    if not route.language:
        return "sure"
    return "partial" if route.search_query else "unsure"


def _scope_of(inquiry: Inquiry) -> Scope:
    filters = inquiry.message.search_filters
    return Scope(
        tenant=inquiry.message.thread.tenant,
        readers=inquiry.audience.principals,
        spaces=filters.within(inquiry.policy.spaces),
        source_type=filters.source_type,
        excluded_pages=inquiry.excluded_pages,
    )


async def retrieve(pipeline: Pipeline, request: SearchRequest) -> Retrieval:
    """Search for what was asked. Raises IndexUnavailable."""
    return await pipeline.retrieve(request.question, request.scope, corrects=request.corrects)


def file_names(attached: Sequence[Attached]) -> str:
    """Return the names of files on one line, separated by commas."""
    return ", ".join(" ".join(each.name.split()) for each in attached)


def _texts_for_model(attached: Sequence[Attached]) -> tuple[str, ...]:
    room = MODEL_CHARACTERS // max(1, len(attached))
    return tuple(f"({file_names([each])})\n{shorten_text(each.text, room)}" for each in attached)
