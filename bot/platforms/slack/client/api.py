"""The client of Slack's Web API: one method for each of Slack's, under Slack's name.

Slack can't be queried by metadata, so the bot's messages are found by reading a thread or
channel page by page, whichever process posted them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.concurrency import TtlCache
from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Thread
from bot.platforms.slack.client.errors import NO_THREAD, NO_USER, NeverPermitted, NotPermitted
from bot.platforms.slack.client.posting import (
    MessageKind,
    RefusedBlocks,
    ResponseOptions,
    send_response,
)
from bot.platforms.slack.client.rate_limits import (
    LOOKUP_SECONDS,
    LOOKUP_TURN_SECONDS,
    PATIENCE_SECONDS,
    ApiCall,
    ApiCaller,
)
from bot.platforms.slack.payloads.events import Event, text_at
from bot.platforms.slack.payloads.metadata import MessageLabel, Place, PostedMessage, own_messages
from bot.platforms.slack.rendering import MessageForm, MessageForms, blocks_of

_PAGE = 200
_MOST_PAGES = 10
_MEMBERS = 1_000
_MODAL_PATIENCE_SECONDS = 1.0  # A modal's trigger expires after 3 s.

log = structlog.get_logger(__name__)


class SlackClient:
    """Calls the Web API and response URLs. Raises the errors of bot.platforms.slack.client.errors.

    Messages are sent in the richest form that the workspace accepts. What it rejects is remembered
    for messages of the same ``kind``.
    """

    def __init__(self, web: AsyncWebClient, caller: ApiCaller) -> None:
        self.web = web
        self.caller = caller
        self._refused = defaultdict[MessageKind, RefusedBlocks](RefusedBlocks)
        # Permalinks do not change.
        self._permalinks = TtlCache(self._permalink, seconds=24 * 3600.0, most=1_000)

    async def auth_test(self) -> AsyncSlackResponse:
        return await self.caller.call("auth.test", self.web.auth_test)

    async def apps_connections_open(self, app_token: str) -> str:
        """Return the address of a new Socket Mode connection."""
        answer = await self.caller.call(
            "apps.connections.open", lambda: self.web.apps_connections_open(app_token=app_token)
        )
        return str(answer["url"])

    async def chat_post_message(
        self,
        place: Place,
        forms: MessageForms,
        label: MessageLabel | None = None,
        *,
        kind: MessageKind = "reply",
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> str:
        """Post a message; return its ts."""

        async def send(form: MessageForm) -> str:
            answer = await self.caller.call(
                "chat.postMessage",
                lambda: self.web.chat_postMessage(
                    channel=place.channel,
                    thread_ts=place.thread,
                    text=form.text,
                    blocks=blocks_of(form),
                    metadata=label.metadata if label else None,
                    unfurl_links=False,
                    unfurl_media=False,
                ),
                channel=place.channel,
                patience_seconds=patience_seconds,
            )
            return str(answer["ts"])

        return await self._refused[kind].send_richest(forms, send)

    async def chat_post_ephemeral(
        self, place: Place, user: str, forms: MessageForms, *, kind: MessageKind
    ) -> None:
        """Post a message that only one user sees."""

        async def send(form: MessageForm) -> None:
            # slack_sdk declares no unfurl parameters here, but passes them on.
            await self.caller.call(
                "chat.postEphemeral",
                lambda: self.web.chat_postEphemeral(
                    channel=place.channel,
                    user=user,
                    thread_ts=place.thread,
                    text=form.text,
                    blocks=blocks_of(form),
                    unfurl_links=False,
                    unfurl_media=False,
                ),
            )

        await self._refused[kind].send_richest(forms, send)

    async def chat_update(self, ref: PostedRef, forms: MessageForms, *, kind: MessageKind) -> None:
        """Replace a message's content; its metadata stays. Raises DeliveryRefused if it is gone."""

        async def send(form: MessageForm) -> None:
            # Omitted blocks would stay, and with them the previous content.
            await self.caller.call(
                "chat.update",
                lambda: self.web.chat_update(
                    channel=ref.channel,
                    ts=ref.id,
                    text=form.text,
                    blocks=blocks_of(form) or [],
                    # chat.update would otherwise parse links and names in the text.
                    parse="none",
                ),
            )

        await self._refused[kind].send_richest(forms, send)

    async def chat_delete(self, channel: str, ts: str) -> None:
        """Delete a message of the bot; a missing one is no error."""
        try:
            await self.caller.call(
                "chat.delete", lambda: self.web.chat_delete(channel=channel, ts=ts)
            )
        except NeverPermitted as error:
            if error.code != "message_not_found":
                raise

    async def chat_get_permalink(self, channel: str, ts: str) -> str | None:
        """Return the permalink of a message, cached for a day; None if Slack gives none now."""
        try:
            return await self._permalinks.get(f"{channel} {ts}")
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None

    async def _permalink(self, key: str) -> str:
        channel, _, ts = key.partition(" ")
        answer = await self.caller.call(
            "chat.getPermalink", lambda: self.web.chat_getPermalink(channel=channel, message_ts=ts)
        )
        return str(answer["permalink"])

    async def respond(
        self,
        url: str,
        forms: MessageForms,
        *,
        replace: bool = False,
        thread_ts: str = "",
        command_reply: bool = False,
    ) -> None:
        """Send an ephemeral message to a response URL, or replace the message that has the button.

        Such a URL is valid five times within half an hour, also where the bot is not: in channels
        that it is no member of, and between two people. Only a reply to a command, which an inbox
        repeats, needs the token. Raises NeverPermitted for a URL that is used up or not Slack's.
        """
        options = ResponseOptions(replace, thread_ts, command_reply)
        kind: MessageKind = "private reply" if command_reply else "response"
        await self._refused[kind].send_richest(
            forms, lambda form: send_response(self.web, self.caller, url, form, options)
        )

    async def conversations_info(
        self, channel: str, *, turn_seconds: float | None = None, call_seconds: float | None = None
    ) -> Event:
        """Return a channel."""
        answer = await self.caller.call(
            "conversations.info",
            lambda: self.web.conversations_info(channel=channel),
            turn_seconds=turn_seconds,
            call_seconds=call_seconds,
        )
        return answer.get("channel") or {}

    async def is_channel_member(self, channel: str, user: str) -> bool:
        """Return whether a user is a member of a channel; only its first 10,000 are looked at."""
        cursor = ""
        for _ in range(_MOST_PAGES):
            page = partial(
                self.web.conversations_members, channel=channel, limit=_MEMBERS, cursor=cursor
            )
            answer = await self.caller.call("conversations.members", page)
            if user in (answer.get("members") or ()):
                return True
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                break
        return False

    async def visible_channel(self, channel: str) -> Event:
        """Return a channel, {} if the bot may not look it up."""
        try:
            return await self.conversations_info(channel)
        except (NotPermitted, NeverPermitted):
            return {}

    async def conversations_open(self, user: str) -> str:
        """Return the direct conversation with a user; open it if there was none."""
        answer = await self.caller.call(
            "conversations.open", lambda: self.web.conversations_open(users=user)
        )
        return str(answer["channel"]["id"])

    async def conversations_history(
        self, channel: str, *, oldest: str, cursor: str | None
    ) -> AsyncSlackResponse:
        """Read a page of a channel's messages."""
        return await self.caller.call(
            "conversations.history",
            lambda: self.web.conversations_history(
                channel=channel,
                oldest=oldest,
                limit=_PAGE,
                cursor=cursor,
                include_all_metadata=True,
            ),
        )

    async def conversations_replies(
        self,
        channel: str,
        ts: str,
        *,
        oldest: str,
        latest: str | None = None,
        cursor: str | None = None,
    ) -> AsyncSlackResponse:
        """Read a page of a thread; with ``latest``, which counts too, the first message alone."""
        return await self.caller.call(
            "conversations.replies",
            lambda: self.web.conversations_replies(
                channel=channel,
                ts=ts,
                oldest=oldest,
                latest=latest,
                inclusive=True if latest else None,
                limit=1 if latest else _PAGE,
                cursor=cursor,
                include_all_metadata=True,
            ),
        )

    async def find_messages(
        self, place: Place, interaction_id: InteractionId
    ) -> tuple[PostedMessage, ...]:
        """Return the bot's messages about an interaction in a place, oldest first.

        Only the 2,000 messages after the question are read.
        """
        found: list[PostedMessage] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                answer = await (
                    self.conversations_history(place.channel, oldest=place.since, cursor=cursor)
                    if place.thread is None
                    else self.conversations_replies(
                        place.channel, place.thread, oldest=place.since, cursor=cursor
                    )
                )
            except NeverPermitted as error:
                if place.thread is None or error.code not in NO_THREAD:
                    raise
                break
            found += own_messages(place.channel, answer.get("messages"), interaction_id)
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                break
        else:
            log.warning("slack.search_ended", channel=place.channel, messages=_PAGE * _MOST_PAGES)
        return tuple(sorted(found, key=lambda posted: posted.ts))

    async def users_info(self, user: str) -> Event | None:
        """Return a user, None if Slack finds none."""
        return await self._user("users.info", lambda: self.web.users_info(user=user))

    async def users_lookup_by_email(self, email: str) -> Event | None:
        """Return the user with an e-mail address, None if Slack finds none."""
        return await self._user(
            "users.lookupByEmail", lambda: self.web.users_lookupByEmail(email=email)
        )

    async def _user(self, method: str, send: ApiCall) -> Event | None:
        try:
            answer = await self.caller.call(
                method, send, turn_seconds=LOOKUP_TURN_SECONDS, call_seconds=LOOKUP_SECONDS
            )
        except (NeverPermitted, NotPermitted) as error:
            if error.code in NO_USER:
                return None
            raise
        return answer.get("user") or {}

    async def usergroups_list(self, *, turn_seconds: float) -> Sequence[Event]:
        answer = await self.caller.call(
            "usergroups.list", self.web.usergroups_list, turn_seconds=turn_seconds
        )
        return answer.get("usergroups") or ()

    async def usergroups_users_list(self, group: str) -> frozenset[str]:
        """Return the ids of a user group's members."""
        answer = await self.caller.call(
            "usergroups.users.list", lambda: self.web.usergroups_users_list(usergroup=group)
        )
        return frozenset(map(str, answer.get("users") or ()))

    async def reactions_add(
        self, channel: str, ts: str, name: str, *, patience_seconds: float
    ) -> None:
        await self.caller.call(
            "reactions.add",
            lambda: self.web.reactions_add(channel=channel, timestamp=ts, name=name),
            patience_seconds=patience_seconds,
        )

    async def reactions_remove(self, channel: str, ts: str, name: str) -> None:
        await self.caller.call(
            "reactions.remove",
            lambda: self.web.reactions_remove(channel=channel, timestamp=ts, name=name),
        )

    async def agents_sessions_set_status(
        self, thread: Thread, status: str, *, patience_seconds: float, **details: str
    ) -> None:
        """Set the status of a session; ``details`` are its title and initiator_user_id."""
        await self.caller.call(
            "agents.sessions.setStatus",
            lambda: self.web.agents_sessions_setStatus(
                channel_id=thread.channel, thread_ts=thread.id, status=status, **details
            ),
            patience_seconds=patience_seconds,
        )

    async def assistant_threads_set_status(
        self, thread: Thread, status: str, loading_messages: Sequence[str]
    ) -> None:
        """Set the status line of a thread, at once or not at all; "" removes it."""
        await self.caller.call(
            "assistant.threads.setStatus",
            lambda: self.web.assistant_threads_setStatus(
                channel_id=thread.channel,
                thread_ts=thread.id,
                status=status,
                loading_messages=list(loading_messages) or None,
            ),
            patience_seconds=0.0,
        )

    async def assistant_threads_set_suggested_prompts(
        self, channel: str, prompts: Sequence[Mapping[str, str]]
    ) -> None:
        given = [dict(each) for each in prompts]
        offer = partial(self.web.assistant_threads_setSuggestedPrompts, prompts=given)
        await self.caller.call(
            "assistant.threads.setSuggestedPrompts", lambda: offer(channel_id=channel)
        )

    async def views_open(self, trigger_id: str, view: Mapping[str, object]) -> str:
        """Open a modal; return its view id."""
        answer = await self.caller.call(
            "views.open",
            lambda: self.web.views_open(trigger_id=trigger_id, view={**view}),
            patience_seconds=_MODAL_PATIENCE_SECONDS,
        )
        return text_at(answer.get("view") or {}, "id")

    async def views_publish(self, user: str, view: Mapping[str, object]) -> None:
        """Replace a user's Home tab."""
        publish = partial(self.web.views_publish, user_id=user, view={**view})
        await self.caller.call("views.publish", publish)

    async def views_update(self, view_id: str, view: Mapping[str, object]) -> None:
        """Replace the view of an open modal."""
        update = partial(self.web.views_update, view_id=view_id, view={**view})
        await self.caller.call("views.update", update)
