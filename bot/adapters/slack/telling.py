"""What an asker is told later, in the thread of the question; and what people are reminded of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.blocks import Block
from bot.adapters.slack.calls import Caller
from bot.adapters.slack.labels import Label, Parts, Posted, last_of_all, thread_of
from bot.adapters.slack.lookup import Lookup
from bot.adapters.slack.posting import Poster
from bot.adapters.slack.render import Form, Forms
from bot.adapters.slack.text import escaped, escaped_label
from bot.escalations.types import Case, Notice
from bot.escalations.wording import said
from bot.rendering.markdown import clip, split
from bot.rendering.rendering import web_url
from bot.types import Message, PostedRef

SECTION_LIMIT = 2_900
"""Slack takes 3,000 characters in a section; some room is kept."""

_SECTIONS = 3
_QUESTION_LENGTH = 300
_HTTPS = re.compile(r"https://[^\s<>|]+")
_TRAILING = ".,;:!?)]}'\"*_~`"


class Telling:
    """Implements bot.escalations.ports.Tells.

    A long reply has several messages; the posted reference names the last. What an earlier attempt
    posted is looked up, so that only what is missing is added.
    """

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._poster = Poster(client, caller)
        self._lookup = Lookup(client, caller)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        there = await self._there(message, notice) if notice.attempts else {}
        parts = told(notice)
        ts = ""
        for number, forms in enumerate(parts, start=1):
            part = str(number)
            known = there.get(part)
            label = notice_label(notice, part, of=len(parts))
            ts = known.ts if known else await self._poster.post(thread_of(message), forms, label)
        return PostedRef(message.thread.channel, ts)

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        last = last_of_all(await self._there(message, notice))
        return PostedRef(last.channel, last.ts) if last else None

    async def _there(self, message: Message, notice: Notice) -> Parts:
        replies = await self._lookup.search(thread_of(message), notice.interaction_id)
        return parts_of(notice, replies)


def notice_label(notice: Notice, part: str, of: int) -> Label:
    """Return the label of one part of a notice."""
    return Label(notice.id, notice.interaction_id, part, of)


def parts_of(notice: Notice, posted: Sequence[Posted]) -> Parts:
    """Return a notice's messages by part, the first of each."""
    return {p.label.part: p for p in reversed(posted) if p.label.delivery_id == notice.id}


def told(notice: Notice) -> tuple[Forms, ...]:
    """Return the messages that tell an asker: who did what, in our words, then theirs."""
    news = said(notice)
    opening = f"*{_name(news.name)}* {news.did}"
    sections = [opening, *_sections(news.words)]
    return tuple(_forms(sections[at : at + _SECTIONS]) for at in range(0, len(sections), _SECTIONS))


def reminder(case: Case, notice: Notice, *, now: datetime, links: Sequence[str]) -> Forms:
    """Return what people are reminded of.

    The question is quoted only if it was asked on Slack: with one that is withdrawn elsewhere the
    reminder would stay.
    """
    begun = case.opened_at if case.standing.state == "open" else case.changed_at
    waited = waiting_time(now - begun)
    if notice.step == "ping":
        opening = f"*Nobody has taken this question yet*; it has waited for {waited}."
    else:
        opening = "*A question was opened again* and nobody has it."
    platform = case.channel.partition(":")[0]
    ours = platform == "slack"
    asked = clip(case.question, _QUESTION_LENGTH) if ours else f"Asked by {platform}."
    quoted = f"> {live(asked)}" if ours else live(asked)
    where = " \u00b7 ".join(links) or f"On the board it is {case.interaction_id}."
    return _forms([f"{opening}\n{quoted}\n{where}"])


def link(url: str, label: str) -> str:
    """Return a link of ours, or its label where the address can't be one."""
    address = web_url(url)
    return f"<{address}|{escaped_label(label)}>" if address else escaped_label(label)


def waiting_time(waited: timedelta) -> str:
    """Return a time as a person says it: minutes, then hours, then days."""
    minutes = max(1, round(waited.total_seconds() / 60))
    for length, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * length:
            return f"{minutes // length} {name}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def live(text: str) -> str:
    """Return a person's words in which plain https addresses are links, and nothing else is."""
    return "".join(_live(text))


def _live(text: str) -> Iterator[str]:
    end = 0
    for found in _HTTPS.finditer(text):
        address = found[0].rstrip(_TRAILING)
        url = web_url(address)
        yield escaped(text[end : found.start()])
        yield escaped(address) if url is None else f"<{url.replace('&', '&amp;')}>"
        end = found.start() + len(address)
    yield escaped(text[end:])


def _sections(words: str) -> list[str]:
    parts = split(words, SECTION_LIMIT, lambda part: len(live(part)))
    return [live(part) for part in parts if part.strip()]


def _forms(sections: Sequence[str]) -> Forms:
    text = "\n\n".join(sections)
    blocks: tuple[Block, ...] = tuple(
        {"type": "section", "text": {"type": "mrkdwn", "text": each, "verbatim": True}}
        for each in sections
    )
    return (Form(text, blocks), Form(text))


def _name(name: str) -> str:
    return escaped_label(clip(name, 80)).replace("*", "\u2217")
