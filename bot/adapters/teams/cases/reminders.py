"""What people are reminded of, in the thread of the card they were asked by."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.cases.cards import Cards
from bot.adapters.teams.cases.links import thread_of
from bot.adapters.teams.home.places import Places
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_plain
from bot.chat.response_view import web_url
from bot.domain.cases import Case, Notice, mark_card_thread
from bot.domain.errors import DeliveryRefused, StoreUnavailable
from bot.domain.ports import Notes
from bot.domain.text.markdown import clip
from bot.domain.text.source_links import board_case
from bot.domain.types import InteractionId, Message, PostedRef
from bot.escalations.case_view import platform_of, reminder_text

_QUESTION_LENGTH = 300

log = structlog.get_logger(__name__)


class Reminders:
    """Posts reminders and notes where each is; one whose note is missing is posted again."""

    def __init__(
        self,
        connector: Connector,
        places: Places,
        notes: Notes,
        cards: Cards,
        *,
        public_url: str | None,
    ) -> None:
        self._connector = connector
        self._places = places
        self._notes = notes
        self._cards = cards
        self._public_url = public_url

    async def post(self, case: Case, notice: Notice, channel: str | None) -> PostedRef | None:
        """Say that a case still waits: below its card, else in ``channel``; None where neither is.

        Raises DeliveryFailed, StoreUnavailable.
        """
        card = await self._cards.noted(case.tenant, case.interaction_id)
        where = card.channel if card else channel
        if where is None:
            return None
        key = _key(case.interaction_id, notice.id)
        if before := _read(await self._notes.get(case.tenant, key)):
            return before
        place = await self._places.channel(thread_of(card) if card and card.id else where)
        shown = reminder(
            case, notice, board_case(case.interaction_id, self._public_url), now=datetime.now(UTC)
        )
        posted = PostedRef(where, await self._connector.send(place, shown))
        await self._note(case, key, posted)
        return posted

    async def remove(self, message: Message) -> None:
        """Delete the reminders about a question. Raises DeliveryFailed, StoreUnavailable."""
        key = _key(message.interaction_id, "")
        noted = await self._notes.beginning(message.thread.tenant, key)
        for posted in filter(None, map(_read, noted.values())):
            try:
                there = await self._places.channel(posted.channel)
                await self._connector.delete(there, posted.id)
            except DeliveryRefused as error:
                log.info("teams.reminder_gone", why=str(error))

    async def _note(self, case: Case, key: str, at: PostedRef) -> None:
        text = f"{at.channel} {at.id}"
        try:
            await self._notes.put(case.tenant, key, text, interaction_id=case.interaction_id)
            # Without a card in Teams it begins a thread of its own.
            await mark_card_thread(self._notes, "teams", case.tenant, case.interaction_id, at)
        except StoreUnavailable as error:
            log.warning("teams.reminder_not_noted", why=str(error))


def reminder(case: Case, notice: Notice, board: str, *, now: datetime) -> Json:
    """Return what people are reminded of; pure.

    The question is quoted only if it was asked in Teams: with one that is withdrawn elsewhere the
    reminder would stay.
    """
    matter, more = reminder_text(case, notice, now)
    platform = platform_of(case)
    asked = f"Asked by {teams_plain(platform)}."
    if platform == "teams":
        asked = f"> {teams_plain(clip(case.question, _QUESTION_LENGTH))}"
    url = web_url(board) if board else None
    way = f"[Take it on the board]({url})" if url else f"On the board it is {case.interaction_id}."
    text = "\n\n".join([f"**{matter}**{more}", asked, way])
    return {"type": "message", "text": text, "textFormat": "markdown"}


def _key(case_id: InteractionId, notice_id: str) -> str:
    return f"teams:reminder:{case_id}:{notice_id}"


def _read(text: str | None) -> PostedRef | None:
    channel, _, activity_id = (text or "").partition(" ")
    return PostedRef(channel, activity_id) if activity_id else None
