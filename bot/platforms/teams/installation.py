"""Track where the bot is installed or removed, and post a greeting where it is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bot.chat.adapters import ChatContext
from bot.chat.commands.command_texts import CHAT_HELLO, HELLO, PERSONAL_HELLO
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import StoreUnavailable
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import OutsideReaders
from bot.platforms.teams.payloads.activity import (
    Body,
    ConversationKind,
    conversation_of,
    is_private,
    kind_of,
    objects_at,
    person_of,
    reference_of,
    reference_to,
    text_at,
)

InstallationChange = Literal["added", "removed", "reopened", "closed"]
"""added, removed: the bot. reopened, closed: the channel or the team."""

_INSTALLATION_ACTIONS: Mapping[str, InstallationChange] = {
    "add": "added",
    "add-upgrade": "reopened",
    "remove": "removed",
}
"""remove-upgrade is left out, as add-upgrade follows it."""

_CHANNEL_EVENTS: Mapping[str, InstallationChange] = {
    "channelDeleted": "closed",
    "teamArchived": "closed",
    "teamDeleted": "closed",
    "teamHardDeleted": "closed",
    "channelRestored": "reopened",
    "teamRestored": "reopened",
    "teamUnarchived": "reopened",
}


def installation_change_of(body: Body) -> InstallationChange | None:
    """Return how an activity changes where the bot can post; None if it does not."""
    kind = text_at(body, "type")
    if kind == "installationUpdate":
        return _INSTALLATION_ACTIONS.get(text_at(body, "action"))
    if kind != "conversationUpdate":
        return None
    if _names_bot(body, "membersAdded"):
        return "added"
    if _names_bot(body, "membersRemoved"):
        return "removed"
    return _CHANNEL_EVENTS.get(text_at(body, "channelData", "eventType"))


def changed_conversation_of(body: Body) -> str:
    """Return the conversation of a change; a channel's is reported through its team."""
    channel = text_at(body, "channelData", "channel", "id")
    event = text_at(body, "channelData", "eventType")
    return channel if channel and event in _CHANNEL_EVENTS else conversation_of(body)


def _names_bot(body: Body, members: str) -> bool:
    bot = text_at(body, "recipient", "id")
    return bool(bot) and any(text_at(each, "id") == bot for each in objects_at(body, members))


_REASONS_TO_STOP: dict[InstallationChange, str] = {
    "removed": "The bot was removed.",
    "closed": "The channel or the team was closed.",
}


class InstallationEvents:
    """Stores conversations, removals and outside readers. Implements `Listener`.

    It only observes all activities, which go on to other listeners, such as the greetings.
    """

    def __init__(
        self,
        client: TeamsClient,
        outside_readers: OutsideReaders,
        background: BackgroundTasks,
    ) -> None:
        self._conversations, self._removals = client.conversations, client.removals
        self._outside_readers = outside_readers
        self._background = background

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_every(self._note)

    async def _note(self, body: Body) -> None:
        """Store what is new; known facts are not written again. Raises StoreUnavailable."""
        try:
            await self._observe(body)
        except StoreUnavailable:
            # Teams redelivers an activity but not an invoke, whose presser sees an error text
            # instead.
            if text_at(body, "type") != "invoke":
                raise

    async def _observe(self, body: Body) -> None:
        change, conversation = installation_change_of(body), conversation_of(body)
        if not conversation:
            return
        if change in _REASONS_TO_STOP:
            await self._store_removal(body, _REASONS_TO_STOP[change])
            return
        if change is None:
            await self._removals.clear(conversation)
            # In the background: this runs for each activity, and the acknowledgement must not wait.
            self._background.run(self._conversations.note(body), what="place noted")
        else:
            await self._removals.clear_added(changed_conversation_of(body))
            await self._conversations.note(body, rewrite=change == "added")
        await self._outside_readers.note(body)

    async def _store_removal(self, body: Body, why: str) -> None:
        await self._removals.mark_removed(changed_conversation_of(body), why)
        if is_private(body) and person_of(body).id:
            await self._conversations.forget_chat(person_of(body).id)


_PATIENCE_SECONDS = 30.0
_HELLO_WORDS: Mapping[ConversationKind, str] = {
    "personal": PERSONAL_HELLO,
    "groupChat": CHAT_HELLO,
    "channel": HELLO,
}


class Greetings:
    """Posts greetings, where there are no suggested prompts. Implements `Listener`.

    Handles both installationUpdate and conversationUpdate, as Teams sends both.
    """

    def __init__(self, channel: TeamsChannel, context: ChatContext) -> None:
        self._client = channel.client
        self._background = channel.background
        self._context = context
        self._wanted = channel.settings.teams_hello or channel.settings.teams_dev_mode

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_activity("installationUpdate", self._greet_if_new)
        dispatch.on_activity("conversationUpdate", self._greet_if_new)

    async def _greet_if_new(self, body: Body) -> bool:
        conversation = conversation_of(body)
        if installation_change_of(body) != "added" or not conversation:
            return False
        if not self._wanted:
            return True
        if await self._context.notes.first(self._context.tenant, f"teams:hello:{conversation}"):
            self._background.run(self._greet(body), what="hello")
        return True

    async def _greet(self, body: Body) -> None:
        """Post a greeting in the activity's conversation; in a team that is its channel General."""
        kind = kind_of(body)
        where = reference_to(reference_of(body), conversation_of(body), kind=kind)
        greeting = {"type": "message", "text": _HELLO_WORDS[kind], "textFormat": "plain"}
        await self._client.send(where, greeting, patience_seconds=_PATIENCE_SECONDS)
