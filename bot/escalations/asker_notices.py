"""Text of the notices to askers, and the buttons below the latest of them.

The latest notice's position is stored in a note, for all processes; the notice is edited so that
its buttons match the case's state, and the buttons of earlier notices are removed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from bot.domain.cases import NO_DETAIL, CaseStep, Notice, State, Step
from bot.domain.errors import BotError, DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Message, Platform
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, tr
from bot.escalations.case_view import (
    STATE_AFTER_STEP,
    CaseButton,
    CaseView,
    buttons_for_asker,
    buttons_of_request,
    last_act,
)
from bot.escalations.casework import Casework
from bot.escalations.history import assignee_of
from bot.escalations.lifecycle import EXPERTS_ONLY, display_name
from bot.escalations.showing_more import WANTS_MORE

_DID: Mapping[Step, str] = {
    "claim": tr("is working on your question."),
    "assign": tr("is now working on your question."),
    "reply": tr("replied."),
    "amend": tr("corrected the answer."),
    "retract": tr("retracted the answer."),
    "resolve": tr("closed your question."),
    "decline": tr("can't help with your question."),
    "reopen": tr("reopened your question."),
    "ask_more": WANTS_MORE,
}
_DID_IN_WORDS: Mapping[Step, str] = {
    "claim": tr("is working on your question:"),
    "reply": tr("replied:"),
    "amend": tr("corrected the answer:"),
    "retract": tr("retracted the answer:"),
    "resolve": tr("closed your question:"),
    "decline": tr("can't help with your question:"),
    "reopen": tr("reopened your question:"),
}
"""Texts after the expert's name. They state what happened and promise nothing."""

_OTHERWISE = tr("wrote.")
_OTHERWISE_IN_WORDS = tr("wrote:")
_ANSWERED_IN_THREAD = tr("replied in this thread.")


@dataclass(frozen=True, slots=True)
class NoticeText:
    """Parts of a notice: ``name`` and ``words`` are an expert's, unescaped; ``did`` is ours.

    ``did`` ends with a colon if words follow. ``words`` may be empty.
    """

    name: str
    did: str
    words: str


def notice_text(notice: Notice) -> NoticeText:
    """Return the parts of a notice to an asker; the name is never empty.

    The reason of an assignment is not for the asker, and a reply that its author wrote in the
    asker's thread is not repeated.
    """
    detail = notice.detail
    if notice.step == "assign":
        return NoticeText(display_name(assignee_of(detail)), _DID["assign"], "")
    name = display_name(notice.actor.name if notice.actor else "")
    if detail.in_thread:
        return NoticeText(name, _ANSWERED_IN_THREAD, "")
    words = notice.text.strip()
    if words:
        return NoticeText(name, _DID_IN_WORDS.get(notice.step, _OTHERWISE_IN_WORDS), words)
    return NoticeText(name, _DID.get(notice.step, _OTHERWISE), words)


def as_plain(news: NoticeText) -> str:
    """Return the notice as plain text, with the expert's words in a paragraph of their own."""
    told = join_texts(" ", (news.name, news.did))
    return join_texts("\n\n", (told, news.words)) if news.words else told


_REMARKS: dict[Step, str] = {
    "resolve": tr("You closed it."),
    "reopen": tr("You asked again."),
}

log = structlog.get_logger(__name__)


EditNotice = Callable[[Message, PostedRef, Notice, Sequence[CaseButton], str], Awaitable[None]]
"""Edits the last part of a notice about a question, at a place: its buttons, below our remark.

Raises bot.domain.errors.DeliveryFailed; DeliveryRefused if it was deleted.
"""


def buttons_with(notice: Notice) -> tuple[CaseButton, ...]:
    """Return the asker's buttons below a new notice."""
    if notice.step == "ask_more":
        return buttons_of_request()
    state = STATE_AFTER_STEP.get(notice.step)
    return buttons_for_asker(state) if state else ()


@dataclass(frozen=True, slots=True)
class _Latest:
    """Position of the latest notice, its step, and the state that its buttons match."""

    at: PostedRef
    number: int
    state: str


class LatestNotice:
    """Track the latest notice of each case in a note, for all processes, and edit its buttons.

    Two steps in quick succession may leave an outdated button: every act is validated when pressed.
    """

    def __init__(self, edit: EditNotice, notes: Notes, platform: Platform) -> None:
        self.casework: Casework | None = None
        """The source of case views; until it is set no buttons are removed."""
        self._edit_notice = edit
        self._notes = notes
        self._platform = platform

    async def came(self, message: Message, notice: Notice, at: PostedRef) -> None:
        """Store a newer notice as the latest, and remove the buttons of the one before.

        A failure is logged only: the asker has the notice, and that is what matters.
        """
        state = STATE_AFTER_STEP.get(notice.step)
        if state is None:
            return
        try:
            before = await self._stored(message)
            if before is None or before.number < notice.number:
                await self._store(message, _Latest(at, notice.number, state))
                await self._remove_buttons(message, before)
        except BotError as error:
            log.warning("escalation.old_buttons_left", platform=self._platform, why=str(error))

    async def show(self, message: Message, view: CaseView) -> None:
        """Update the buttons of the latest notice, unless a new notice about the act will follow.

        Raises DeliveryFailed, StoreUnavailable.
        """
        last, act = await self._stored(message), last_act(view.steps)
        state = view.case.status.state
        if last is None or act is None or not _is_silent(act) or last.state == state:
            return
        await self._edit(message, last, view, buttons_for_asker(state), remark_on(act))
        await self._store(message, _Latest(last.at, last.number, state))

    async def revise(
        self, message: Message, notice: Notice, at: PostedRef, remark: str
    ) -> PostedRef:
        """Edit a posted notice; the latest keeps the buttons of the case's state.

        Raises DeliveryFailed, DeliveryRefused, StoreUnavailable.
        """
        last, state = await self._stored(message), await self._state(message)
        is_latest = last is not None and last.at == at
        offers = buttons_for_asker(state) if is_latest and state is not None else ()
        await self._edit_notice(message, at, notice, offers, remark)
        if last is not None and is_latest and state is not None:
            await self._store(message, _Latest(at, last.number, state))
        return at

    async def _state(self, message: Message) -> State | None:
        if self.casework is None:
            return None
        view = await self.casework.bare(message.thread.tenant, message.interaction_id)
        return view.case.status.state

    async def _remove_buttons(self, message: Message, before: _Latest | None) -> None:
        if before is None or self.casework is None:
            return
        view = await self.casework.bare(message.thread.tenant, message.interaction_id)
        await self._edit(message, before, view, (), "")

    async def _edit(
        self,
        message: Message,
        last: _Latest,
        view: CaseView,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        step = next((each for each in view.steps if each.number == last.number), None)
        if step is None:
            return
        try:
            await self._edit_notice(message, last.at, notice_of(step), offers, remark)
        except DeliveryRefused as error:
            log.info("escalation.news_gone", platform=self._platform, why=str(error))

    async def _stored(self, message: Message) -> _Latest | None:
        text = await self._notes.get(message.thread.tenant, self._key(message.interaction_id))
        try:
            channel, ts, number, state = (text or "").split(" ")
            return _Latest(PostedRef(channel, ts), int(number), state)
        except ValueError:
            return None

    async def _store(self, message: Message, last: _Latest) -> None:
        await self._notes.put(
            message.thread.tenant,
            self._key(message.interaction_id),
            f"{last.at.channel} {last.at.id} {last.number} {last.state}",
            interaction_id=message.interaction_id,
        )

    def _key(self, case_id: InteractionId) -> str:
        return f"{self._platform}:told:{case_id}"


def remark_on(act: CaseStep) -> str:
    """Return the remark on the asker's own act, "" for the act of others."""
    return _REMARKS.get(act.step, "") if act.actor and act.actor.role == "asker" else ""


def _is_silent(act: CaseStep) -> bool:
    """Return whether the asker gets no notice of an act."""
    return act.step in EXPERTS_ONLY or (act.actor is not None and act.actor.role == "asker")


def notice_of(step: CaseStep) -> Notice:
    """Return the notice by which the asker was told of a step, as it stands now."""
    if step.step == "reply" and not step.text:
        # Taken back; what its author wrote in the asker's thread has no words to repeat, either.
        step = replace(step, step="retract", detail=NO_DETAIL)
    return Notice(
        id=f"{step.interaction_id}:{step.number}:asker",
        interaction_id=step.interaction_id,
        number=step.number,
        step=step.step,
        to="asker",
        actor=step.actor,
        text=step.text,
        detail=step.detail,
    )
