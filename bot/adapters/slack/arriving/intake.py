"""All that Slack sends comes in here, by either transport; what is answered is acknowledged."""

from __future__ import annotations

import asyncio

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.adapters.slack.arriving.tenancy import Tenancy, places_of
from bot.adapters.slack.wire.events import Event, text_at
from bot.adapters.slack.wire.requests import ODD_SHAPE

_AT_ONCE = 16
"""An event costs some milliseconds of the loop; a herd of them must leave room for others. Who
waits here too long for Slack is kept all the same, and acknowledged when it is sent again."""

_UNKNOWN_COMMAND = "I don't know this command. Mention me in a channel, or write to me directly."

REFUSED = 403
NOT_YET = 503
_UNHANDLED = 404

log = structlog.get_logger(__name__)


class Intake:
    """The way from a request to those who take it, through Bolt."""

    def __init__(self, bolt: AsyncApp, tenancy: Tenancy) -> None:
        self._bolt = bolt
        self._tenancy = tenancy
        self._few = asyncio.Semaphore(_AT_ONCE)

    async def take(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer one request: 200 what is taken, 403 what is not ours, 503 what was not kept."""
        body: Event = request.body
        refused = None if _is_a_check(body) else self._refusal(body)
        if refused is not None:
            return refused
        if body.get("type") == "app_rate_limited":
            return _noted(body)
        async with self._few:
            return await self._dispatched(request)

    def _refusal(self, body: Event) -> BoltResponse | None:
        match self._tenancy.verdict(body):
            case "ours":
                return None
            case "unknown":
                log.warning("slack.not_ready", why="Slack has not said yet whose token this is.")
                return BoltResponse(status=NOT_YET, body="")
            case "strange":
                cure = "Set SLACK_TEAM_ID to it, if it is the one to serve."
                log.warning("slack.workspace_refused", team=sorted(places_of(body)), cure=cure)
                return BoltResponse(status=REFUSED, body="", headers={"X-Slack-No-Retry": "1"})

    async def _dispatched(self, request: AsyncBoltRequest) -> BoltResponse:
        try:
            response = await self._bolt.async_dispatch(request)
        except ODD_SHAPE as error:
            log.warning("slack.not_understood", type=_kind(request.body), exc_info=error)
            return BoltResponse(status=200, body="")
        except Exception as error:
            log.exception("slack.not_taken", error=type(error).__name__)
            return BoltResponse(status=NOT_YET, body="")
        if response.status != _UNHANDLED:
            return response
        log.info("slack.nobody_takes", type=_kind(request.body))
        known = "command" not in request.body
        return BoltResponse(status=200, body="" if known else _UNKNOWN_COMMAND)


def _is_a_check(body: Event) -> bool:
    """Tell whether Slack only checks the address; it names no workspace then."""
    return body.get("type") == "url_verification" or body.get("ssl_check") == "1"


def _noted(body: Event) -> BoltResponse:
    cure = (
        "Over 30,000 events came within an hour, and Slack holds the others back. Take the bot "
        "out of busy channels where nobody asks it."
    )
    log.error("slack.events_limited", minute=body.get("minute_rate_limited"), cure=cure)
    return BoltResponse(status=200, body="")


def _kind(body: Event) -> str:
    return text_at(body, "type") or text_at(body, "command")
