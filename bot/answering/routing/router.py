"""Route a message by rules, then a small classifier, then a model where both are unsure.

A request for a person refers to its author's last question, unless it names a topic of its own.
"""

from __future__ import annotations

import re
from typing import Literal

import structlog

from bot.answering.routing.conversation import (
    FollowUpRewriter,
    StandaloneQuestion,
    exchanges_of,
    is_context_dependent,
    prompt_turns,
    topic_words,
)
from bot.answering.routing.intent_classifier import IntentClassifier, decide_intent
from bot.answering.routing.intent_rules import Rules, was_asked_for_topic
from bot.answering.routing.message_text import condense
from bot.domain.handoff import requested_question
from bot.domain.interactions import Route
from bot.domain.messages import Intent
from prompts.files import load_prompt
from rag.errors import RagError
from rag.ports import ChatModel, Embedder, to_prompt
from rag.text.words import looks_english
from rag.types import ModelCall, Turn

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

_MODEL_CHARACTERS = 4000
_NO_MODEL = "no language model is configured"
_NO_ANSWER = "the routing model did not answer"


class Router:
    """Decides the intent and the standalone question of a message; keeps no state between messages.

    Args:
        embedder: None turns the classifier off.
        classifier: None, or one trained on another embedder's vectors, leaves rules and model.
        model: asked in the grey band only, or always with ``mode="llm"``; without one the grey band
            is UNKNOWN.
        mode: ``cascade`` goes from cheap to expensive; ``llm`` uses a one-word answer of the model
            alone.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        classifier: IntentClassifier | None,
        model: ChatModel | None,
        *,
        mode: Literal["cascade", "llm"] = "cascade",
    ) -> None:
        self._embedder = embedder
        self._classifier = _usable_classifier(classifier, embedder)
        self._model = model
        self._mode = mode
        self._rules = Rules()
        self._followups = FollowUpRewriter(model)
        self._prompt = load_prompt("intent")

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        """Return the route of a message; never raises, whatever a model does."""
        ruling = self._rules.decide(text, history)
        if ruling and ruling.intent is Intent.HUMAN and was_asked_for_topic(history):
            return Route(Intent.HUMAN, 1.0, "rule", condense(text))
        history = self._about_something(history)
        if self._mode == "llm" and not (ruling and ruling.empty):
            routed = await self._by_model(text, history, await self._question(text, history))
            if routed.decided_by == "model" or not (ruling and ruling.intent is Intent.HUMAN):
                return routed
        if ruling is not None and ruling.intent is not Intent.DOMAIN:
            if ruling.intent is Intent.HUMAN:
                return _person_request_route(text, history)
            return Route(ruling.intent, 1.0, "rule", condense(text))
        asked = await self._question(text, history)
        if ruling is not None:
            return _make_route(ruling.intent, 1.0, "rule", asked)
        return await self._by_classifier(text, history, asked)

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

    async def _question(self, text: str, history: tuple[Turn, ...]) -> StandaloneQuestion:
        return await self._followups.standalone(text, history)

    async def _by_classifier(
        self, text: str, history: tuple[Turn, ...], asked: StandaloneQuestion
    ) -> Route:
        if self._classifier is None or self._embedder is None or not looks_english(asked.question):
            return await self._by_model(text, history, asked)
        try:
            vector = await self._embedder.embed_query(asked.question)
        except RagError:
            _log.warning("routing_embedder_failed", exc_info=True)
            return await self._by_model(text, history, asked)
        shares = self._classifier.probabilities(vector)
        verdict = decide_intent(asked.question, shares, self._classifier.thresholds)
        unsure = verdict.intent is Intent.GENERIC and not asked.certain
        if unsure or verdict.intent is Intent.UNKNOWN:
            return await self._by_model(text, history, asked)
        return _make_route(verdict.intent, verdict.score, "classifier", asked)

    async def _by_model(
        self, text: str, history: tuple[Turn, ...], asked: StandaloneQuestion
    ) -> Route:
        if self._model is None:
            return _make_route(Intent.UNKNOWN, 0.0, "default", asked, notes=(_NO_MODEL,))
        message = text[:_MODEL_CHARACTERS]
        prompt = to_prompt(self._prompt, history=prompt_turns(history), message=message)
        try:
            completion = await self._model.complete(prompt)
        except RagError as error:
            _log.warning("routing_model_failed", why=str(error))
            unknown = Intent.UNKNOWN
            return _make_route(
                unknown, 0.0, "default", asked, calls=error.calls, notes=(_NO_ANSWER,)
            )
        intent = Intent.UNKNOWN if completion.refused else intent_of_reply(completion.text)
        return _make_route(intent, 1.0, "model", asked, calls=(completion.call,))


def _person_request_route(text: str, history: tuple[Turn, ...]) -> Route:
    """Return the route of a request for a person, with the question that it refers to."""
    about = turn_behind_request(text, history)
    question = condense(text) if about is None else about.text
    leaned_on = () if about is None else exchanges_of([about], history)
    return Route(Intent.HUMAN, 1.0, "rule", question, leaned_on=leaned_on)


def intent_of_reply(answer: str) -> Intent:
    """Parse a model's verdict; anything but exactly one intent name is UNKNOWN."""
    word = re.fullmatch(r"\W*([A-Za-z]+)\W*", answer)
    try:
        return Intent(word[1].upper()) if word else Intent.UNKNOWN
    except ValueError:
        return Intent.UNKNOWN


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
    asked: StandaloneQuestion,
    *,
    calls: tuple[ModelCall, ...] = (),
    notes: tuple[str, ...] = (),
) -> Route:
    return Route(
        intent=intent,
        score=score,
        decided_by=decided_by,
        question=asked.question,
        calls=(*asked.calls, *calls),
        notes=(*asked.notes, *notes),
        leaned_on=asked.leaned_on,
    )
