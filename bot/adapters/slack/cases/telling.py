"""What an asker is told later, in the thread of the question, with what they may do then."""

from __future__ import annotations

from collections.abc import Sequence

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.cases.news import told
from bot.adapters.slack.home.rooms import Rooms
from bot.adapters.slack.showing.editing import Editor
from bot.adapters.slack.showing.lookup import Lookup
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.wire.labels import (
    Label,
    Parts,
    Place,
    Posted,
    last_of_all,
    thread_of,
    ts_of,
)
from bot.adapters.slack.wire.reply_to import response_url_of
from bot.domain.cases import Notice
from bot.domain.errors import BotError
from bot.domain.ports import Notes
from bot.domain.text.markdown import clip
from bot.domain.types import Message, PostedRef
from bot.escalations.asker_notices import LatestNotice
from bot.escalations.case_view import STATE_AFTER_STEP, CaseButton, CaseView, buttons_for_asker
from bot.escalations.ports import SeesCases

_LONGEST_QUESTION = 200


class Telling:
    """Implements bot.escalations.ports.Tells.

    A long reply has several messages; the posted reference names the last. What an earlier attempt
    posted is looked up, so that only what is missing is added. Who asked by command, in no thread,
    is told in a direct message that names the question.
    """

    def __init__(self, client: AsyncWebClient, caller: Caller, notes: Notes) -> None:
        self._poster = Poster(client, caller)
        self._rooms = Rooms(client, caller)
        self._lookup = Lookup(client, caller)
        self._last = LatestNotice(_News(Editor(client, caller, self._poster)), notes, "slack")
        self._sees: SeesCases | None = None

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen."""
        self._sees = sees
        self._last.attend(sees)

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        there = await self._there(message, notice) if notice.attempts else {}
        state = STATE_AFTER_STEP.get(notice.step)
        offers = buttons_for_asker(state) if state else ()
        parts = told(notice, offers, await self._question(message))
        place, ts = await self._place(message), ""
        for number, forms in enumerate(parts, start=1):
            part = str(number)
            known = there.get(part)
            label = notice_label(notice, part, of=len(parts))
            ts = known.ts if known else await self._poster.post(place, forms, label)
        ref = PostedRef(place.channel, ts)
        if state:
            await self._last.came(message, notice, ref, state)
        return ref

    async def find_told(self, message: Message, notice: Notice) -> PostedRef | None:
        last = last_of_all(await self._there(message, notice))
        return PostedRef(last.channel, last.ts) if last else None

    async def show(self, message: Message, view: CaseView) -> None:
        """Let the last message offer what can be done now. Raises DeliveryFailed."""
        await self._last.show(message, view)

    async def _place(self, message: Message) -> Place:
        """Return the thread of a question; of one by command, which has none, a direct message."""
        if not response_url_of(message):
            return thread_of(message)
        return Place(await self._rooms.direct(message.author.id), None, since=ts_of(message))

    async def _there(self, message: Message, notice: Notice) -> Parts:
        replies = await self._lookup.search(await self._place(message), notice.interaction_id)
        return parts_of(notice, replies)

    async def _question(self, message: Message) -> str:
        """Return what is said of a question where it can't be seen above, else ""."""
        if not response_url_of(message):
            return ""
        return f"You asked by command: {clip(await self._asked(message), _LONGEST_QUESTION)}"

    async def _asked(self, message: Message) -> str:
        """Return what people were asked: a button that asks for them says none of it."""
        if self._sees is None:
            return message.text
        try:
            view = await self._sees.bare(message.thread.tenant, message.interaction_id)
        except BotError:
            return message.text
        return view.case.question


class _News:
    """Implements bot.escalations.asker_notices.EditsNotices."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    async def edit(
        self,
        message: Message,  # noqa: ARG002  # the port's
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        await self._editor.edit(at, told(notice, offers, remark)[-1])


def notice_label(notice: Notice, part: str, of: int) -> Label:
    """Return the label of one part of a notice."""
    return Label(notice.id, notice.interaction_id, part, of)


def parts_of(notice: Notice, posted: Sequence[Posted]) -> Parts:
    """Return a notice's messages by part, the first of each."""
    return {p.label.part: p for p in reversed(posted) if p.label.delivery_id == notice.id}
