"""Why somebody's newest question got what it got: a card that says it in words."""

from __future__ import annotations

from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.pressed.why_view import explained, title_of
from bot.adapters.teams.showing.elements import opens, with_card
from bot.adapters.teams.wire.actions import WHY
from bot.adapters.teams.wire.body import Json
from bot.answering.asker_identity import ReaderLookup
from bot.answering.explanations.explainer import NOTHING_YET
from bot.chat.actions import ExplainAction
from bot.chat.adapters import ChatContext
from bot.chat.commands.types import CommandCaller
from bot.chat.votes import can_be_rated
from bot.domain.errors import InteractionUnknown
from bot.domain.types import Message

SAY_WHAT_WAS_WRONG = "Say what was wrong"


class NewestWhy:
    """Implements bot.adapters.teams.commands.commands.Answers.

    All who see the conversation may read the answer, so it is bounded as below every answer.
    """

    def __init__(self, office: ChatContext, readers: ReaderLookup) -> None:
        self._office = office
        self._why = ExplainAction(office, readers)

    async def answer(self, message: Message, by: CommandCaller) -> tuple[Json, ...]:
        """Return the explanation; a dialog to judge the answer is an extra, no client needs it."""
        person = by.person.id
        try:
            newest = await self._office.explaining.newest(
                self._office.tenant, "teams", message.thread.channel, person
            )
            explanation = await self._why.explain(newest, person)
        except InteractionUnknown:
            return said(NOTHING_YET)
        judged = can_be_rated(newest.outcome)
        buttons = [opens(SAY_WHAT_WAS_WRONG, WHY, newest.id)] if judged else []
        told = {"type": "message", "summary": title_of(explanation)}
        return (with_card(told, explained(explanation, actions=buttons)),)
