"""Parse Slack's event payloads into messages, and the data needed to reply to them. Pure.

Payloads are untrusted: each field is read by a function that returns an empty value for any
other shape. ``Message.reply_to`` holds, as JSON, a command's response URL, that a message came
by the shortcut, or whether its channel was shared with another company.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from bot.chat.messages import ReceivedMessage
from bot.domain.messages import Attachment, Message, Person, Thread
from bot.platforms.slack.payloads.markup import from_mrkdwn, mentions, without_mention

_SUBTYPES = (None, "file_share", "thread_broadcast")
_SLACKBOT = "USLACKBOT"
_ID = re.compile(r"[A-Za-z0-9]{1,64}")
_TS = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}")
_READABLE_MODES = frozenset({"hosted", "snippet", ""})

Event = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class BotIds:
    """The bot's own ids, as far as they are known; ``app`` is its B…, not its U…."""

    users: frozenset[str] = frozenset()
    app: str = ""


def bot_ids_in(body: Event) -> BotIds:
    """Return the bot's user id from an envelope's authorization, if it names one."""
    granted = authorization(body)
    user = granted.get("user_id")
    if granted.get("is_bot") and isinstance(user, str):
        return BotIds(frozenset({user}))
    return BotIds()


def parse_message(
    event: Event,
    *,
    tenant: str,
    us: BotIds,
    received_at: datetime,
    names: Mapping[str, str] | None = None,
    reply_to: str = "",
) -> ReceivedMessage | None:
    """Return the message of an event, None if nobody wrote it, or the bot itself did.

    A mention and the channel's copy of it have the same id, the ts. In channels, a message without
    a mention of the bot is overheard; in a group message it is ignored. ``names`` replace the ids
    of others.
    """
    channel, ts = id_at(event, "channel"), ts_at(event, "ts")
    author = id_at(event, "user") or id_at(event, "bot_id")
    if not (channel and ts and author) or not _is_by_somebody_else(event, us):
        return None
    private = event.get("channel_type") == "im" or channel.startswith("D")
    addressed = event.get("type") == "app_mention" or mentions(text_at(event, "text"), us.users)
    overheard = not private and not addressed
    by_bot = bool(event.get("bot_id"))
    if overheard and (by_bot or not us.users or event.get("channel_type") == "mpim"):
        return None
    thread = ts_at(event, "thread_ts") or ts
    message = Message(
        id=ts,
        thread=Thread("slack", tenant, channel, thread),
        author=Person(id=author),
        text=from_mrkdwn(without_mention(text_at(event, "text"), us.users), names),
        received_at=received_at,
        private=private,
        overheard=overheard,
        attachments=tuple(attachments_in(event)),
        by_bot=by_bot,
        reply_to=reply_to,
    )
    return ReceivedMessage(message, begins=thread == ts, by_bot=by_bot)


def authorization(body: Event) -> Event:
    """Return the first authorization of an envelope, which is its only one."""
    granted = body.get("authorizations")
    if isinstance(granted, list) and granted and isinstance(granted[0], Mapping):
        return granted[0]
    return {}


def object_at(event: Event, key: str) -> Event:
    """Return an object field of an event, {} for any other value."""
    value = event.get(key)
    return value if isinstance(value, Mapping) else {}


def text_at(event: Event, key: str) -> str:
    """Return a string field of an event, "" for any other value."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def id_at(event: Event, key: str) -> str:
    """Return an id field of an event, such as C0HELP000, "" for any other value."""
    value = text_at(event, key)
    return value if _ID.fullmatch(value) else ""


def ts_at(event: Event, key: str) -> str:
    """Return a ts field of an event, "" for any other value."""
    value = text_at(event, key)
    return value if _TS.fullmatch(value) else ""


def is_ts(value: str) -> bool:
    """Return whether a text is the ts of a message."""
    return _TS.fullmatch(value) is not None


def is_own_message(event: Event, us: BotIds) -> bool:
    """Return whether the bot itself wrote a message."""
    return text_at(event, "user") in us.users or (us.app != "" and event.get("bot_id") == us.app)


def _is_by_somebody_else(event: Event, us: BotIds) -> bool:
    """Return whether a person wrote a message, or a bot that is certainly another one."""
    if event.get("subtype") not in _SUBTYPES or event.get("user") == _SLACKBOT:
        return False
    return not is_own_message(event, us) and not (event.get("bot_id") and not us.users)


def attachments_in(event: Event) -> Iterator[Attachment]:
    """Yield the files of a message."""
    files = event.get("files")
    for file in files if isinstance(files, Sequence) and not isinstance(files, str) else ():
        if isinstance(file, Mapping):
            yield _attachment(file)


def _attachment(file: Event) -> Attachment:
    """Return a file; ``place`` is "" if Slack does not provide the content.

    Slack sends only the id of a file shared over Slack Connect; one stored elsewhere (a Google
    document, say) is only named here.
    """
    size = file.get("size")
    place = text_at(file, "url_private_download") or text_at(file, "url_private")
    handed_out = text_at(file, "mode") in _READABLE_MODES and not file.get("is_external")
    return Attachment(
        name=text_at(file, "name") or text_at(file, "title") or "a shared file",
        media_type=text_at(file, "mimetype"),
        size=size if isinstance(size, int) and size > 0 else 0,
        place=place if handed_out and not text_at(file, "file_access") else "",
    )


_SHARED_FIELD = "is_ext_shared_channel"
_RESPONSE_HOSTS = frozenset({"hooks.slack.com", "hooks.slack-gov.com"})


def is_command(message: Message) -> bool:
    """Return whether a question came by a command, which is answered at a response URL."""
    return kept_response_url(message) is not None


def kept_response_url(message: Message) -> str | None:
    """Return the response URL of a command as it is kept (response_urls.py), else None."""
    url = _reply_fields(message).get("response_url")
    return url if isinstance(url, str) and url else None


def shortcut_reply_to() -> str:
    """Return the ``reply_to`` of a message about which another than its author asked."""
    return json.dumps({"pointed": True})


def came_by_shortcut(message: Message) -> bool:
    """Return whether somebody asked about a message that another wrote."""
    return message.reply_to == shortcut_reply_to()


def envelope_reply_to(body: Event) -> str:
    """Return a ``reply_to`` with the sharing state of an envelope's channel, "" if unknown."""
    shared = body.get(_SHARED_FIELD)
    return json.dumps({_SHARED_FIELD: shared}) if isinstance(shared, bool) else ""


def was_shared_channel(message: Message) -> bool | None:
    """Return whether the channel was shared when the message was sent, None if unknown."""
    shared = _reply_fields(message).get(_SHARED_FIELD)
    return shared if isinstance(shared, bool) else None


def is_slack_url(url: str, api_url: str) -> bool:
    """Return whether a response URL is Slack's, or has the origin of the configured API."""
    origin = _origin(url)
    if origin is None:
        return False
    return origin == _origin(api_url) or (
        origin[0] == "https" and origin[1] in _RESPONSE_HOSTS and origin[2] in {None, 443}
    )


def _reply_fields(message: Message) -> Event:
    try:
        given = json.loads(message.reply_to) if message.reply_to else None
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return (parts.scheme, parts.hostname or "", port)
