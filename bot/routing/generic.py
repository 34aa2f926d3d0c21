"""Replies that need no page: written ones for small talk, a model's for general knowledge."""

from __future__ import annotations

import re

import structlog

from bot.domain.outcomes import error_code
from bot.domain.text.markdown import disarm, outside_code
from bot.domain.types import ErrorCode, Reply, Route
from bot.routing.smalltalk import JOKE, SmallTalk
from bot.routing.turns import spoken_turns
from prompts.files import load_prompt
from rag.answer.guardrails import is_unsafe_in_small_talk
from rag.errors import RagError
from rag.ports import ChatModel, to_prompt
from rag.types import ModelCall, Turn

_log = structlog.get_logger(__name__)

NO_MODEL = (
    "That sounds like general knowledge, and no language model answers that here, so I can't. "
    "I answer questions about how things work in the company, from its wiki. If it is "
    "about work, say it with a word more and I'll look it up, or write \u201chuman\u201d to ask a "
    "person."
)
MODEL_SILENT = (
    "I could not get an answer to that just now. Please try again in a minute. Questions about "
    "how things work in the company I can still look up in its wiki."
)
REFUSED = (
    "I can't help with that one. If it is about work, write \u201chuman\u201d to ask a person."
)
_MESSAGE_CHARACTERS = 4000
_LONGEST_TALK = 20_000
"""Characters of a model's talk; the rest of a longer one is left out."""

_MODELS_TELL_BETTER = frozenset({JOKE})
_LINK = re.compile(
    r"!?\[([^\]]{0,1000})\](?:\([^)]*\)|\[[^\]]*\])|<?\b(?:https?|ftp|file|data|javascript|mailto|hxxps?)"
    r":\S+>?|\bwww\.\S+",
    re.IGNORECASE,
)
_MENTION = re.compile(r"<[@!#][^>]*>|</?at\b[^>]{0,200}>|(?<!\w)@(?=\w)", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z!][^<>]{0,2000}>", re.IGNORECASE)


class GenericAnswers:
    """Answers small talk and general knowledge; never touches the index, never raises."""

    def __init__(self, model: ChatModel | None) -> None:
        self._model = model
        self._smalltalk = SmallTalk()
        self._prompt = load_prompt("generic")

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]:
        """Return what to say, and the model calls it took."""
        topic = self._smalltalk.topic(text) or self._smalltalk.topic(route.question)
        told_by_model = self._model is not None and topic in _MODELS_TELL_BETTER
        if topic is not None and not told_by_model:
            return _said(self._smalltalk.reply(topic, text)), ()
        if self._model is None:
            return _said(NO_MODEL), ()
        return await self._composed(self._model, text, history)

    async def _composed(
        self, model: ChatModel, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]:
        prompt = to_prompt(
            self._prompt, history=spoken_turns(history), message=text[:_MESSAGE_CHARACTERS]
        )
        try:
            completion = await model.complete(prompt)
        except RagError as error:
            _log.warning("generic_reply_failed", exc_info=True)
            return _sorry(error_code(error)), error.calls
        calls = (completion.call,)
        if completion.refused:
            return Reply(text=REFUSED, tone="generic", refused=True), calls
        said = harmless(completion.text)
        kept = said and not is_unsafe_in_small_talk(said)
        return _said(said) if kept else _sorry("model_answer_invalid"), calls


def harmless(text: str) -> str:
    """Return a model's words without links, images, tags and mentions; code is kept as it is.

    It has no sources to link to. A bare host becomes code, which no platform makes a link.
    """
    return disarm(outside_code(text[:_LONGEST_TALK], _plain)).strip()


def _plain(text: str) -> str:
    return _TAG.sub("", _MENTION.sub("", _LINK.sub(r"\1", text)))


def _said(text: str) -> Reply:
    return Reply(text=text, tone="generic")


def _sorry(error: ErrorCode) -> Reply:
    return Reply(text=MODEL_SILENT, tone="generic", error=error)
