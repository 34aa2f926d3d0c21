"""The bot comes into a chat or a team: it says hello, once."""

from __future__ import annotations

from collections.abc import Mapping

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.channel import TeamsChannel
from bot.adapters.teams.home.changes import change_of
from bot.adapters.teams.wire.body import Body, ConversationKind, conversation_of, kind_of
from bot.adapters.teams.wire.reference import elsewhere, reference_of
from bot.chat.adapters import ChatContext
from bot.chat.commands.help_texts import CHAT_HELLO, HELLO, PERSONAL_HELLO

_PATIENCE_SECONDS = 30.0
_WORDS: Mapping[ConversationKind, str] = {
    "personal": PERSONAL_HELLO,
    "groupChat": CHAT_HELLO,
    "channel": HELLO,
}


class Arrivals:
    """Implements Registers: installationUpdate and conversationUpdate, of which both come."""

    def __init__(self, channel: TeamsChannel, office: ChatContext) -> None:
        self._connector = channel.connector
        self._errands = channel.errands
        self._office = office

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("installationUpdate", self._arrived)
        dispatch.on_activity("conversationUpdate", self._arrived)

    async def _arrived(self, body: Body) -> bool:
        conversation = conversation_of(body)
        if change_of(body) != "added" or not conversation:
            return False
        if await self._office.notes.first(self._office.tenant, f"teams:hello:{conversation}"):
            self._errands.run(self._hello(body), what="hello")
        return True

    async def _hello(self, body: Body) -> None:
        """Say hello where an activity comes from; in a team that is its channel General."""
        kind = kind_of(body)
        where = elsewhere(reference_of(body), conversation_of(body), kind=kind)
        said = {"type": "message", "text": _WORDS[kind], "textFormat": "plain"}
        await self._connector.send(where, said, patience_seconds=_PATIENCE_SECONDS)
