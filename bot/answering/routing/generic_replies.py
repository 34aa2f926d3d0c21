"""Answer without the index: canned replies to small talk, a model's to general knowledge.

smalltalk.toml defines the small-talk phrases and their replies. The choice of a reply depends on
the text alone.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

import structlog

from bot.answering.routing.conversation import prompt_turns
from bot.answering.routing.message_text import normalized, without_letter_runs
from bot.domain.interactions import ErrorCode, Reply, Route
from bot.domain.markdown import disarm, outside_code, without_direction_marks
from bot.domain.outcomes import error_code
from prompts.files import load_prompt
from prompts.repetition import repeats_rules
from rag.answer.guardrails import is_unsafe_in_small_talk
from rag.errors import RagError
from rag.ports import ChatModel
from rag.prompt_rendering import to_prompt
from rag.types import ModelCall, Turn

NOTHING_SAID = "nothing_said"
JOKE = "joke"
ACKNOWLEDGEMENT = "acknowledgement"

_FILLER = re.compile(
    r"(?:bot|frontdesk|front desk|robot|there|team|all|everyone|everybody|folks|guys|friend|mate"
    r"|man|buddy|dear|sir|madam|again|today|now|please|pls|here|wait"
    r"|and|but|so|oh|ok|okay|well|very|a lot"
    r"|much|really|just|then|help ?desk|assistant|you|u|my|to you|in advance|for now|x|xx|d|p"
    r"|\d)(?= |$)"
)
_MOST_WORDS = 25
"""Longer messages are never small talk."""


class SmallTalk:
    """Matches small talk and chooses a canned reply by the text alone, both from smalltalk.toml."""

    def __init__(self) -> None:
        source = Path(__file__).with_name("smalltalk.toml").read_text("utf-8")
        topics = cast("Mapping[str, Mapping[str, Sequence[str]]]", tomllib.loads(source))
        self._replies = {topic: tuple(entry["replies"]) for topic, entry in topics.items()}
        self._phrases = {topic: tuple(entry["said"]) for topic, entry in topics.items()}

    @cached_property
    def _said(self) -> Mapping[str, tuple[re.Pattern[str], ...]]:
        """Each topic's patterns, compiled at the first message to keep the start short."""
        return {
            topic: tuple(re.compile(rf"(?:{phrase})(?= |$)") for phrase in phrases)
            for topic, phrases in self._phrases.items()
        }

    def topic(self, text: str) -> str | None:
        """Return the small-talk topic, or None when any part of the message is not small talk."""
        said = without_letter_runs(normalized(text))
        if not re.search(r"\w", said):
            return NOTHING_SAID
        if len(said.split()) > _MOST_WORDS:
            return None
        found = [self._of(clause) for clause in re.split(r"[.?]", said) if clause.strip()]
        if any(topics is None for topics in found):
            return None
        order = list(self._said)
        return min((topic for topics in found for topic in topics or ()), key=order.index)

    def reply(self, topic: str, text: str) -> str:
        """Return a canned reply to the topic; the same text always gets the same one."""
        replies = self._replies[topic]
        # crc32, because hash() of a string differs between processes.
        return replies[zlib.crc32(text.encode("utf-8", "surrogatepass")) % len(replies)]

    def _of(self, clause: str) -> list[str] | None:
        """Return the topics whose phrases make up the whole clause, or None."""
        words = clause.strip()
        topics: list[str] = []
        while words:
            topic, end = self._longest(words)
            if not end:
                return None
            topics += [topic] if topic else []
            words = words[end:].lstrip()
        return topics or [ACKNOWLEDGEMENT]

    def _longest(self, words: str) -> tuple[str, int]:
        """Return the topic matching furthest ("" for filler) and where it ends (0: no match)."""
        best, reach = "", 0
        for topic, patterns in self._said.items():
            end = max((_match_end(pattern, words) for pattern in patterns), default=0)
            if end > reach:
                best, reach = topic, end
        return (best, reach) if reach else ("", _match_end(_FILLER, words))


def _match_end(pattern: re.Pattern[str], words: str) -> int:
    match = pattern.match(words)
    return match.end() if match else 0


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
_LONGEST_REPLY = 20_000
"""Characters kept of a model's reply."""

_TOPICS_FOR_MODEL = frozenset({JOKE})
_LINK = re.compile(
    r"!?\[([^\]]{0,1000})\](?:\([^)]*\)|\[[^\]]*\])|<?\b(?:https?|ftp|file|data|javascript|mailto|hxxps?)"
    r":\S+>?|\bwww\.\S+",
    re.IGNORECASE,
)
_MENTION = re.compile(r"<[@!#][^>]*>|</?at\b[^>]{0,200}>|(?<!\w)@(?=\w)", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z!][^<>]{0,2000}>", re.IGNORECASE)


class GenericAnswers:
    """Answers small talk and general knowledge without the index; never raises."""

    def __init__(self, model: ChatModel | None) -> None:
        self._model = model
        self._smalltalk = SmallTalk()
        self._prompt = load_prompt("generic")

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]:
        """Return the reply, and the model calls that it took."""
        topic = self._smalltalk.topic(text) or self._smalltalk.topic(route.question)
        told_by_model = self._model is not None and topic in _TOPICS_FOR_MODEL
        if topic is not None and not told_by_model:
            return _generic_reply(self._smalltalk.reply(topic, text)), ()
        if self._model is None:
            return _generic_reply(NO_MODEL), ()
        return await self._composed(self._model, text, history)

    async def _composed(
        self, model: ChatModel, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]:
        prompt = to_prompt(
            self._prompt, history=prompt_turns(history), message=text[:_MESSAGE_CHARACTERS]
        )
        try:
            completion = await model.complete(prompt)
        except RagError as error:
            _log.warning("generic_reply_failed", why=str(error))
            return _failure_reply(error_code(error)), error.calls
        calls = (completion.call,)
        if completion.refused:
            return Reply(text=REFUSED, tone="generic", refused=True), calls
        said = without_links_and_mentions(completion.text)
        kept = said and not is_unsafe_in_small_talk(said) and not repeats_rules(said)
        return _generic_reply(said) if kept else _failure_reply("model_answer_invalid"), calls


def without_links_and_mentions(text: str) -> str:
    """Return a model's text without links, images, tags and mentions; code is kept as it is.

    A generic answer has no sources to link to. A bare host name becomes code, which no platform
    turns into a link.
    """
    forwards = without_direction_marks(text[:_LONGEST_REPLY])
    return disarm(outside_code(forwards, _strip_markup)).strip()


def _strip_markup(text: str) -> str:
    return _TAG.sub("", _MENTION.sub("", _LINK.sub(r"\1", text)))


def _generic_reply(text: str) -> Reply:
    return Reply(text=text, tone="generic")


def _failure_reply(error: ErrorCode) -> Reply:
    return Reply(text=MODEL_SILENT, tone="generic", error=error)
