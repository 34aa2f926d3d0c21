"""Text of the notices that askers read, and the buttons below the latest of them.

The latest notice is remembered by a note, for all processes, and edited in place: its buttons
offer what can be done now, and those of earlier notices are taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot.domain.cases import CaseStep, Notice, State, Step
from bot.domain.errors import BotError, DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Message, Platform
from bot.domain.ports import Notes
from bot.escalations.case_view import CaseButton, CaseView, buttons_for_asker, last_act
from bot.escalations.lifecycle import display_name
from bot.escalations.ports import SeesCases

_DID: Mapping[Step, str] = {
    "claim": "has taken your question",
    "reply": "answered",
    "resolve": "closed your question",
    "decline": "can't take your question",
    "reopen": "opened your question again",
}
"""What follows a person's name. It says what happened and promises nothing."""

_OTHERWISE = "wrote"


@dataclass(frozen=True, slots=True)
class NoticeText:
    """``name`` and ``words`` are a person's, plain text with nothing escaped; ``did`` is ours.

    ``did`` ends with a colon where words follow. ``words`` may be empty.
    """

    name: str
    did: str
    words: str


def notice_text(notice: Notice) -> NoticeText:
    """Return the parts of a notice to an asker; a name is always among them."""
    words = notice.text.strip()
    did = _DID.get(notice.step, _OTHERWISE)
    name = display_name(notice.actor.name if notice.actor else "")
    return NoticeText(name, f"{did}:" if words else f"{did}.", words)


def as_plain(news: NoticeText) -> str:
    """Return it as plain text, the person's words set off from ours."""
    return "\n\n".join(part for part in (f"{news.name} {news.did}", news.words) if part)


_REMARKS: dict[Step, str] = {"resolve": "You closed it.", "reopen": "You asked again."}

log = structlog.get_logger(__name__)


class EditsNotices(Protocol):
    """Shows what an asker was told with other buttons below it."""

    async def edit(
        self,
        message: Message,
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        """Edit the message at ``at``, the last of a notice about ``message``.

        ``remark`` is a word of ours above the buttons. Raises bot.domain.errors.DeliveryFailed;
        DeliveryRefused where it is gone.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Latest:
    """Where it is, of which step it tells, and the state that its buttons are for."""

    at: PostedRef
    number: int
    state: str


class LatestNotice:
    """Remembers it by a note, for all processes, and edits it in place.

    Two steps in quick succession may leave a button that no longer applies: what it does is
    checked when it is pressed.
    """

    def __init__(self, edits: EditsNotices, notes: Notes, platform: Platform) -> None:
        self._edits = edits
        self._notes = notes
        self._platform = platform
        self._sees: SeesCases | None = None

    def attend(self, sees: SeesCases) -> None:
        """Learn where cases are seen; until then no buttons are taken away."""
        self._sees = sees

    async def came(self, message: Message, notice: Notice, at: PostedRef, state: State) -> None:
        """Note that something newer was told, and take the buttons off what was told before.

        What goes wrong is logged: the asker was told, and that is what matters.
        """
        try:
            before = await self._noted(message)
            if before is None or before.number < notice.number:
                await self._note(message, _Latest(at, notice.number, state))
                await self._bare(message, before)
        except BotError as error:
            log.warning("escalation.old_buttons_left", platform=self._platform, why=str(error))

    async def show(self, message: Message, view: CaseView) -> None:
        """Offer what can be done now, unless the asker is about to be told of it anew.

        Raises DeliveryFailed, StoreUnavailable.
        """
        last, act = await self._noted(message), last_act(view.steps)
        state = view.case.standing.state
        if last is None or act is None or not _is_silent(act) or last.state == state:
            return
        await self._edit(message, last, view, buttons_for_asker(state), remark_on(act))
        await self._note(message, _Latest(last.at, last.number, state))

    async def _bare(self, message: Message, before: _Latest | None) -> None:
        if before is None or self._sees is None:
            return
        view = await self._sees.bare(message.thread.tenant, message.interaction_id)
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
            await self._edits.edit(message, last.at, _notice_of(step), offers, remark)
        except DeliveryRefused as error:
            log.info("escalation.news_gone", platform=self._platform, why=str(error))

    async def _noted(self, message: Message) -> _Latest | None:
        text = await self._notes.get(message.thread.tenant, self._key(message.interaction_id))
        try:
            channel, ts, number, state = (text or "").split(" ")
            return _Latest(PostedRef(channel, ts), int(number), state)
        except ValueError:
            return None

    async def _note(self, message: Message, last: _Latest) -> None:
        await self._notes.put(
            message.thread.tenant,
            self._key(message.interaction_id),
            f"{last.at.channel} {last.at.id} {last.number} {last.state}",
            interaction_id=message.interaction_id,
        )

    def _key(self, case_id: InteractionId) -> str:
        return f"{self._platform}:told:{case_id}"


def remark_on(act: CaseStep) -> str:
    """Return what an asker reads of what they did themselves, "" for what others did."""
    return _REMARKS.get(act.step, "") if act.actor and act.actor.role == "asker" else ""


def _is_silent(act: CaseStep) -> bool:
    """Tell whether an act is one that the asker is not told of by a message."""
    return act.step == "release" or (act.actor is not None and act.actor.role == "asker")


def _notice_of(step: CaseStep) -> Notice:
    """Return a step as its asker was told of it."""
    return Notice(
        id=f"{step.interaction_id}:{step.number}:asker",
        interaction_id=step.interaction_id,
        number=step.number,
        step=step.step,
        to="asker",
        actor=step.actor,
        text=step.text,
    )
