"""Send drafts of channels in shadow mode to their reviewers, and take what they say of them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.markdown import clip
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
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import HomeTenant, member_of
from bot.platforms.teams.payloads.actions import DRAFT_ACTIONS, Press
from bot.platforms.teams.payloads.activity import (
    Body,
    Json,
    channel_in,
    question_link,
    reference_to,
    text_at,
)
from bot.platforms.teams.rendering.answers import answer_activities
from bot.platforms.teams.rendering.cards import card, execute_button, text_answer, with_card
from bot.platforms.teams.rendering.text import markdown_link, teams_plain

_QUESTION_LENGTH = 500
_MOST_PAGES = 10


def draft_activities(draft: Delivery, *, now: datetime) -> tuple[Json, ...]:
    """Return the activities of a draft: what was asked, what would have been said, two buttons."""
    message = draft.message
    link = question_link(message)
    opening = join_texts(
        "\n\n",
        (
            tr("**A draft.** Nothing was posted in the channel; only its reviewers see this."),
            f"> {teams_plain(clip(message.text, _QUESTION_LENGTH))}",
            markdown_link(tr("Open question"), link) if link else "",
            tr("I would have said:"),
        ),
    )
    shown = answer_activities(draft.outcome, message, now=now, opening=opening, pressed=False)
    buttons = [
        execute_button(tr("Correct"), DRAFT_ACTIONS["agree"], draft.interaction_id),
        execute_button(tr("Wrong"), DRAFT_ACTIONS["disagree"], draft.interaction_id),
    ]
    asked: Json = {"type": "message", "summary": tr("Correct, Wrong")}
    return (*shown, with_card(asked, card([], buttons)))


class Drafts:
    """Sends drafts to personal chats. Implements bot.learning.shadow_mode.ReviewsDrafts.

    Teams can't be searched: the activities that are known to be sent are noted one by one, and one
    whose sending succeeded unseen is sent again. A reviewer needs the app in their own Teams.
    """

    def __init__(self, client: TeamsClient, home: HomeTenant, notes: Notes) -> None:
        self._client = client
        self._home = home
        self._notes = notes

    @property
    def platform(self) -> Literal["teams"]:
        return "teams"

    async def is_reviewer(self, message: Message, person_id: str) -> bool:
        found = await self._member(message, person_id)
        return found is not None and member_of(found, self._home).colleague

    async def send_draft(self, draft: Delivery, reviewer: str, *, again: bool) -> PostedRef:  # noqa: ARG002 - Teams can't be searched
        message = draft.message
        tenant, key = message.thread.tenant, _sent_key(message, reviewer)
        noted = json.loads(await self._notes.get(tenant, key) or "{}")
        member = await self._member(message, reviewer) or {}
        chat = noted.get("chat") or await self._client.open_chat(
            reviewer, user_id=text_at(member, "id")
        )
        ids = list(noted.get("ids", ()))
        for activity in draft_activities(draft, now=datetime.now(UTC))[len(ids) :]:
            ids.append(await self._client.send(chat, activity))
            sent = json.dumps({"chat": chat, "ids": ids})
            await self._notes.put(tenant, key, sent, interaction_id=draft.interaction_id)
        return PostedRef(channel_in(chat), ids[0])

    async def withdraw_drafts(self, message: Message) -> None:
        tenant = message.thread.tenant
        noted = await self._notes.beginning(tenant, draft_note(message))
        for key in noted:
            reviewer = key.removeprefix(draft_note(message))
            sent = json.loads(await self._notes.get(tenant, _sent_key(message, reviewer)) or "{}")
            for activity in sent.get("ids", ()):
                with suppress(DeliveryRefused):
                    await self._client.delete(sent["chat"], activity)

    async def _member(self, message: Message, person_id: str) -> Body | None:
        """Return the member of a question's channel with an object id, None if there is none."""
        where, page = reference_to(message.reply_to, channel_in(message.reply_to)), ""
        for _ in range(_MOST_PAGES):
            listed = await self._client.members(where, page)
            for each in listed.members:
                if person_id in {text_at(each, "aadObjectId"), text_at(each, "objectId")}:
                    return each
            page = listed.next_page
            if not page:
                break
        return None


def _sent_key(message: Message, reviewer: str) -> str:
    return f"teams:sent-draft:{message.interaction_id}:{reviewer}"


@dataclass(frozen=True, slots=True)
class DraftButtons:
    """Handles the buttons below a draft. Implements `Listener`."""

    review: DraftReview
    drafts: ReviewsDrafts

    def register(self, dispatch: Dispatch) -> None:
        for verdict, name in DRAFT_ACTIONS.items():
            dispatch.on_press(name, partial(self._pressed, verdict))

    async def _pressed(self, verdict: Verdict, press: Press) -> Json:
        await self.review.judge(press.about, verdict, press.person.id, self.drafts)
        return text_answer(VERDICT_WORDS[verdict])
