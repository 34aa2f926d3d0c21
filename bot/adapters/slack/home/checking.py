"""What Slack says of all that is configured, as lines for `python -m bot doctor` and the board."""

from __future__ import annotations

import re
from collections.abc import Sequence

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calling.answers import UNSEEN
from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.home.checking_admins import admins_part
from bot.adapters.slack.home.identity import Colleagues
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.wire.scopes import OPTIONAL, REQUIRED, granted_in, lacking
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus, slack_transport
from bot.domain.settings import Settings

NAME = "Slack"
PEOPLE = "Slack people"
_REINSTALL = "Add them (infra/slack/manifest.yaml lists all) and reinstall the app."
_SOCKET_CURE = (
    "Set SLACK_APP_TOKEN to a token of this app with the scope connections:write (Basic "
    "Information > App-Level Tokens), and switch Socket Mode on."
)
_CHANNEL = re.compile(r"[CG][A-Z0-9]+")
_INVITE = "Invite the bot there: /invite @Frontdesk"


class Checking:
    """Asks Slack; nothing is posted, and nobody sees it."""

    def __init__(
        self,
        client: AsyncWebClient,
        caller: Caller,
        own: Own,
        colleagues: Colleagues,
        settings: Settings,
    ) -> None:
        self._client = client
        self._caller = caller
        self._own = own
        self._colleagues = colleagues
        self._settings = settings

    async def parts(self) -> Sequence[ComponentStatus]:
        """Return a line for each thing that is configured; the first is about the token."""
        try:
            answer = await self._caller.call("auth.test", self._client.auth_test)
        except DeliveryFailed as error:
            return [ComponentStatus(NAME, "failed", str(error))]
        if wrong := _another_workspace(answer, self._settings.slack_team_id):
            return [wrong]
        self._own.take(answer)
        found = [token_part(answer), await self._transport(), await self._people()]
        return [*found, await admins_part(self._settings.slack_admins, self._colleagues)]

    async def _transport(self) -> ComponentStatus:
        name, how = "Slack events", slack_transport(self._settings)
        token = self._settings.slack_app_token
        if token is None:
            return ComponentStatus(name, "ready", f"{how}, with a signing secret")
        try:
            await self._caller.call(
                "apps.connections.open",
                lambda: self._client.apps_connections_open(app_token=token.get_secret_value()),
            )
        except NotPermitted as error:
            return ComponentStatus(
                name, "failed", f"Slack refuses SLACK_APP_TOKEN ({error.code}).", _SOCKET_CURE
            )
        except DeliveryFailed as error:
            return ComponentStatus(name, "failed", str(error))
        return ComponentStatus(name, "ready", f"{how}; Slack gives out connections")

    async def _people(self) -> ComponentStatus:
        """Look at the channel where people are asked."""
        name, channel = PEOPLE, self._settings.slack_escalation_channel
        if channel is None:
            cure = "Set SLACK_ESCALATION_CHANNEL to the id (C…) of the channel to ask in."
            return ComponentStatus(
                name, "absent", "nobody is asked on Slack; the board shows cases.", cure
            )
        try:
            answer = await self._caller.call(
                "conversations.info", lambda: self._client.conversations_info(channel=channel)
            )
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in UNSEEN:
                return ComponentStatus(name, "failed", str(error))
            return _unseen(channel)
        except DeliveryFailed as error:
            return ComponentStatus(name, "failed", str(error))
        return people_part(channel, answer.get("channel") or {})


def token_part(answer: AsyncSlackResponse) -> ComponentStatus:
    """Compare the scopes of auth.test's answer with what is needed."""
    granted = granted_in(_header(answer, "x-oauth-scopes"))
    where = f"workspace {answer['team_id']}, user {answer['user_id']}"
    if missing := lacking(granted, REQUIRED):
        return ComponentStatus(NAME, "failed", f"scopes are missing: {missing}.", _REINSTALL)
    if missing := lacking(granted, OPTIONAL):
        return ComponentStatus(NAME, "ready", f"{where}. Scopes left out: {missing}.", _REINSTALL)
    return ComponentStatus(NAME, "ready", where)


def people_part(channel: str, room: dict[str, object]) -> ComponentStatus:
    """Judge the channel where people are asked, as conversations.info tells of it."""
    name = PEOPLE
    shown = f"#{room['name']} ({channel})" if room.get("name") else channel
    if room.get("is_archived"):
        cure = "Set SLACK_ESCALATION_CHANNEL to another, or unarchive it."
        return ComponentStatus(name, "failed", f"{shown} is archived.", cure)
    if not room.get("is_member"):
        return ComponentStatus(name, "failed", f"the bot is not in {shown}.", _INVITE)
    if room.get("is_ext_shared"):
        cure = "Choose one of your own company, unless that is meant."
        told = f"{shown}, which another company shares: it sees what colleagues ask."
        return ComponentStatus(name, "ready", told, cure)
    return ComponentStatus(name, "ready", f"asked in {shown}")


def _unseen(channel: str) -> ComponentStatus:
    """Say what is wrong with a channel that Slack does not show."""
    if not _CHANNEL.fullmatch(channel):
        cure = "Set SLACK_ESCALATION_CHANNEL to the id: the channel's name > About > at the bottom."
        return ComponentStatus(PEOPLE, "failed", f"{channel} is no channel's id (C\u2026).", cure)
    unseen = f"{channel} is not there, or private and without the bot."
    cure = "Correct SLACK_ESCALATION_CHANNEL, or invite the bot there: /invite @Frontdesk"
    return ComponentStatus(PEOPLE, "failed", unseen, cure)


def _another_workspace(answer: AsyncSlackResponse, team: str | None) -> ComponentStatus | None:
    """Return what is wrong where the token is for another workspace or organisation."""
    if team is None or team in {answer["team_id"], answer.get("enterprise_id")}:
        return None
    cure = "Set SLACK_TEAM_ID to it, or use the token of the other workspace."
    return ComponentStatus(
        NAME, "failed", f"the token is for workspace {answer['team_id']!r}.", cure
    )


def _header(answer: AsyncSlackResponse, name: str) -> str:
    headers = {key.lower(): value for key, value in answer.headers.items()}
    return str(headers.get(name, ""))
