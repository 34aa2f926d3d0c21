"""Thumbs below an answer, by Teams' own form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.wire.body import Body, Json, conversation_of, person_of, text_at
from bot.adapters.teams.wire.invokes import NOTHING
from bot.errors import FeedbackInvalid
from bot.feedback import LONGEST_COMMENT, judgement
from bot.office import Office
from bot.types import PostedRef

_VOTES: Mapping[str, Literal["up", "down"]] = {"like": "up", "dislike": "down"}

log = structlog.get_logger(__name__)


class FeedbackLoop:
    """Implements Registers: message/submitAction."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_invoke("message/submitAction", self._rate)

    async def _rate(self, body: Body) -> Json:
        """Keep a thumb on an answer of ours."""
        vote = _VOTES.get(text_at(body, "value", "actionValue", "reaction"))
        if vote is None:
            return NOTHING
        ref = PostedRef(conversation_of(body), text_at(body, "replyToId"))
        found = await self._office.interactions.find_posted(self._office.tenant, ref)
        if found is None:
            log.info("teams.feedback_unmatched")
            return NOTHING
        with suppress(FeedbackInvalid):
            given = judgement(found.id, person_of(body).id, vote, comment=_comment(body))
            await self._office.interactions.rate(given)
        return NOTHING


def _comment(body: Body) -> str:
    """Return the words with a thumb; Teams sends them as JSON in a string, others plainly."""
    given = text_at(body, "value", "actionValue", "feedback")
    try:
        parsed = json.loads(given)
    except ValueError:
        return given[:LONGEST_COMMENT]
    return (text_at(parsed, "feedbackText") if isinstance(parsed, dict) else given)[
        :LONGEST_COMMENT
    ]
