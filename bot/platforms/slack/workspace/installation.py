"""Handle the app's opening, addition and removal, and post greetings.

A user who opens a direct conversation is offered prompts; a channel that the bot joins is
greeted once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.chat.adapters import ChatContext
from bot.chat.commands.help_texts import HELLO, SUGGESTED_PROMPTS
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryFailed
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.payloads.events import id_at, object_at
from bot.platforms.slack.workspace.bot_identity import BotIdentity


class InstallationEvents:
    """Handles app_uninstalled and tokens_revoked. Implements `Listener`.

    These events may come late and more than once: Slack is asked whether the token still works.
    """

    def __init__(self, own: BotIdentity) -> None:
        self._own = own

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_uninstalled")(self._removed)
        bolt.event("tokens_revoked")(self._revoked)

    async def _removed(self) -> None:
        self._own.lose("The app was removed from the workspace.")

    async def _revoked(self, body: dict[str, object], event: dict[str, object]) -> None:
        revoked = object_at(event, "tokens").get("bot")
        users = self._own.users(body)
        if isinstance(revoked, list) and (not users or users.intersection(map(str, revoked))):
            self._own.lose("The bot's token was revoked.")


_OFFERED_AGAIN_SECONDS = 3_600.0
_REMEMBERED = 1_000
_PATIENCE_SECONDS = 30.0

log = structlog.get_logger(__name__)


class Greetings:
    """Handles app_home_opened and member_joined_channel. Implements `Listener`."""

    def __init__(
        self,
        own: BotIdentity,
        context: ChatContext,
        *,
        channel: SlackChannel,
        background: BackgroundTasks,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = own
        self._context = context
        self._background = background
        self._greeter = Greeter(channel)
        self._clock = clock
        self._offered: OrderedDict[str, float] = OrderedDict()

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_home_opened")(self._opened)
        bolt.event("member_joined_channel")(self._joined)

    async def _opened(self, event: dict[str, object]) -> None:
        user, channel = id_at(event, "user"), id_at(event, "channel")
        if user and channel and event.get("tab") == "messages" and self._is_due(user):
            self._background.run(self._greeter.offer(channel), what="suggested prompts")

    async def _joined(self, body: dict[str, object], event: dict[str, object]) -> None:
        channel = id_at(event, "channel")
        if not channel or id_at(event, "user") not in self._own.users(body):
            return
        if await self._context.notes.first(self._context.tenant, f"slack:hello:{channel}"):
            self._background.run(self._greeter.hello(channel), what="hello")

    def _is_due(self, user: str) -> bool:
        """Return whether a user was offered no prompts within the hour; if so, record the offer."""
        now = self._clock()
        last = self._offered.pop(user, None)
        due = last is None or now - last >= _OFFERED_AGAIN_SECONDS
        self._offered[user] = now if due or last is None else last
        while len(self._offered) > _REMEMBERED:
            self._offered.popitem(last=False)
        return due


class Greeter:
    """Posts greetings and suggested prompts; what Slack refuses is dropped."""

    def __init__(self, channel: SlackChannel) -> None:
        self._client = channel.client
        self._caller: ApiCaller = channel.caller

    async def offer(self, channel: str) -> None:
        """Set the suggested prompts of a direct conversation."""
        prompts = [{"title": each.title, "message": each.message} for each in SUGGESTED_PROMPTS]
        try:
            await self._caller.call(
                "assistant.threads.setSuggestedPrompts",
                lambda: self._client.assistant_threads_setSuggestedPrompts(
                    channel_id=channel, prompts=prompts
                ),
            )
        except DeliveryFailed as error:
            log.info("slack.prompts_unavailable", error=str(error))

    async def hello(self, channel: str) -> None:
        """Post the greeting in a channel."""
        await self._caller.call(
            "chat.postMessage",
            lambda: self._client.chat_postMessage(
                channel=channel, text=HELLO, unfurl_links=False, unfurl_media=False
            ),
            channel=channel,
            patience_seconds=_PATIENCE_SECONDS,
        )
