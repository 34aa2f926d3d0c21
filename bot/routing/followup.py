"""Turns a follow-up into a question that stands alone: by a model, else by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from bot.domain.types import InteractionId
from bot.routing.ellipsis import combine, dependence, missing_words
from bot.routing.question import condense
from bot.routing.turns import spoken_turns
from prompts.files import load_prompt
from rag.errors import RagError
from rag.ports import ChatModel, Completion, to_prompt
from rag.text.words import content_words, identifiers, stems
from rag.types import ModelCall, Turn

_log = structlog.get_logger(__name__)

_MOST_GROWTH = 400
"""Characters a rewrite may add; more is an answer, not a question."""
_LEAST_KNOWN = 0.6
"""Share of a rewrite's content words that the conversation must hold."""


@dataclass(frozen=True, slots=True)
class StandAlone:
    """A question to search for; ``certain`` unless it may lean on more than it says.

    ``leaned_on`` are the exchanges that gave it words, oldest first.
    """

    question: str
    certain: bool = True
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    leaned_on: tuple[InteractionId, ...] = ()


class FollowUps:
    """Makes questions stand alone. With no model, or when it fails, by rules."""

    def __init__(self, model: ChatModel | None) -> None:
        self._model = model
        self._prompt = load_prompt("rewrite")

    async def standalone(self, text: str, history: tuple[Turn, ...]) -> StandAlone:
        """Return the message as a question of its own; never raises.

        A message that says all it needs comes back as it is, whatever was talked about before.
        When that is in doubt, only a model may change it.
        """
        question = condense(text)
        leaning = dependence(question, history)
        if leaning == "alone":
            return StandAlone(question)
        fallback = StandAlone(question, certain=False)
        if leaning == "leaning":
            turns = [each.turn for each in missing_words(question, history)]
            by_rule = combine(question, history)
            fallback = replace(fallback, question=by_rule, leaned_on=exchanges_of(turns, history))
        if self._model is None:
            return fallback
        return await self._rewritten(self._model, question, history, fallback)

    async def _rewritten(
        self, model: ChatModel, question: str, history: tuple[Turn, ...], fallback: StandAlone
    ) -> StandAlone:
        prompt = to_prompt(self._prompt, history=spoken_turns(history), message=question)
        try:
            completion = await model.complete(prompt)
        except RagError as error:
            _log.warning("rewrite_failed", exc_info=True)
            silent = "the rewriting model did not answer"
            return replace(fallback, calls=error.calls, notes=(silent,))
        calls = (completion.call,)
        rewrite = _line(completion)
        if not is_faithful(rewrite, question, history):
            return replace(fallback, calls=calls, notes=("the rewrite was not used",))
        return StandAlone(rewrite, calls=calls, leaned_on=leaned_on(rewrite, question, history))


def leaned_on(rewrite: str, question: str, history: tuple[Turn, ...]) -> tuple[InteractionId, ...]:
    """Return the exchanges that a rewrite took words from: the fewest that say all it added.

    Of those that say as many, the last. Where it added words that nobody said, it is the last
    exchange of whoever asks.
    """
    added = set(stems(rewrite)) - set(stems(question))
    said = {turn.exchange: set[str]() for turn in history}
    for turn in history:
        said[turn.exchange] |= added.intersection(stems(turn.text))
    chosen: set[str] = set()
    missing = set[str]().union(*said.values())
    while missing:
        # max() takes the first of equals, which is the last exchange here.
        best = max(reversed(said), key=lambda each: len(said[each] & missing))
        chosen.add(best)
        missing -= said[best]
    turns = [turn for turn in history if turn.exchange in chosen]
    if added and not turns:
        turns = [turn for turn in history if turn.own][-1:]
    return exchanges_of(turns, history)


def exchanges_of(turns: Sequence[Turn], history: tuple[Turn, ...]) -> tuple[InteractionId, ...]:
    """Return the exchanges of some turns, each once, in the order of the conversation."""
    named = {turn.exchange for turn in turns}
    order = dict.fromkeys(turn.exchange for turn in history)
    return tuple(InteractionId(each) for each in order if each and each in named)


def is_faithful(rewrite: str, question: str, history: tuple[Turn, ...]) -> bool:
    """Whether a rewrite still asks what was asked: identifiers kept, little added from nowhere."""
    if not rewrite or len(rewrite) > len(question) + _MOST_GROWTH:
        return False
    if not identifiers(question) <= identifiers(rewrite):
        return False
    said = content_words(rewrite)
    known = set(content_words(" ".join([question, *(turn.text for turn in history)])))
    return sum(word in known for word in said) >= _LEAST_KNOWN * len(said)


def _line(completion: Completion) -> str:
    """Return the rewrite without the quotation marks models like, or "" when it refused."""
    if completion.refused:
        return ""
    lines = [line.strip() for line in completion.text.strip().splitlines()]
    return lines[0].strip("\"'\u201c\u201d ") if len(lines) == 1 else ""
