"""Thumbs below an answer, by Teams' own form."""

from __future__ import annotations

import json
from collections.abc import Mapping

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import presser_of
from bot.adapters.teams.pressed.answers import Answers
from bot.adapters.teams.wire.body import Body, Json, text_at
from bot.adapters.teams.wire.invokes import NOTHING
from bot.chat.actions import ActionTargets
from bot.chat.votes import AnswerVotes
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, Vote
from bot.domain.types import Interaction

_VOTES: Mapping[str, Vote] = {"like": "up", "dislike": "down"}
_WORDS = "feedbackText"

log = structlog.get_logger(__name__)


class FeedbackLoop:
    """Implements Registers: message/submitAction. Teams wants ``{}``, whatever comes of it."""

    def __init__(
        self, *, tenant: str, answers: Answers, judging: AnswerVotes, subjects: ActionTargets
    ) -> None:
        self._tenant = tenant
        self._answers = answers
        self._judging = judging
        self._subjects = subjects

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_invoke("message/submitAction", self._take)

    async def _take(self, body: Body) -> Json:
        vote = _VOTES.get(text_at(body, "value", "actionValue", "reaction"))
        if vote is None:
            return NOTHING
        interaction = await self._judged(body)
        if interaction is None:
            log.info("teams.feedback_unmatched")
        elif not await self._subjects.may_act(interaction.message, presser_of(body)):
            log.info("teams.feedback_of_nobody", interaction_id=interaction.id)
        else:
            await self._keep(interaction, body, vote)
        return NOTHING

    async def _judged(self, body: Body) -> Interaction | None:
        if text_at(body, "replyToId"):
            return await self._answers.judged(body)
        return await self._answers.newest_of(body)

    async def _keep(self, interaction: Interaction, body: Body, vote: Vote) -> None:
        person = presser_of(body).person.id
        try:
            await self._judging.vote(
                self._tenant, interaction.id, person, vote, comment=words_of(body)
            )
        except (FeedbackInvalid, InteractionUnknown) as error:
            log.info("teams.feedback_not_counted", why=str(error))


def words_of(body: Body) -> str:
    """Return the words with a thumb, "" for none, cut at what is kept.

    Teams sends them as JSON in a string, the playground as they are; who writes "5" says "5".
    """
    given = text_at(body, "value", "actionValue", "feedback")
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError):
        parsed = None
    said = text_at(parsed, _WORDS) if isinstance(parsed, dict) else given
    return said.strip()[:LONGEST_COMMENT]
