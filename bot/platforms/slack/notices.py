"""Post notices about a case: news to its asker, with buttons, and reminders to people.

An asker gets notices in the thread of the question or, after a command, in a direct message that
names it. A person's words are quoted as written: only https addresses in them are links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import ActionTargets, interaction_named, step_number
from bot.chat.response_view import web_url
from bot.domain.cases import NO_DETAIL, Act, ActDetail, Case, Notice
from bot.domain.errors import BotError, DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.markdown import clip, split
from bot.domain.messages import InteractionId, Message
from bot.domain.outcomes import question_text
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, on_texts, tr
from bot.escalations.asker_notices import LatestNotice, buttons_with, notice_text
from bot.escalations.case_view import CaseButton, platform_of, reminder_text
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import CONSENTS
from bot.learning.digest import Sending
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.members import is_shared_channel
from bot.platforms.slack.payloads.actions import ASKER_CLOSE, ASKER_NO, ASKER_REOPEN, ASKER_SHOW
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.markup import bold, escaped
from bot.platforms.slack.payloads.metadata import (
    MessageLabel,
    Place,
    PostedParts,
    label_of,
    last_if_complete,
    parts_of,
    thread_of,
    ts_of,
    ts_since,
)
from bot.platforms.slack.rendering import (
    SECTION_LIMIT,
    Block,
    MessageForm,
    MessageForms,
    actions,
    button,
    context,
    section,
)

ASKER_BUTTONS: Mapping[Act, str] = {
    "resolve": ASKER_CLOSE,
    "reopen": ASKER_REOPEN,
    "show_more": ASKER_SHOW,
    "keep_more": ASKER_NO,
}
"""The action ids of the asker's buttons."""

_MOST_NOTICE_SECTIONS = 3
_HTTPS = re.compile(r"https://[^\s<>|]+")
_TRAILING = ".,;:!?)]}'\"*_~`"


def notice_messages(
    notice: Notice, offers: Sequence[CaseButton] = (), remark: str = ""
) -> tuple[MessageForms, ...]:
    """Return the messages of a notice: who did what, in our words, then theirs.

    Below the last are the buttons ``offers``, and ``remark``, a line of ours.
    """
    news = notice_text(notice)
    opening = join_texts(" ", (bold(clip(news.name, 80)), news.did))
    sections = [opening, *_sections(news.words)]
    parts = [
        sections[at : at + _MOST_NOTICE_SECTIONS]
        for at in range(0, len(sections), _MOST_NOTICE_SECTIONS)
    ]
    below = _below(notice, offers, remark)
    return (*(_forms(part, ()) for part in parts[:-1]), _forms(parts[-1], below))


@on_texts
def with_links(text: str) -> str:
    """Return a person's words, escaped; plain https addresses become links, and nothing else."""
    return "".join(_with_links(text))


def _with_links(text: str) -> Iterator[str]:
    end = 0
    for found in _HTTPS.finditer(text):
        address = found[0].rstrip(_TRAILING)
        url = web_url(address)
        yield escaped(text[end : found.start()])
        yield escaped(address) if url is None else f"<{url.replace('&', '&amp;')}>"
        end = found.start() + len(address)
    yield escaped(text[end:])


def _sections(words: str) -> list[str]:
    parts = split(words, SECTION_LIMIT, lambda part: len(with_links(part)))
    return [with_links(part) for part in parts if part.strip()]


def _below(notice: Notice, offers: Sequence[CaseButton], remark: str) -> tuple[Block, ...]:
    said_so = (context(escaped(remark)),) if remark else ()
    if not offers:
        return said_so
    row = [
        button(each.label, ASKER_BUTTONS[each.act], _value(notice, each.act), primary=each.first)
        for each in offers
    ]
    return (*said_so, actions(row))


def _value(notice: Notice, act: Act) -> str:
    """Return the value of an asker's button: the case and, for a consent, the request."""
    case_id = notice.interaction_id
    return f"{case_id}:{notice.number}" if act in CONSENTS else case_id


def _forms(sections: Sequence[str], below: tuple[Block, ...]) -> MessageForms:
    text = join_texts("\n\n", sections)
    blocks = tuple(map(section, sections))
    with_buttons = (MessageForm(text, (*blocks, *below)),) if below else ()
    return (*with_buttons, MessageForm(text, blocks), MessageForm(text))


_QUESTION_LENGTH = 300


def reminder_message(
    case: Case, notice: Notice, *, now: datetime, links: Sequence[str]
) -> MessageForms:
    """Return the reminder of a waiting case.

    The question is quoted only if it was asked on Slack: if it were withdrawn on another platform,
    the reminder would still show it.
    """
    matter, more = reminder_text(case, notice, now)
    platform = platform_of(case)
    ours = platform == "slack"
    quoted: str = tr("Asked on {platform}.", platform=platform)
    if ours:
        asked = clip(question_text(case.question), _QUESTION_LENGTH)
        quoted = join_texts("", ("> ", with_links(asked)))
    where = join_texts(" \u00b7 ", links) if links else _on_board(case)
    said = join_texts("", (bold(matter), escaped(more)))
    text = join_texts("\n", (said, quoted, where))
    return (MessageForm(text, (section(text),)), MessageForm(text))


def _on_board(case: Case) -> str:
    return tr("On the board: {id}", id=case.interaction_id)


_LONGEST_QUESTION = 200


class AskerNotices:
    """Posts notices to askers. Implements bot.escalations.ports.Tells and Revises.

    A long reply has several messages; the posted reference names the last. Messages of an earlier
    attempt are looked up, so that only missing ones are posted. A command has no thread: its asker
    gets a direct message that names the question.
    """

    def __init__(self, client: SlackClient, notes: Notes) -> None:
        self._client = client
        self.latest = LatestNotice(self._edit, notes, "slack")
        self.revise = self.latest.revise

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        posted = await self._posted_parts(message, notice) if notice.attempts else {}
        offers = buttons_with(notice)
        messages = notice_messages(notice, offers, await self._question_line(message))
        place, ts = await self._place(message), ""
        for number, forms in enumerate(messages, start=1):
            label = label_of(notice, str(number), total=len(messages))
            known = posted.get(label.part)
            ts = (
                known.ts
                if known
                else await self._client.chat_post_message(place, forms, label, kind="notice")
            )
        ref = PostedRef(place.channel, ts)
        await self.latest.came(message, notice, ref)
        return ref

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        last = last_if_complete(await self._posted_parts(message, notice))
        return last.ref if last else None

    async def _edit(
        self,
        message: Message,  # noqa: ARG002  # another platform needs it
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        """Replace the last message of a notice: its buttons, and a remark below it."""
        forms = notice_messages(notice, offers, remark)[-1]
        await self._client.chat_update(at, forms, kind="notice")

    async def _place(self, message: Message) -> Place:
        """Return the thread of a question; for a command, which has none, a direct message."""
        if not is_command(message):
            return thread_of(message)
        return Place(
            await self._client.conversations_open(message.author.id), None, since=ts_of(message)
        )

    async def _posted_parts(self, message: Message, notice: Notice) -> PostedParts:
        replies = await self._client.find_messages(
            await self._place(message), notice.interaction_id
        )
        return parts_of(notice.id, replies)

    async def _question_line(self, message: Message) -> str:
        """Return a line that names a question asked by command, "" for any other question."""
        if not is_command(message):
            return ""
        question = clip(await self._question(message), _LONGEST_QUESTION)
        return tr("You asked with a command: {question}", question=question)

    async def _question(self, message: Message) -> str:
        """Return the question as people see it: a press that asks for them has no text."""
        casework = self.latest.casework
        if casework is None:
            return message.text
        try:
            view = await casework.bare(message.thread.tenant, message.interaction_id)
        except BotError:
            return message.text
        return view.case.question


@dataclass(frozen=True, slots=True)
class AskerButtons:
    """Handles the asker's buttons; others see them but are rejected. Implements `Listener`."""

    casework: Casework
    targets: ActionTargets
    presses: PressDispatcher

    def register(self, bolt: AsyncApp) -> None:
        for act, name in ASKER_BUTTONS.items():
            self.presses.on(bolt, name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> None:
        value, _, number = press.value.partition(":")
        case_id = interaction_named(value)
        actor = await self.targets.asker(case_id, press.presser)
        detail = ActDetail(about=step_number(number)) if act in CONSENTS else NO_DETAIL
        await self.casework.act(self.targets.tenant, case_id, act, actor, detail=detail)


_SHARED = "Another company can read this channel, so no digest is sent there."


class Digests:
    """Sends digests to channels and people. Implements bot.learning.digest.SendsDigests.

    One of an earlier attempt is looked up by its metadata.
    """

    def __init__(self, client: SlackClient) -> None:
        self._client = client

    async def send_digest(self, address: str, sending: Sending) -> None:
        """Post a digest, unless it is there. Raises DeliveryFailed, DeliveryRefused."""
        person = address.startswith(("U", "W"))
        if not person and is_shared_channel(await self._client.conversations_info(address)):
            raise DeliveryRefused(_SHARED)
        channel = await self._client.conversations_open(address) if person else address
        place = Place(channel, None, since=ts_since(sending.since))
        key = InteractionId(sending.key)
        if sending.again and await self._client.find_messages(place, key):
            return
        label = MessageLabel(sending.key, key, "1", total=1)
        await self._client.chat_post_message(place, _digest_forms(sending), label, kind="notice")


def _digest_forms(sending: Sending) -> MessageForms:
    digest = sending.digest
    parts = [
        join_texts("\n", [bold(heading), *map(with_links, lines)])
        for heading, lines in digest.sections
    ]
    shown = (bold(digest.subject), *(clip(part, SECTION_LIMIT) for part in parts))
    text = escaped(digest.text())
    blocks = (*map(section, shown), context(escaped(digest.ending)))
    return (MessageForm(text, blocks), MessageForm(text))
