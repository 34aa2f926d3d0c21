"""Check token, scopes, events, escalation channel and admins for `bot doctor` and the board.

The checks post nothing and nobody sees them. Without a required scope a promised feature fails;
without an optional one a feature is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus, slack_transport
from bot.domain.settings import Settings
from bot.platforms.slack.bot_identity import BotIdentity
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NOT_IN_CHANNEL, NeverPermitted, NotPermitted
from bot.platforms.slack.members import Colleagues
from bot.platforms.slack.payloads.events import Event

REQUIRED_SCOPES: Mapping[str, str] = {
    "app_mentions:read": "to be asked in channels",
    "channels:history": "to look up what was posted, before it is posted again",
    "channels:read": "to know whether people from outside read along",
    "chat:write": "to answer",
    "im:history": "to be asked in direct messages",
    "users:read": "to know who asks, and what they may read",
}
"""Each required scope with its purpose; without it a promised feature fails."""

OPTIONAL_SCOPES: Mapping[str, str] = {
    "assistant:write": "no suggested prompts, no Stop",
    "commands": "no /frontdesk, no /reindex, no shortcut on messages",
    "files:read": "files that come with a question are not read",
    "groups:history": "private channels: mentions only, no edits, no doubtful reply looked up",
    "groups:read": "private channels: nobody knows whether people from outside read along",
    "im:write": "no answers by direct message to what was asked elsewhere",
    "mpim:history": "group messages: no edits, no doubtful reply looked up",
    "mpim:read": "group messages: nobody knows whether people from outside read along",
    "reactions:read": "thumbs given as reactions are not counted",
    "reactions:write": "no eyes on a question where there is no status line",
    "usergroups:read": "groups in SLACK_ADMINS count for nobody",
    "users:read.email": "nobody gets pages that are for them alone",
}
"""Each optional scope with what is left out without it; the rest works."""


SMALL_MANIFEST = frozenset({"groups:history", "mpim:history", "mpim:read", "usergroups:read"})
"""The scopes that infra/slack/manifest-small.yaml leaves out on purpose."""


def missing_scopes(granted: frozenset[str], wanted: Mapping[str, str]) -> str:
    """Return the missing scopes, each with its text in ``wanted``; "" if none is missing."""
    return "; ".join(f"{scope} ({why})" for scope, why in wanted.items() if scope not in granted)


_ADMINS = "Slack admins"
_ADMINS_CURE = "Correct SLACK_ADMINS: U… of a person, S… of a user group, or an e-mail address."


async def admins_part(names: Sequence[str], colleagues: Colleagues) -> ComponentStatus:
    """Return the status of the configured admins, each of whom is looked up."""
    if not names:
        cure = "Set SLACK_ADMINS."
        return ComponentStatus(
            _ADMINS, "absent", "nobody may reindex or change settings in Slack.", cure
        )
    try:
        found = [(name, await _admin_trouble(name, colleagues)) for name in names]
    except DeliveryFailed as error:
        return ComponentStatus(_ADMINS, "failed", str(error))
    wrong = [f"{name} {trouble}" for name, trouble in found if trouble]
    if wrong:
        return ComponentStatus(_ADMINS, "failed", f"{'; '.join(wrong)}.", _ADMINS_CURE)
    return ComponentStatus(_ADMINS, "ready", ", ".join(names))


async def _admin_trouble(name: str, colleagues: Colleagues) -> str:
    """Return why an entry of SLACK_ADMINS is invalid, "" if it is valid. Raises DeliveryFailed."""
    if "@" in name:
        return "" if await colleagues.has_address(name) else "is no colleague's address"
    if not name.startswith("S"):
        return "" if await colleagues.of(name) else "is no colleague here"
    try:
        return "" if await colleagues.has_members(name) else "has no members"
    except (NotPermitted, NeverPermitted) as error:
        return f"can't be read ({error.code})"


SLACK_PART = "Slack"
PEOPLE_PART = "Slack people"
_REINSTALL = "Add them (infra/slack/manifest.yaml lists all) and reinstall the app."
_SMALL_CURE = "If that is missed, paste manifest.yaml or manifest-socket.yaml, and reinstall."
_SOCKET_CURE = (
    "Set SLACK_APP_TOKEN to a token of this app with the scope connections:write (Basic "
    "Information > App-Level Tokens), and switch Socket Mode on."
)
_CHANNEL = re.compile(r"[CG][A-Z0-9]+")
_INVITE = "Invite the bot there: /invite @Frontdesk"


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """Runs the checks against Slack; nothing is posted, and nobody sees them."""

    client: SlackClient
    identity: BotIdentity
    colleagues: Colleagues
    settings: Settings

    async def parts(self) -> Sequence[ComponentStatus]:
        """Return a status for each configured component; the first is the token's."""
        try:
            answer = await self.client.auth_test()
        except DeliveryFailed as error:
            return [ComponentStatus(SLACK_PART, "failed", str(error))]
        if wrong := _another_workspace(answer, self.settings.slack_team_id):
            return [wrong]
        self.identity.update_from(answer)
        found = [token_part(answer), await self._transport(), await self._people()]
        return [*found, await admins_part(self.settings.slack_admins, self.colleagues)]

    async def _transport(self) -> ComponentStatus:
        name, how = "Slack events", slack_transport(self.settings)
        token = self.settings.slack_app_token
        if token is None:
            return ComponentStatus(name, "ready", f"{how}, with a signing secret")
        try:
            await self.client.apps_connections_open(token.get_secret_value())
        except NotPermitted as error:
            return ComponentStatus(
                name, "failed", f"Slack refuses SLACK_APP_TOKEN ({error.code}).", _SOCKET_CURE
            )
        except DeliveryFailed as error:
            return ComponentStatus(name, "failed", str(error))
        return ComponentStatus(name, "ready", f"{how}; Slack gives out connections")

    async def _people(self) -> ComponentStatus:
        """Check the escalation channel."""
        name, channel = PEOPLE_PART, self.settings.slack_escalation_channel
        if channel is None:
            cure = "Set SLACK_ESCALATION_CHANNEL to the id (C…) of the channel to ask in."
            return ComponentStatus(
                name, "absent", "nobody is asked on Slack; the board shows cases.", cure
            )
        try:
            found = await self.client.conversations_info(channel)
        except (NotPermitted, NeverPermitted) as error:
            if error.code not in NOT_IN_CHANNEL:
                return ComponentStatus(name, "failed", str(error))
            return _invisible_channel(channel)
        except DeliveryFailed as error:
            return ComponentStatus(name, "failed", str(error))
        return people_part(channel, found)


def token_part(answer: AsyncSlackResponse) -> ComponentStatus:
    """Return the token's status, from the scopes in auth.test's response."""
    headers = {key.lower(): value for key, value in answer.headers.items()}
    listed = str(headers.get("x-oauth-scopes", "")).split(",")
    granted = frozenset(scope.strip() for scope in listed)
    where = f"workspace {answer['team_id']}, user {answer['user_id']}"
    if missing := missing_scopes(granted, REQUIRED_SCOPES):
        return ComponentStatus(SLACK_PART, "failed", f"scopes are missing: {missing}.", _REINSTALL)
    lacking = OPTIONAL_SCOPES.keys() - granted
    if lacking == SMALL_MANIFEST:
        missing = missing_scopes(granted, OPTIONAL_SCOPES)
        detail = f"{where}, from manifest-small.yaml, which leaves out: {missing}."
        return ComponentStatus(SLACK_PART, "ready", detail, _SMALL_CURE)
    if missing := missing_scopes(granted, OPTIONAL_SCOPES):
        return ComponentStatus(
            SLACK_PART, "ready", f"{where}. Scopes left out: {missing}.", _REINSTALL
        )
    return ComponentStatus(SLACK_PART, "ready", f"{where}, with all scopes of the full manifest")


def people_part(channel: str, found: Event) -> ComponentStatus:
    """Return the escalation channel's status, from conversations.info."""
    name = PEOPLE_PART
    shown = f"#{found['name']} ({channel})" if found.get("name") else channel
    if found.get("is_archived"):
        cure = "Set SLACK_ESCALATION_CHANNEL to another, or unarchive it."
        return ComponentStatus(name, "failed", f"{shown} is archived.", cure)
    if not found.get("is_member"):
        return ComponentStatus(name, "failed", f"the bot is not in {shown}.", _INVITE)
    if found.get("is_ext_shared"):
        cure = "Choose one of your own company, unless that is meant."
        detail = f"{shown}, which another company shares: it sees what colleagues ask."
        return ComponentStatus(name, "ready", detail, cure)
    return ComponentStatus(name, "ready", f"asked in {shown}")


def _invisible_channel(channel: str) -> ComponentStatus:
    """Return the status of a channel that Slack does not show to the bot."""
    if not _CHANNEL.fullmatch(channel):
        cure = "Set SLACK_ESCALATION_CHANNEL to the id: the channel's name > About > at the bottom."
        return ComponentStatus(
            PEOPLE_PART, "failed", f"{channel} is no channel's id (C\u2026).", cure
        )
    unseen = f"{channel} is not there, or private and without the bot."
    cure = "Correct SLACK_ESCALATION_CHANNEL, or invite the bot there: /invite @Frontdesk"
    return ComponentStatus(PEOPLE_PART, "failed", unseen, cure)


def _another_workspace(answer: AsyncSlackResponse, team: str | None) -> ComponentStatus | None:
    """Return a failed status if the token is for another workspace or organisation."""
    if team is None or team in {answer["team_id"], answer.get("enterprise_id")}:
        return None
    cure = "Set SLACK_TEAM_ID to it, or use the token of the other workspace."
    return ComponentStatus(
        SLACK_PART, "failed", f"the token is for workspace {answer['team_id']!r}.", cure
    )
