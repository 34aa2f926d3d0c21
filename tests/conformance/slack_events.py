"""What Slack sends of the questions of a case."""

from __future__ import annotations

from collections.abc import Mapping
from mimetypes import guess_type
from typing import Any

from tests.bot.adapters.slack import events
from tests.bot.adapters.slack.workspace.files import StoredFile
from tests.bot.adapters.slack.workspace.names import (
    ALICE,
    BOB,
    GUEST,
    HELP,
    OTHER_BOT,
    SHARED,
)
from tests.conformance.platforms import By, File, Question

_WRITERS: Mapping[By, Mapping[str, str]] = {
    "asker": {"user": ALICE},
    "colleague": {"user": BOB},
    "guest": {"user": GUEST},
    "bot": {"user": OTHER_BOT, "bot_id": "B0BUILD00"},
}


def stored(file: File) -> StoredFile:
    name, content = file
    return StoredFile(name, content, guess_type(name)[0] or "text/plain")


def ts(number: int) -> str:
    """The first message of a thread has the thread's number."""
    return f"1700000000.{number:06d}"


def event(question: Question) -> dict[str, Any]:
    within = {"thread_ts": ts(question.thread)} if question.number != question.thread else {}
    told = {**_WRITERS[question.by], **within}
    if question.private:
        return events.direct(question.text, ts(question.number), **told)
    channel = SHARED if question.beside_outsiders else HELP
    if question.addressed:
        return events.mention(question.text, ts(question.number), **told, channel=channel)
    among = {"channel": channel, "channel_type": "channel"}
    return events.direct(question.text, ts(question.number), **told, **among)


def about(question: Question, subtype: str) -> dict[str, Any]:
    return {
        "type": "message",
        "subtype": subtype,
        "channel": event(question)["channel"],
        "channel_type": "im" if question.private else "channel",
        "ts": "1700000000.800000",
        "event_ts": "1700000000.800000",
        "hidden": True,
    }
