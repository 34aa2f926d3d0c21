"""Route a message by rules, then a small classifier, then a model where both are unsure.

A request for a person refers to its author's last question, unless it names a topic of its own.
"""

from __future__ import annotations

from typing import Literal

import structlog

from bot.answering.routing.conversation import exchanges_of, is_context_dependent, topic_words
from bot.answering.routing.intent_classifier import (
    IntentClassifier,
    IntentVerdict,
    decide_intent,
)
from bot.answering.routing.intent_rules import Rules, Ruling, was_asked_for_topic
from bot.answering.routing.languages import LanguageDetector
from bot.answering.routing.message_text import condense
from bot.answering.routing.understanding import MessageReader, Reading
from bot.domain.handoff import requested_question
from bot.domain.interactions import Route
from bot.domain.messages import Intent
from rag.errors import RagError
from rag.ports import ChatModel, Embedder
from rag.text.words import looks_english
from rag.types import Turn

_REQUEST_WORDS = frozenset(
    """
    agent agents answer answered answers ask asked assistant bot bots call chat colleague connect
    contact could department desk escalate escalated forward get give hand help helped helpdesk
    helpful hr human humans immediately it know line live need now operator people person phone
    please put queue real representative right rubbish somebody someone speak stupid support talk
    team ticket transfer try understand urgent urgently useless want work working would wrong
    """.split()
)
"""Words of a request for a person or of a complaint about an answer; they name no topic."""
_LEAST_TOPIC_WORDS = 2
"""A request with this many other words names its own topic."""


def turn_behind_request(text: str, history: tuple[Turn, ...]) -> Turn | None:
    """Return the question that a request for a person refers to; None if it names its own topic.

    Only the author's own questions count: in a group, a request for a person means one's own
    question.
    """
    asked = [turn for turn in history if turn.role == "user" and turn.own]
    if named := requested_question(text):
        asked = [turn for turn in asked if turn.text == named]
    elif _names_its_topic(text):
        return None
    return asked[-1] if asked else None


def _names_its_topic(text: str) -> bool:
    """Return whether an English request for a person names its topic.

    False in other languages, where every word of a request would look like a topic.
    """
    if not looks_english(text):
        return False
    topic = [word for word in topic_words(text) if word not in _REQUEST_WORDS]
    return len(topic) >= _LEAST_TOPIC_WORDS and not is_context_dependent(text)


_log = structlog.get_logger(__name__)

_NO_MODEL = "no language model is configured"


class Router:
    """Decides the intent and the standalone question of a message; keeps no state between messages.

    Args:
        embedder: None turns the classifier off.
        classifier: None, or one trained on another embedder's vectors, leaves rules and model.
        model: asked once at most, where rules and classifier are unsure, a message is a follow-up
            or its language is not the wiki's; always with ``mode="llm"``. Without one the grey band
            is UNKNOWN.
        mode: ``cascade`` goes from cheap to expensive; in ``llm`` the model alone decides.
        detector: tells the language of a message; None takes each to be in the wiki's.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        classifier: IntentClassifier | None,
        model: ChatModel | None,
        *,
        mode: Literal["cascade", "llm"] = "cascade",
        detector: LanguageDetector | None = None,
    ) -> None:
        self._embedder = embedder
        self._classifier = _usable_classifier(classifier, embedder)
        self._has_model = model is not None
        self._mode = mode
        self._rules = Rules()
        self._reader = MessageReader(model, detector)

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        """Return the route of a message; never raises, whatever a model does."""
        ruling = self._rules.decide(text, history)
        if ruling and ruling.intent is Intent.HUMAN and was_asked_for_topic(history):
            return Route(Intent.HUMAN, 1.0, "rule", condense(text))
        history = self._about_something(history)
        read = await self._reader.by_rules(text, history)
        if self._mode == "llm" and not (ruling and ruling.empty):
            read = await self._reader.with_model(text, history, read)
            if read.intent is not None or not (ruling and ruling.intent is Intent.HUMAN):
                return self._route_by_model(read)
        if ruling is None or ruling.intent is Intent.DOMAIN:
            return await self._cascade(text, history, read, ruling)
        if ruling.intent is Intent.HUMAN:
            return _person_request_route(text, history)
        return Route(ruling.intent, 1.0, "rule", condense(text))

    async def _cascade(
        self, text: str, history: tuple[Turn, ...], read: Reading, ruling: Ruling | None
    ) -> Route:
        """Return the route by rule, else by the classifier, else by the model.

        A model that was asked is believed when it says that a person is needed: the classifier
        knows hardly anything of distress, least of all in another language.
        """
        if not read.clear:
            read = await self._reader.with_model(text, history, read)
        if person := self._person_needed(read):
            return person
        if ruling is not None:
            return _make_route(ruling.intent, 1.0, "rule", read)
        verdict = await self._classified(read)
        if verdict is not None:
            return _make_route(verdict.intent, verdict.score, "classifier", read)
        return self._route_by_model(await self._reader.with_model(text, history, read))

    def _person_needed(self, read: Reading) -> Route | None:
        """Return the route to a person if the model, or a rule on its translation, says so."""
        if read.intent is Intent.HUMAN:
            return _make_route(Intent.HUMAN, 1.0, "model", read)
        if read.search_query and self._rules.requests_person(read.search_query):
            return _make_route(Intent.HUMAN, 1.0, "rule", read)
        return None

    def _about_something(self, history: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """Return the history without small talk, requests for a person, and their replies."""
        kept: list[Turn] = []
        dropping = False
        for turn in history:
            if turn.role == "user":
                ruling = self._rules.decide(turn.text, ())
                dropping = ruling is not None and ruling.intent in {Intent.GENERIC, Intent.HUMAN}
            if not dropping:
                kept.append(turn)
        return tuple(kept)

    async def _classified(self, read: Reading) -> IntentVerdict | None:
        """Return the classifier's verdict; None where it is off or unsure, or knows no word."""
        untranslated = bool(read.language) and not read.search_query
        if self._classifier is None or self._embedder is None or untranslated:
            return None
        if not looks_english(read.searched):
            return None
        try:
            vector = await self._embedder.embed_query(read.searched)
        except RagError:
            _log.warning("routing_embedder_failed", exc_info=True)
            return None
        shares = self._classifier.probabilities(vector)
        verdict = decide_intent(read.searched, shares, self._classifier.thresholds)
        unsure = verdict.intent is Intent.GENERIC and not read.certain
        return None if unsure or verdict.intent is Intent.UNKNOWN else verdict

    def _route_by_model(self, read: Reading) -> Route:
        if read.intent is not None:
            return _make_route(read.intent, 1.0, "model", read)
        notes = () if self._has_model else (_NO_MODEL,)
        return _make_route(Intent.UNKNOWN, 0.0, "default", read, notes=notes)


def _person_request_route(text: str, history: tuple[Turn, ...]) -> Route:
    """Return the route of a request for a person, with the question that it refers to."""
    about = turn_behind_request(text, history)
    question = condense(text) if about is None else about.text
    leaned_on = () if about is None else exchanges_of([about], history)
    return Route(Intent.HUMAN, 1.0, "rule", question, leaned_on=leaned_on)


def _usable_classifier(
    classifier: IntentClassifier | None, embedder: Embedder | None
) -> IntentClassifier | None:
    """Return the classifier if it fits the embedder's vectors, else None and log why it is off."""
    if classifier is None or embedder is None:
        return None
    if classifier.fits(embedder.name, embedder.dimensions):
        return classifier
    _log.warning(
        "intent_classifier_off",
        trained_on=classifier.training.embedder,
        embedder=embedder.name,
        cure="Run `python -m bot.answering.routing.classifier_training` with this embedder.",
    )
    return None


def _make_route(
    intent: Intent,
    score: float,
    decided_by: Literal["rule", "classifier", "model", "default"],
    read: Reading,
    *,
    notes: tuple[str, ...] = (),
) -> Route:
    return Route(
        intent=intent,
        score=score,
        decided_by=decided_by,
        question=read.question,
        calls=read.calls,
        notes=(*read.notes, *notes),
        leaned_on=read.leaned_on,
        language=read.language,
        search_query=read.search_query,
    )
