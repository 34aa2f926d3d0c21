"""Notify an asker, where they asked, of people's actions, with buttons for the next step.

Each activity is within Teams' size limit; a person's words are quoted as theirs.
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
from bot.escalations.casework import Casework
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
"""Bytes reserved for the buttons, and for the part number."""

_NAME_LENGTH = 80
_QUESTION_LENGTH = 200
_ADDRESS = re.compile(r"`(https://[^`\s]+)`")


def notice_activities(
    message: Message, notice: Notice, offers: Sequence[CaseButton] = (), remark: str = ""
) -> tuple[Json, ...]:
    """Return the activities of a notice: a line on who did what, then the person's words.

    A chat has no threads, so there the question is repeated. Nothing is labelled as AI-generated: a
    person wrote it. Several messages are numbered. The asker's buttons and ``remark``, a line of
    ours, are in a separate last message, as Teams can't edit a message of text and a card.
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
    """Return the card with the asker's buttons, below a line of ours."""
    remarks = [text_block(remark, isSubtle=True)] if remark else []
    return card(remarks, [_button(offer, case_id) for offer in offers])


def with_links(words: str) -> str:
    """Return a person's words with plain https addresses as links, and nothing else live."""
    return _ADDRESS.sub(_link, _inert_markdown(words))


def _button(offer: CaseButton, case_id: InteractionId) -> Json:
    return execute_button(offer.label, ASKER_ACTIONS[offer.act], case_id, first=offer.first)


def _link(found: re.Match[str]) -> str:
    url = web_url(found[1])
    return found[0] if url is None else f"[{teams_label(found[1])}]({url})"


def _recalled_question(question: str) -> str:
    return _inert_markdown(clip(question, _QUESTION_LENGTH))


def _inert_markdown(words: str) -> str:
    """Return a person's Markdown made inert; code in it is code in every client."""
    return teams_markdown(plain_code(disarm(words)))


def _activity(text: str, number: int, of: int) -> Json:
    shown = text if of == 1 else f"_({number} of {of})_\n\n{text}"
    return {"type": "message", "text": shown, "textFormat": "markdown"}


class AskerNotices:
    """Posts and updates notices to askers. Implements bot.escalations.ports.Tells.

    Teams can't be searched for posts: a retry posts the messages not known to be posted, so one
    whose post succeeded unseen is repeated. The returned reference is the first message's.
    """

    def __init__(self, connector: Connector, parts: PostedActivities, notes: Notes) -> None:
        self._connector = connector
        self._parts = parts
        self._last = LatestNotice(_NoticeEditor(connector), notes, "teams")

    def use_casework(self, casework: Casework) -> None:
        """Set the source of current case views."""
        self._last.use_casework(casework)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post a person's action, with their name and words. Raises DeliveryFailed."""
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
        """Return None: Teams can't be searched. A notice may be posted twice, but is never lost."""
        return None

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the buttons of the last notice. Raises DeliveryFailed."""
        await self._last.show(message, view)


class _NoticeEditor:
    """Edits the buttons of a notice. Implements bot.escalations.asker_notices.EditsNotices."""

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
            # The buttons are a separate message: delete it, as editing would leave an empty card.
            await self._connector.delete(message.reply_to, at.id)
