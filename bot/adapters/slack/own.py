"""Who the bot itself is on Slack: learnt from Slack, until then from each event's envelope."""

from __future__ import annotations

import asyncio

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import error_code
from bot.adapters.slack.events import Event, bot_users_of

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_HOPELESS = frozenset({"invalid_auth", "not_authed", "account_inactive", "token_revoked"})

log = structlog.get_logger(__name__)


class Own:
    """The bot's user id and its workspace; both empty until they are known."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self.user_id = ""
        self.team_id = ""

    def users(self, body: Event) -> frozenset[str]:
        """Return the ids that are the bot's, as far as is known while an event is taken."""
        return frozenset({self.user_id}) if self.user_id else bot_users_of(body)

    async def learn(self) -> None:
        """Ask who we are until Slack says it."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = await self._client.auth_test()
            except SlackApiError as error:
                if error_code(error) in _HOPELESS:
                    log.warning("slack.token_refused", error=error_code(error))
                    return
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                log.warning("slack.unreachable", error=type(error).__name__)
            else:
                self.user_id, self.team_id = str(answer["user_id"]), str(answer["team_id"])
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
