"""Resolve ids of people, channels and user groups in a message's text to names."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from types import MappingProxyType

import structlog

from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.text.markdown import without_direction_marks
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.workspace.members import Colleagues

_KEPT_SECONDS = 600.0
_MOST_KEPT = 1_000
_MOST_ASKED = 10
_PATIENCE_SECONDS = 1.0
"""Slack awaits the acknowledgement meanwhile; an id that has no name by then stays an id."""

_TURN_SECONDS = 5.0
_ALL = ""
_LONGEST_NAME = 80
_PRIVATE_CHANNEL = "private channel"
_PEOPLE, _CHANNELS, _GROUPS = ("U", "W"), ("C", "G"), ("S",)

log = structlog.get_logger(__name__)


class MentionNames:
    """Resolves ids to names, cached for ten minutes like members.

    A private channel is not named: not all who read the text may know of it.
    """

    def __init__(self, client: SlackClient, colleagues: Colleagues) -> None:
        self._client = client
        self._colleagues = colleagues
        self._channels = TtlCache(self._channel, seconds=_KEPT_SECONDS, most=_MOST_KEPT)
        self._groups = TtlCache(self._handles, seconds=_KEPT_SECONDS, most=1)

    async def resolve(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of these ids (ten at most) resolved within a second; never raises."""
        asking = {each: asyncio.create_task(self._name(each)) for each in sorted(ids)[:_MOST_ASKED]}
        if not asking:
            return MappingProxyType({})
        _, late = await asyncio.wait(asking.values(), timeout=_PATIENCE_SECONDS)
        for each in late:
            each.cancel()
        named = {id_: task.result() for id_, task in asking.items() if task not in late}
        return {id_: name for id_, name in named.items() if name}

    async def _name(self, id_: str) -> str:
        """Return the name of an id, "" if it can't be looked up; never raises."""
        try:
            name = await self._look_up(id_)
        except DeliveryFailed as error:
            log.info("slack.name_not_known", why=str(error))
            return ""
        except Exception:
            # An unexpected answer of Slack must not stop the question that mentions the id.
            log.exception("slack.name_lookup_broke")
            return ""
        return " ".join(without_direction_marks(name).split())[:_LONGEST_NAME]

    async def _look_up(self, id_: str) -> str:
        if id_.startswith(_PEOPLE):
            member = await self._colleagues.member(id_)
            return member.display_name or member.person.name
        if id_.startswith(_CHANNELS):
            return await self._channels.get(id_)
        if id_.startswith(_GROUPS):
            return (await self._groups.get(_ALL)).get(id_, "")
        return ""

    async def _channel(self, id_: str) -> str:
        channel = await self._client.conversations_info(id_, turn_seconds=_TURN_SECONDS)
        return _PRIVATE_CHANNEL if channel.get("is_private") else str(channel.get("name") or "")

    async def _handles(self, _: str) -> Mapping[str, str]:
        groups = await self._client.usergroups_list(turn_seconds=_TURN_SECONDS)
        return {str(each.get("id")): str(each.get("handle") or "") for each in groups}
