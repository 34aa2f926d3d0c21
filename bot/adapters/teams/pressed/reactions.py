"""Reactions to the bot's answers that say whether they helped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import presser_of
from bot.adapters.teams.pressed.answers import Answers
from bot.adapters.teams.wire.body import Body, is_ours, objects_at, sent_at, text_at
from bot.chat.actions import ActionTargets
from bot.chat.votes import Reaction, ReactionVotes
from bot.domain.feedback import Vote

_VOTES: Mapping[str, Vote] = {"like": "up", "sad": "down", "angry": "down"}
"""Teams has no thumb down among its reactions; its other ones say nothing of an answer."""

log = structlog.get_logger(__name__)


class Reactions:
    """Implements Registers: Teams tells of reactions to the bot's own messages only."""

    def __init__(
        self, *, answers: Answers, reacting: ReactionVotes, subjects: ActionTargets
    ) -> None:
        self._answers = answers
        self._reacting = reacting
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("messageReaction", self._take)

    async def _take(self, body: Body) -> bool:
        reaction, presser = reaction_in(body), presser_of(body)
        if reaction is None or not presser.person.id or is_ours(body):
            return False
        interaction = await self._answers.judged(body)
        if interaction is None:
            return False
        if await self._subjects.may_act(interaction.message, presser):
            await self._reacting.count(interaction.id, presser.person.id, reaction)
        else:
            log.info("teams.reaction_of_nobody", interaction_id=interaction.id)
        return True


def reaction_in(body: Body) -> Reaction | None:
    """Return what somebody's reactions have become, None for those that say nothing.

    Who changes a reaction adds one and removes another at once.
    """
    added, removed = _votes(body, "reactionsAdded"), _votes(body, "reactionsRemoved")
    if added:
        return Reaction(_moment(body), given=added[-1])
    return Reaction(_moment(body), taken=frozenset(removed)) if removed else None


def _votes(body: Body, key: str) -> tuple[Vote, ...]:
    kinds = (text_at(each, "type") for each in objects_at(body, key))
    return tuple(_VOTES[kind] for kind in kinds if kind in _VOTES)


def _moment(body: Body) -> str:
    """Return when it was, in seconds; what does not say so is of now."""
    return sent_at(body) or f"{datetime.now(UTC).timestamp():.6f}"
