"""Why somebody's newest question got what it got: a message that leads to the explanation."""

from __future__ import annotations

from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.showing.elements import card, opens, text_block, with_card
from bot.adapters.teams.wire.actions import WHY
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_plain
from bot.errors import InteractionUnknown
from bot.office import Office
from bot.orders.types import Orderer
from bot.rendering.markdown import clip
from bot.types import Message
from bot.why.explaining import NOTHING_YET

_TITLE = "Why?"
_QUESTION_LENGTH = 200


class NewestWhy:
    """Implements bot.adapters.teams.commands.commands.Answers.

    What is explained is for the eyes of who presses, and bounded as below every answer.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    async def answer(self, message: Message, by: Orderer) -> tuple[Json, ...]:
        """Return a message with a button that opens the explanation."""
        try:
            newest = await self._office.explaining.newest(
                self._office.tenant, "teams", message.thread.channel, by.person.id
            )
        except InteractionUnknown:
            return said(NOTHING_YET)
        question = clip(newest.message.text, _QUESTION_LENGTH)
        asked = text_block(card_plain(f"Your newest question here: {question}"))
        shown = card([asked], [opens(_TITLE, WHY, newest.id)])
        return (with_card({"type": "message", "summary": _TITLE}, shown),)
