"""Who the bot itself is on Slack, and whether it still is: learnt from Slack, again if in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calling.calls import Caller, error_code
from bot.adapters.slack.home.standing import TOKEN, Standing
from bot.adapters.slack.wire.events import Event, Us, us_in

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_HOPELESS = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"}
)
_CURE = "Install the app again, set SLACK_BOT_TOKEN to its token, and restart."

Pause = Callable[[float], Awaitable[None]]

log = structlog.get_logger(__name__)


class Own:
    """The bot's ids and its workspace; empty until they are known.

    ``enterprise_id`` is set where the app is installed for a whole organisation.
    """

    def __init__(
        self,
        client: AsyncWebClient,
        caller: Caller,
        standing: Standing,
        *,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._client = client
        self._caller = caller
        self._standing = standing
        self._pause = pause
        self._doubt = asyncio.Event()
        self.user_id = ""
        self.bot_id = ""
        self.team_id = ""
        self.enterprise_id = ""

    @property
    def workspace(self) -> str:
        """What the token is for: an organisation or a workspace, "" until it is known."""
        return self.enterprise_id or self.team_id

    def us(self, body: Event) -> Us:
        """Return the ids that are the bot's, as far as is known while an event is taken."""
        return Us(frozenset({self.user_id}), self.bot_id) if self.user_id else us_in(body)

    def users(self, body: Event) -> frozenset[str]:
        """Return the bot's own user id, as far as is known while an event is taken."""
        return self.us(body).users

    def lose(self, why: str) -> None:
        """Take the token for dead until Slack says otherwise, and ask it."""
        log.error("slack.token_lost", why=why, cure=_CURE)
        self._give_up(why)
        self._doubt.set()

    async def keep(self) -> None:
        """Ask who we are until Slack says it, and again whenever that is in doubt."""
        while True:
            self._doubt.clear()
            await self.learn()
            await self._doubt.wait()

    async def learn(self) -> None:
        """Ask who we are until Slack says it."""
        pause = _FIRST_PAUSE_SECONDS
        while not await self._asked():
            await self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def take(self, answer: AsyncSlackResponse) -> None:
        """Note who auth.test says that we are; so the token works."""
        self.user_id, self.team_id = str(answer["user_id"]), str(answer["team_id"])
        self.bot_id = str(answer.get("bot_id") or "")
        wide = answer.get("is_enterprise_install")
        self.enterprise_id = str(answer.get("enterprise_id") or "") if wide else ""
        self._standing.clear(TOKEN)
        self._caller.barred = ""

    async def _asked(self) -> bool:
        try:
            answer = await self._client.auth_test()
        except SlackApiError as error:
            code = error_code(error)
            if code in _HOPELESS:
                self._refused(code)
            return False
        except (aiohttp.ClientError, OSError, TimeoutError, AttributeError) as error:
            # slack_sdk stumbles over an answer that is no JSON object: a proxy's page.
            log.warning("slack.unreachable", error=type(error).__name__)
            return False
        self.take(answer)
        return True

    def _refused(self, code: str) -> None:
        if not self._standing.why(TOKEN):
            log.error("slack.token_refused", error=code, cure=_CURE)
        self._give_up(f"Slack refuses the token ({code}).")

    def _give_up(self, why: str) -> None:
        """Call nobody with a dead token, and say so."""
        self._standing.note(TOKEN, why, cure=_CURE)
        self._caller.barred = f"{why} {_CURE}"
