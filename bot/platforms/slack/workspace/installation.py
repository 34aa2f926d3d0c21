"""Handle the app's opening, addition and removal, and post greetings.

A user who opens a direct conversation is offered prompts; a channel that the bot joins is
greeted once.
"""

from __future__ import annotations

import time

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.chat.adapters import ChatContext
from bot.chat.commands.help_texts import HELLO, SUGGESTED_PROMPTS
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryFailed
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.events import id_at, object_at
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import MessageForm
from bot.platforms.slack.workspace.bot_identity import BotIdentity
from rag.lru import LruDict

_OFFERED_AGAIN_SECONDS = 3_600.0
_REMEMBERED = 1_000
_PATIENCE_SECONDS = 30.0

log = structlog.get_logger(__name__)


class InstallationEvents:
    """Handles the app's opening, its addition to a channel, and its removal.

    Implements `Listener`. Events of a removal may come late and more than once: Slack is asked
    whether the token still works.
    """

    def __init__(
        self,
        context: ChatContext,
        *,
        identity: BotIdentity,
        client: SlackClient,
        background: BackgroundTasks,
    ) -> None:
        self._context = context
        self._identity = identity
        self._client = client
        self._background = background
        self._offered = LruDict[str, float](_REMEMBERED)

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_home_opened")(self._opened)
        bolt.event("member_joined_channel")(self._joined)
        bolt.event("app_uninstalled")(self._removed)
        bolt.event("tokens_revoked")(self._revoked)

    async def _opened(self, event: dict[str, object]) -> None:
        user, channel = id_at(event, "user"), id_at(event, "channel")
        if user and channel and event.get("tab") == "messages" and self._is_due(user):
            self._background.run(self._offer_prompts(channel), what="suggested prompts")

    async def _joined(self, body: dict[str, object], event: dict[str, object]) -> None:
        channel = id_at(event, "channel")
        if not channel or id_at(event, "user") not in self._identity.users(body):
            return
        if await self._context.notes.first(self._context.tenant, f"slack:hello:{channel}"):
            greeting = self._client.chat_post_message(
                Place(channel, None, since="0"),
                (MessageForm(HELLO),),
                patience_seconds=_PATIENCE_SECONDS,
            )
            self._background.run(greeting, what="hello")

    async def _removed(self) -> None:
        self._identity.token_lost("The app was removed from the workspace.")

    async def _revoked(self, body: dict[str, object], event: dict[str, object]) -> None:
        revoked = object_at(event, "tokens").get("bot")
        users = self._identity.users(body)
        if isinstance(revoked, list) and (not users or users.intersection(map(str, revoked))):
            self._identity.token_lost("The bot's token was revoked.")

    def _is_due(self, user: str) -> bool:
        """Return whether a user was offered no prompts within the hour; if so, record the offer."""
        now = time.monotonic()
        last = self._offered.get(user)
        due = last is None or now - last >= _OFFERED_AGAIN_SECONDS
        self._offered[user] = now if due or last is None else last
        return due

    async def _offer_prompts(self, channel: str) -> None:
        """Set the suggested prompts of a direct conversation."""
        prompts = [{"title": each.title, "message": each.message} for each in SUGGESTED_PROMPTS]
        try:
            await self._client.assistant_threads_set_suggested_prompts(channel, prompts)
        except DeliveryFailed as error:
            log.info("slack.prompts_unavailable", error=str(error))
