"""Send drafts of channels in shadow mode to their reviewers, and take what they say of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import interaction_named
from bot.chat.response_view import render
from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Message
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, tr
from bot.learning.shadow_mode import (
    VERDICT_WORDS,
    DraftReview,
    ReviewsDrafts,
    Verdict,
    draft_note,
)
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.members import Colleagues
from bot.platforms.slack.payloads.actions import DRAFT_RIGHT, DRAFT_WRONG
from bot.platforms.slack.payloads.markup import escaped
from bot.platforms.slack.payloads.metadata import Place, label_of, parts_of, ts_of
from bot.platforms.slack.rendering import (
    MessageForm,
    MessageForms,
    ReplyButtons,
    actions,
    button,
    mrkdwn_link,
    reply_messages,
    section,
)

DRAFT_BUTTONS: Mapping[str, Verdict] = {DRAFT_RIGHT: "agree", DRAFT_WRONG: "disagree"}
"""The verdicts of the buttons, by action id."""

_QUESTION_LENGTH = 2_000


def draft_messages(draft: Delivery, link: str, *, now: datetime) -> tuple[MessageForms, ...]:
    """Return the messages of a draft: what was asked where, then what would have been said."""
    outcome, message = draft.outcome, draft.message
    buttons = actions(
        [
            button(tr("Correct"), DRAFT_RIGHT, draft.interaction_id),
            button(tr("Wrong"), DRAFT_WRONG, draft.interaction_id),
        ]
    )
    rendered = replace(render(outcome.response, private=False, remarks=outcome.remarks), footer="")
    shown = reply_messages(rendered, now=now, buttons=ReplyButtons(row=buttons))
    return (_opening(message, link), *shown)


def _opening(message: Message, link: str) -> MessageForms:
    quoted = escaped(message.text[:_QUESTION_LENGTH]).replace("\n", "\n> ")
    where: str = tr("There is no link to the question.")
    if link:
        where = mrkdwn_link(link, tr("Open question"))
    opening = tr(
        "*A draft for {channel}.* Nothing was posted there; only the reviewers see this.",
        channel=f"<#{message.thread.channel}>",
    )
    text = join_texts("\n", (opening, f"> {quoted}", where, tr("I would have said:")))
    return (MessageForm(text, (section(text),)), MessageForm(text))


class Drafts:
    """Sends drafts by direct message. Implements bot.learning.shadow_mode.ReviewsDrafts."""

    def __init__(self, client: SlackClient, colleagues: Colleagues, notes: Notes) -> None:
        self._client = client
        self._colleagues = colleagues
        self._notes = notes

    @property
    def platform(self) -> Literal["slack"]:
        return "slack"

    async def is_reviewer(self, message: Message, person_id: str) -> bool:
        if await self._colleagues.of(person_id) is None:
            return False
        return await self._client.is_channel_member(message.thread.channel, person_id)

    async def send_draft(self, draft: Delivery, reviewer: str, *, again: bool) -> PostedRef:
        message = draft.message
        direct = await self._client.conversations_open(reviewer)
        place, ts = Place(direct, None, since=ts_of(message)), ""
        found = await self._client.find_messages(place, draft.interaction_id) if again else ()
        posted = parts_of(draft.id, found)
        link = await self._client.chat_get_permalink(message.thread.channel, ts_of(message))
        parts = draft_messages(draft, link or "", now=datetime.now(UTC))
        for number, forms in enumerate(parts, start=1):
            label = label_of(draft, str(number), total=len(parts))
            known = posted.get(label.part)
            ts = known.ts if known else await self._client.chat_post_message(place, forms, label)
        return PostedRef(direct, ts)

    async def withdraw_drafts(self, message: Message) -> None:
        prefix = draft_note(message)
        noted = await self._notes.beginning(message.thread.tenant, prefix)
        for key in noted:
            # One who has left must not keep the others' drafts from being removed.
            with suppress(DeliveryRefused):
                await self._withdraw(message, key.removeprefix(prefix))

    async def _withdraw(self, message: Message, reviewer: str) -> None:
        # Also where no place is noted: a process may have died while it was sent.
        direct = await self._client.conversations_open(reviewer)
        place = Place(direct, None, since=ts_of(message))
        for each in await self._client.find_messages(place, message.interaction_id):
            with suppress(DeliveryRefused):
                await self._client.chat_delete(each.channel, each.ts)


@dataclass(frozen=True, slots=True)
class DraftButtons:
    """Handles the buttons below a draft. Implements `Listener`."""

    review: DraftReview
    drafts: ReviewsDrafts
    presses: PressDispatcher

    def register(self, bolt: AsyncApp) -> None:
        for name, verdict in DRAFT_BUTTONS.items():
            self.presses.on(bolt, name, partial(self._pressed, verdict))

    async def _pressed(self, verdict: Verdict, press: Press) -> None:
        await self.review.judge(interaction_named(press.value), verdict, press.user, self.drafts)
        self.presses.tell(press, VERDICT_WORDS[verdict])
