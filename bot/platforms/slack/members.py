"""Look up people on Slack, colleagues, guests or strangers, and the names of mentioned ids.

Both are cached for ten minutes. While Slack can't be asked, nobody counts as a colleague. Where
personal data is masked, the names of all members are read once a day.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType

import structlog

from bot.chat.actions import Member
from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.markdown import without_direction_marks
from bot.domain.messages import Introduction, Message, Outsider, Person
from bot.domain.settings import Settings
from bot.platforms.slack.bot_identity import BotIdentity
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.rate_limits import LOOKUP_SECONDS, LOOKUP_TURN_SECONDS, Pause
from bot.platforms.slack.payloads.events import Event, object_at, text_at, was_shared_channel
from rag.personal_data.names import DirectoryNames
from rag.types import EVERYONE, Principal

_LONGEST_NAME = 200
log = structlog.get_logger(__name__)
_SLACKBOT = "USLACKBOT"  # Slack does not flag its own bot with is_bot.


@dataclass(frozen=True, slots=True)
class HomeWorkspace:
    """The workspace or organisation of colleagues, and their e-mail domains (empty: any)."""

    workspace: str
    domains: frozenset[str] = frozenset()


def member_of(user: Event, home: HomeWorkspace) -> Member:
    """Return the member in the ``user`` object of users.info; principals are named as at sign-in.

    ``person.outsider`` is "" also for the workspace's own bots: a channel's settings decide whether
    they are answered.
    """
    email = _email(user)
    colleague = _is_full_member(user) and _is_at_home(user, home) and _is_allowed(email, home)
    known = email if colleague else None
    person = Person(
        text_at(user, "id"),
        _name(user),
        known,
        frozenset({EVERYONE, *([Principal(f"user:{known}")] if known is not None else [])}),
        "" if colleague else _outsider(user, home),
    )
    shown = _on_one_line(text_at(object_at(user, "profile"), "display_name"))
    return Member(person, colleague, shown)


def _outsider(user: Event, home: HomeWorkspace) -> Outsider:
    if user.get("is_stranger") or not _is_at_home(user, home):
        return "other company"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "" if user.get("is_bot") and not user.get("deleted") else "not a colleague"


def _is_full_member(user: Event) -> bool:
    left_out = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
    return not any(user.get(flag) for flag in left_out) and user.get("id") != _SLACKBOT


def _is_at_home(user: Event, home: HomeWorkspace) -> bool:
    organisation = text_at(object_at(user, "enterprise_user"), "enterprise_id")
    return home.workspace in {text_at(user, "team_id"), organisation} - {""}


def _is_allowed(email: str | None, home: HomeWorkspace) -> bool:
    if not home.domains:
        return True
    return email is not None and email.rpartition("@")[2] in home.domains


def _email(user: Event) -> str | None:
    """Return the address in lower case, None if it is invalid or marked as unconfirmed."""
    email = text_at(object_at(user, "profile"), "email").strip().lower()
    name, _, domain = email.rpartition("@")
    confirmed = user.get("is_email_confirmed") is not False
    return email if name and domain and confirmed and not set(email) & set(" \t\n") else None


def _name(user: Event) -> str:
    profile = object_at(user, "profile")
    for name in (
        text_at(profile, "real_name"),
        text_at(user, "real_name"),
        text_at(profile, "display_name"),
        text_at(user, "name"),
    ):
        if name.strip():
            return _on_one_line(name)
    return ""


def _on_one_line(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]


_KEPT_SECONDS = 600.0
_MOST = 1_000


class Colleagues:
    """Looks up users, members of user groups, and whether outsiders read a channel.

    Raises bot.domain.errors.DeliveryFailed if Slack can't be asked; then nobody is a colleague.
    """

    def __init__(self, client: SlackClient, identity: BotIdentity, settings: Settings) -> None:
        self._client = client
        self._identity = identity
        domains = (each.lower().removeprefix("@") for each in settings.slack_allowed_domains)
        self._domains = frozenset(domains)
        self._members = TtlCache(self._look_up, seconds=_KEPT_SECONDS, most=_MOST)
        self._groups = TtlCache(client.usergroups_users_list, seconds=_KEPT_SECONDS, most=_MOST)
        self._channels = TtlCache(self._channel, seconds=_KEPT_SECONDS, most=_MOST)
        self.names: DirectoryNames | None = None

    async def of(self, user_id: str) -> Person | None:
        """Return a colleague, None for bots, guests, strangers and former members."""
        member = await self.member(user_id)
        return member.person if member.colleague else None

    async def member(self, user_id: str) -> Member:
        """Return the member with an id, colleague or not."""
        if user_id.startswith("B"):
            # A bot (B…) can post only where its app is installed.
            return Member(Person(user_id))
        return await self._members.get(user_id)

    async def in_group(self, user_id: str, group_id: str) -> bool:
        """Return whether a user belongs to a user group (S…)."""
        return user_id in await self._groups.get(group_id)

    async def has_members(self, group_id: str) -> bool:
        """Return whether a user group has members."""
        return bool(await self._groups.get(group_id))

    async def has_address(self, email: str) -> bool:
        """Return whether an e-mail address is a colleague's; not cached."""
        home = self._home()
        user = await self._client.users_lookup_by_email(email)
        return user is not None and member_of(user, home).person.email is not None

    async def introduce(self, message: Message) -> Introduction:
        """Return the asker, and whether people of other organisations ask or read along."""
        member, shared = await asyncio.gather(
            self.member(message.author.id), self._has_outsiders(message)
        )
        return Introduction(member.person, outsiders=shared or bool(member.person.outsider))

    async def _look_up(self, user_id: str) -> Member:
        home = self._home()
        user = await self._client.users_info(user_id)
        if user is None:
            return Member(Person(user_id, outsider="not a colleague"))
        member = member_of(user, home)
        if self.names is not None and not user.get("is_bot"):
            self.names.learn([member.person.name, member.display_name])
        return replace(member, person=replace(member.person, id=user_id))

    def _home(self) -> HomeWorkspace:
        """Return the home workspace. Raises DeliveryFailed until the token's workspace is known."""
        workspace = self._identity.workspace
        if not workspace:
            raise DeliveryFailed("Slack has not said yet which workspace the token is for.")
        return HomeWorkspace(workspace, self._domains)

    async def _has_outsiders(self, message: Message) -> bool:
        if message.private:
            return False
        shared = was_shared_channel(message) if _is_recent(message) else None
        if shared is not None:
            return shared
        return is_shared_channel(await self._channels.get(message.thread.channel))

    async def is_public(self, message: Message) -> bool:
        """Return whether every colleague can read a message's channel, and no other company."""
        if message.private or was_shared_channel(message):
            return False
        return is_public_channel(await self._channels.get(message.thread.channel))

    async def _channel(self, channel: str) -> Event:
        return await self._client.conversations_info(
            channel, turn_seconds=LOOKUP_TURN_SECONDS, call_seconds=LOOKUP_SECONDS
        )


def is_shared_channel(channel: Event) -> bool:
    """Return whether another company reads a channel of conversations.info, or is invited to."""
    outside = channel.get("is_ext_shared") or channel.get("is_pending_ext_shared")
    return bool(outside or (channel.get("is_shared") and not channel.get("is_org_shared")))


def is_public_channel(channel: Event) -> bool:
    """Return whether a channel of conversations.info is open to all colleagues, and to them alone.

    Slack does not say whether guests are in it: they read there what colleagues do.
    """
    closed = any(channel.get(kind) for kind in ("is_private", "is_im", "is_mpim", "is_group"))
    return bool(channel.get("is_channel")) and not closed and not is_shared_channel(channel)


def _is_recent(message: Message) -> bool:
    """Return whether the channel's sharing state sent with a message is recent enough to trust."""
    return datetime.now(UTC) - message.received_at < timedelta(seconds=_KEPT_SECONDS)


_LISTED_AT_ONCE = 200
_MOST_LISTS = 500
_DAY_SECONDS, _AGAIN_SECONDS = 86_400.0, 3_600.0


class MemberNames:
    """Reads the names of all members of the workspace, guests too, once a day."""

    def __init__(
        self, client: SlackClient, names: DirectoryNames, *, pause: Pause = asyncio.sleep
    ) -> None:
        self._client = client
        self._names = names
        self._pause = pause

    async def keep_known(self) -> None:
        """Read them, again after a day, or after an hour if Slack did not list them; no return."""
        while True:
            try:
                await self.read()
                await self._pause(_DAY_SECONDS)
            except DeliveryFailed as error:
                log.warning("slack.member_names_not_listed", why=str(error))
                await self._pause(_AGAIN_SECONDS)

    async def read(self) -> None:
        """Learn the names of all people that Slack lists. Raises DeliveryFailed."""
        caller, send = self._client.caller, self._client.web.users_list
        cursor = ""
        for _ in range(_MOST_LISTS):
            at = partial(send, cursor=cursor, limit=_LISTED_AT_ONCE)
            answer = (await caller.call("users.list", at)).data
            told = answer if isinstance(answer, dict) else {}
            people = [each for each in told.get("members") or () if not each.get("is_bot")]
            self._names.learn(_name(each) for each in people)
            cursor = text_at(object_at(told, "response_metadata"), "next_cursor")
            if not cursor:
                return


_MOST_CHANNELS = 1_000
_MOST_ASKED = 10
_PATIENCE_SECONDS = 1.0
"""Slack awaits the acknowledgement meanwhile; an id that has no name by then stays an id."""

_TURN_SECONDS = 5.0
_ALL = ""
_LONGEST_MENTION = 80
_PRIVATE_CHANNEL = "private channel"
_PEOPLE, _CHANNELS, _GROUPS = ("U", "W"), ("C", "G"), ("S",)


class MentionNames:
    """Resolves ids to names, cached for ten minutes like members.

    A private channel is not named: not all who read the text may know of it.
    """

    def __init__(self, client: SlackClient, colleagues: Colleagues) -> None:
        self._client = client
        self._colleagues = colleagues
        self._channels = TtlCache(self._channel, seconds=_KEPT_SECONDS, most=_MOST_CHANNELS)
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
        return " ".join(without_direction_marks(name).split())[:_LONGEST_MENTION]

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
