"""Who people on Slack are, as Slack vouches for it now: asked, and kept for ten minutes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calling.calls import Caller, Send
from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.home.members import Home, Member, member_of, own_bot, unknown
from bot.adapters.slack.home.own import Own
from bot.adapters.slack.wire.reply_to import was_shared
from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.domain.types import Introduction, Message

_KEPT_SECONDS = 600.0
_MOST = 1_000
_CALL_SECONDS = 5.0
"""Somebody waits for an answer meanwhile; of whom Slack does not tell by then is not answered."""

_TURN_SECONDS = 60.0
"""How long a call may wait for its turn: of many at once, after a start too, each is answered,
though not at once. To refuse colleagues for that would be worse than to let them wait."""

_NOBODY = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Colleague:
    """A full member of the workspace that is served; ``email`` in small letters, if it is known."""

    id: str
    name: str
    email: str | None


class Colleagues:
    """Tells colleagues from everybody else, and who is in a user group.

    Raises bot.domain.errors.DeliveryFailed while Slack doesn't tell; then nobody is a colleague.
    """

    def __init__(
        self, client: AsyncWebClient, caller: Caller, own: Own, settings: Settings
    ) -> None:
        self._client = client
        self._caller = caller
        self._own = own
        self._configured = settings.slack_team_id
        domains = (each.lower().removeprefix("@") for each in settings.slack_allowed_domains)
        self._domains = frozenset(domains)
        self._members = TtlCache(self._asked, seconds=_KEPT_SECONDS, most=_MOST)
        self._groups = TtlCache(self._listed, seconds=_KEPT_SECONDS, most=_MOST)

    async def of(self, user_id: str) -> Colleague | None:
        """Return a colleague, None for bots, guests, strangers and who has left."""
        member = await self.member(user_id)
        return Colleague(member.id, member.name, member.email) if member.colleague else None

    async def member(self, user_id: str) -> Member:
        """Return what is known of somebody, whoever they are."""
        if user_id.startswith("B"):
            return own_bot(user_id)
        return await self._members.get(user_id)

    async def in_group(self, user_id: str, group_id: str) -> bool:
        """Tell whether somebody is in a user group (S…)."""
        return user_id in await self._groups.get(group_id)

    async def has_members(self, group_id: str) -> bool:
        """Tell whether a user group is not empty."""
        return bool(await self._groups.get(group_id))

    async def addressed(self, email: str) -> Colleague | None:
        """Return the colleague who has an e-mail address; it is asked for each time."""
        home = self._home()
        answer = await self._known(
            "users.lookupByEmail", lambda: self._client.users_lookupByEmail(email=email)
        )
        member = member_of(answer.get("user") or {}, home) if answer else unknown("")
        return Colleague(member.id, member.name, member.email) if member.email else None

    async def _asked(self, user_id: str) -> Member:
        home = self._home()
        answer = await self._known("users.info", lambda: self._client.users_info(user=user_id))
        if answer is None:
            return unknown(user_id)
        return replace(member_of(answer.get("user") or {}, home), id=user_id)

    async def _known(self, what: str, send: Send) -> AsyncSlackResponse | None:
        """Make a call about somebody; None where there is nobody of that name."""
        try:
            return await self._soon(what, send)
        except (NeverPermitted, NotPermitted) as error:
            if error.code in _NOBODY:
                return None
            raise

    async def _soon(self, what: str, send: Send) -> AsyncSlackResponse:
        """Make a call that takes no more than the seconds somebody waits, after its turn came."""
        return await self._caller.call(what, in_time(send), turn_seconds=_TURN_SECONDS)

    def _home(self) -> Home:
        """Raises DeliveryFailed until Slack has said whose token it is."""
        workspace = self._configured or self._own.workspace
        if not workspace:
            raise DeliveryFailed("Slack has not said yet which workspace the token is for.")
        return Home(workspace, self._domains)

    async def _listed(self, group_id: str) -> frozenset[str]:
        answer = await self._caller.call(
            "usergroups.users.list",
            lambda: self._client.usergroups_users_list(usergroup=group_id),
        )
        return frozenset(map(str, answer.get("users") or ()))


class Introducer:
    """Implements bot.domain.capabilities.Introduces, for whom colleagues and rooms are asked for."""

    def __init__(self, client: AsyncWebClient, caller: Caller, colleagues: Colleagues) -> None:
        self._client = client
        self._caller = caller
        self._colleagues = colleagues
        self._shared = TtlCache(self._is_shared, seconds=_KEPT_SECONDS, most=_MOST)

    async def introduce(self, message: Message) -> Introduction:
        """Tell who asks, and whether people of other organisations ask or read along."""
        member, shared = await asyncio.gather(
            self._colleagues.member(message.author.id), self._has_outsiders(message)
        )
        return Introduction(member.person, outsiders=shared or bool(member.outsider))

    async def _has_outsiders(self, message: Message) -> bool:
        if message.private:
            return False
        told = was_shared(message) if _is_recent(message) else None
        return told if told is not None else await self._shared.get(message.thread.channel)

    async def _is_shared(self, channel: str) -> bool:
        answer = await self._caller.call(
            "conversations.info",
            in_time(lambda: self._client.conversations_info(channel=channel)),
            turn_seconds=_TURN_SECONDS,
        )
        room = answer.get("channel") or {}
        outside = room.get("is_ext_shared") or room.get("is_pending_ext_shared")
        return bool(outside or (room.get("is_shared") and not room.get("is_org_shared")))


def _is_recent(message: Message) -> bool:
    """Tell whether what was said of a channel with a message may be believed still."""
    return datetime.now(UTC) - message.received_at < timedelta(seconds=_KEPT_SECONDS)


def in_time(send: Send) -> Send:
    """Return a call that ends with TimeoutError when Slack does not answer in time."""

    async def sent() -> AsyncSlackResponse:
        async with asyncio.timeout(_CALL_SECONDS):
            return await send()

    return sent
