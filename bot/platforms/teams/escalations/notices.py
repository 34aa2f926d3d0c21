"""Tell an asker, where they asked, what people did, with the buttons for what they may do then.

Each activity is within what Teams takes; a person's words are quoted as theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.chat.response_view import web_url
from bot.domain.cases import Notice
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Notes
from bot.domain.text.markdown import clip, disarm, plain_code, split
from bot.escalations.asker_notices import LatestNotice, notice_text
from bot.escalations.case_view import STATE_AFTER_STEP, CaseButton, CaseView, buttons_for_asker
from bot.escalations.ports import SeesCases
from bot.platforms.teams.client.connector import Connector
from bot.platforms.teams.messages.replies import PostedActivities
from bot.platforms.teams.payloads.actions import ASKER_ACTIONS
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.cards import card, execute_button, text_block, with_card
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    size,
    teams_label,
    teams_markdown,
    teams_plain,
)

_BUTTONS_BYTES = 2_000
"""Bytes kept for the buttons, and for the mark of a part."""

_NAME_LENGTH = 80
_QUESTION_LENGTH = 200
_ADDRESS = re.compile(r"`(https://[^`\s]+)`")


def notice_activities(
    message: Message, notice: Notice, offers: Sequence[CaseButton] = (), remark: str = ""
) -> tuple[Json, ...]:
    """Return the activities that tell an asker: who did what, in our words, then theirs.

    In a chat, which has no threads, the question is recalled. Nothing marks it as made by an AI:
    it is a person's. Several say which of how many they are. What the asker may do then, and
    ``remark``, a word of ours, are in a message of their own at the end, for Teams can't edit words
    and a card in one.
    """
    news = notice_text(notice)
    opening = f"**{teams_plain(clip(news.name, _NAME_LENGTH))}** {news.did}"
    about = f"> {_recalled_question(message.text)}" if message.private else ""
    whole = "\n\n".join(part for part in (about, opening, with_links(news.words)) if part)
    parts = split(whole, CONTENT_BUDGET - _BUTTONS_BYTES, size)
    said_so = [_activity(part, number, len(parts)) for number, part in enumerate(parts, start=1)]
    if not (offers or remark):
        return tuple(said_so)
    named = ", ".join([*filter(None, [remark]), *(offer.label for offer in offers)])
    shown: Json = {"type": "message", "summary": named}
    return (*said_so, with_card(shown, asker_card(notice.interaction_id, offers, remark)))


def asker_card(case_id: InteractionId, offers: Sequence[CaseButton], remark: str = "") -> Json:
    """Return the card with what an asker may do, and a word of ours above it."""
    remarks = [text_block(remark, isSubtle=True)] if remark else []
    return card(remarks, [_button(offer, case_id) for offer in offers])


def with_links(words: str) -> str:
    """Return a person's words in which plain https addresses are links, and nothing else is."""
    return _ADDRESS.sub(_link, _inert_markdown(words))


def _button(offer: CaseButton, case_id: InteractionId) -> Json:
    return execute_button(offer.label, ASKER_ACTIONS[offer.act], case_id, first=offer.first)


def _link(found: re.Match[str]) -> str:
    url = web_url(found[1])
    return found[0] if url is None else f"[{teams_label(found[1])}]({url})"


def _recalled_question(question: str) -> str:
    return _inert_markdown(clip(question, _QUESTION_LENGTH))


def _inert_markdown(words: str) -> str:
    """Return a person's Markdown; what is code in it is code to every client."""
    return teams_markdown(plain_code(disarm(words)))


def _activity(text: str, number: int, of: int) -> Json:
    shown = text if of == 1 else f"_({number} of {of})_\n\n{text}"
    return {"type": "message", "text": shown, "textFormat": "markdown"}


class AskerNotices:
    """Implements bot.escalations.ports.Tells.

    Teams can't be asked what was posted: a repetition adds what is not known to be there, and what
    got through unseen is told again. The posted reference names the first message.
    """

    def __init__(self, connector: Connector, parts: PostedActivities, notes: Notes) -> None:
        self._connector = connector
        self._parts = parts
        self._last = LatestNotice(_NoticeEditor(connector), notes, "teams")

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen."""
        self._last.attend(sees)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post what a person did; theirs by name and words. Raises DeliveryFailed."""
        state = STATE_AFTER_STEP.get(notice.step)
        shown = notice_activities(message, notice, buttons_for_asker(state) if state else ())
        several = len(shown) > 1
        posted = [*await self._parts.of(message, notice.id, several=several)]
        for activity in shown[len(posted) :]:
            posted.append(await self._connector.send(message.reply_to, activity))
            await self._parts.keep(message, notice.id, posted, several=several)
        channel = message.thread.channel
        if state:
            await self._last.came(message, notice, PostedRef(channel, posted[-1]), state)
        return PostedRef(channel, posted[0])

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:  # noqa: ARG002  # the port's
        """Return None: Teams cannot be asked. Better told twice than never."""
        return None

    async def show(self, message: Message, view: CaseView) -> None:
        """Let the last message offer what can be done now. Raises DeliveryFailed."""
        await self._last.show(message, view)


class _NoticeEditor:
    """Implements bot.escalations.asker_notices.EditsNotices."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def edit(
        self,
        message: Message,
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        if offers or remark:
            shown = notice_activities(message, notice, offers, remark)[-1]
            await self._connector.update(message.reply_to, at.id, shown)
        else:
            # The buttons are a message of their own; a card of nothing would be left.
            await self._connector.delete(message.reply_to, at.id)
