"""The bot on Slack: its identity, its workspace, its token, and where its app is installed.

auth.test is called until it succeeds, and again whenever the token is in doubt. Requests for
another workspace or organisation are refused. A user who opens a direct conversation is offered
prompts; a channel that the bot joins is greeted once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Literal

import aiohttp
import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.chat.adapters import ChatContext
from bot.chat.commands.command_texts import HELLO
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.domain.suggested_prompts import SuggestedPrompt
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import response_error_code
from bot.platforms.slack.client.rate_limits import Pause
from bot.platforms.slack.payloads.events import (
    BotIds,
    Event,
    authorization,
    bot_ids_in,
    id_at,
    object_at,
    text_at,
)
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import MessageForm
from rag.types import BoundedDict

TOKEN = "token"  # noqa: S105 - the name of a component, not a secret
SOCKET = "socket"


class SlackHealth:
    """The current problems by component; none at the start.

    A component is the token, the socket, or a channel in which people can't be asked; they are
    reported in this order. ``healthy`` is the status while there is no problem.
    """

    def __init__(self, healthy: ComponentStatus) -> None:
        self._healthy = healthy
        self._problems: dict[str, tuple[str, str]] = {}

    def note(self, about: str, why: str, *, cure: str) -> None:
        """Record a component's problem and its cure."""
        self._problems[about] = (why, cure)

    def clear(self, about: str) -> None:
        """Remove a component's problem."""
        self._problems.pop(about, None)

    def why(self, about: str) -> str:
        """Return a component's problem and its cure, "" if there is none."""
        return " ".join(self._problems.get(about, ()))

    def part(self) -> ComponentStatus:
        """Return the first problem as a status for the operator: token, socket, then channels."""
        for about in (TOKEN, SOCKET, *self._problems):
            if about in self._problems:
                why, cure = self._problems[about]
                return ComponentStatus("Slack", "failed", why, cure)
        return self._healthy


_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_DEAD_TOKEN_CODES = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"}
)
_CURE = "Install the app again, set SLACK_BOT_TOKEN to its token, and restart."

log = structlog.get_logger(__name__)


class BotIdentity:
    """The bot's ids and its workspace; empty until auth.test has succeeded.

    ``enterprise_id`` is set where the app is installed for a whole organisation. ``configured`` is
    the workspace to serve, None for the token's own.
    """

    def __init__(
        self,
        client: SlackClient,
        health: SlackHealth,
        *,
        configured: str | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._client = client
        self._health = health
        self._configured = configured
        self._pause = pause
        self._in_doubt = asyncio.Event()
        self.user_id = ""
        self.bot_id = ""
        self.team_id = ""
        self.enterprise_id = ""

    @property
    def workspace(self) -> str:
        """The served workspace or organisation: configured or the token's, "" until known."""
        return self._configured or self.enterprise_id or self.team_id

    def ids(self, body: Event) -> BotIds:
        """Return the bot's ids, from the event's envelope until auth.test has succeeded."""
        return BotIds(frozenset({self.user_id}), self.bot_id) if self.user_id else bot_ids_in(body)

    def users(self, body: Event) -> frozenset[str]:
        """Return the bot's user id, from the event's envelope until auth.test has succeeded."""
        return self.ids(body).users

    def token_lost(self, why: str) -> None:
        """Mark the token as dead until auth.test succeeds, and trigger that call."""
        log.error("slack.token_lost", why=why, cure=_CURE)
        self._give_up(why)
        self._in_doubt.set()

    async def keep_resolved(self) -> None:
        """Call auth.test until it succeeds and whenever the token is in doubt; never return."""
        while True:
            self._in_doubt.clear()
            await self.resolve()
            await self._in_doubt.wait()

    async def resolve(self) -> None:
        """Call auth.test until it succeeds, with pauses that grow from 1 s to 60 s."""
        pause = _FIRST_PAUSE_SECONDS
        while not await self._try_auth_test():
            await self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def update_from(self, answer: AsyncSlackResponse) -> None:
        """Store the ids of an auth.test response; mark the token as working."""
        self.user_id, self.team_id = str(answer["user_id"]), str(answer["team_id"])
        self.bot_id = str(answer.get("bot_id") or "")
        wide = answer.get("is_enterprise_install")
        self.enterprise_id = str(answer.get("enterprise_id") or "") if wide else ""
        self._health.clear(TOKEN)
        self._client.caller.barred = ""

    async def _try_auth_test(self) -> bool:
        try:
            answer = await self._client.web.auth_test()
        except SlackApiError as error:
            self._refused(response_error_code(error.response))
            return False
        except (aiohttp.ClientError, OSError, TimeoutError, AttributeError) as error:
            # slack_sdk raises AttributeError for a response that is no JSON object: a proxy's page.
            log.warning("slack.unreachable", error=type(error).__name__)
            return False
        self.update_from(answer)
        return True

    def _refused(self, code: str) -> None:
        if code not in _DEAD_TOKEN_CODES:
            return
        if not self._health.why(TOKEN):
            log.error("slack.token_refused", error=code, cure=_CURE)
        self._give_up(f"Slack refuses the token ({code}).")

    def _give_up(self, why: str) -> None:
        """Record the dead token, and bar all calls with it."""
        self._health.note(TOKEN, why, cure=_CURE)
        self._client.caller.barred = f"{why} {_CURE}"


Verdict = Literal["ours", "strange", "unknown"]
"""unknown: the workspace of the token is not known yet."""


def verdict_on(body: Event, served: str) -> Verdict:
    """Classify a request of any kind by the workspace or organisation that is served."""
    if not served:
        return "unknown"
    return "ours" if served in workspaces_of(body) else "strange"


def workspaces_of(body: Event) -> frozenset[str]:
    """Return the workspace and the organisation for which a request was sent.

    In a shared channel an envelope may name another workspace than the one it is delivered for;
    then the authorization is correct, and so is ``app_installed_team_id`` of a modal opened there.
    """
    installed = text_at(object_at(body, "view"), "app_installed_team_id")
    if installed:
        return frozenset({installed})
    granted = authorization(body)
    holders = [granted] if text_at(granted, "team_id") else [granted, body]
    found = {text_at(each, key) for each in holders for key in ("team_id", "enterprise_id")}
    for key in ("team", "enterprise"):
        found.add(text_at(object_at(body, key), "id"))
    return frozenset(found - {""})


_OFFERED_AGAIN_SECONDS = 3_600.0
_REMEMBERED = 1_000
_PATIENCE_SECONDS = 30.0


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
        prompts: Sequence[SuggestedPrompt],
    ) -> None:
        self._context = context
        self._prompts = prompts
        self._identity = identity
        self._client = client
        self._background = background
        self._offered = BoundedDict[str, float](_REMEMBERED)

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_home_opened")(self._opened)
        bolt.event("member_joined_channel")(self._joined)
        bolt.event("app_uninstalled")(self._removed)
        bolt.event("tokens_revoked")(self._revoked)

    async def _opened(self, event: dict[str, object]) -> None:
        user, channel = id_at(event, "user"), id_at(event, "channel")
        if (
            user
            and channel
            and event.get("tab") == "messages"
            and self._prompts
            and self._is_due(user)
        ):
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
        prompts = [{"title": each.title, "message": each.message} for each in self._prompts]
        try:
            await self._client.assistant_threads_set_suggested_prompts(channel, prompts)
        except DeliveryFailed as error:
            log.info("slack.prompts_unavailable", error=str(error))
