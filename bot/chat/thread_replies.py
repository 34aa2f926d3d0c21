"""Offer to send what an expert writes in a case's thread, and follow its edits and deletion.

A case's thread is the one below its card, or the one in which it was asked while it is not settled.
Nothing is sent until its author says so. A message whose author was asked is kept in a note, which
goes with the question. Platforms send a message, its edits and its deletion in any order: an edit
that comes first is offered as it reads, and what was deleted first is not offered any more.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Protocol
from weakref import WeakValueDictionary

import structlog

from bot.chat.actions import REJECTIONS, ActingUser, ActionRejected, ActionTargets
from bot.chat.messages import reads_like_a_question
from bot.domain.cases import WRITTEN_NOTES, Act, ActDetail, Actor, Case, case_of_card_thread
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import PostedRef
from bot.domain.markdown import clip
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.ports import Notes
from bot.domain.texts import join_texts, tr
from bot.escalations.casework import Casework, IdempotentActs
from bot.escalations.history import standing_replies
from bot.escalations.lifecycle import OWNED, SETTLED

THREAD_IS_ASKED_ABOUT = tr("What you write in this thread is only sent if you confirm it.")
"""Shown on a card whose thread is read, while it can be replied to."""

KEPT_HERE = tr("It stays here. To answer, use Reply on the card or write again.")
_NOTHING_TO_SEND = tr("That message is no longer here, so nothing was sent.")
_AUTHOR_ONLY = tr("Only its author can send it.")
_NO_FILES = tr("Its files stay here.")
_NAME_LENGTH = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ThreadOffer:
    """The offer to an author: a question, the label of the button that accepts, and their words.

    ``message_id`` is the message that is offered, of ``thread``, and ``author`` wrote it.
    ``in_thread``: the asker has read it, so that the case is closed by it and nothing is sent.
    ``at`` is the time of the edit that is offered in seconds, "" for none.
    """

    case_id: InteractionId
    thread: Thread
    message_id: str
    author: ActingUser
    question: str
    accept: str
    words: str
    in_thread: bool
    at: str = ""


@dataclass(frozen=True, slots=True)
class _Written:
    """A message whose author was asked; ``step`` is the number of its reply, 0 while not sent.

    ``in_thread``: it was written where the question was asked, so the asker has read it.
    ``reference`` is the platform's key of its author. ``words`` is empty once its author declined
    or deleted it. ``at`` is the time of its last edit in seconds, "" for none. ``person_id`` is
    empty for one that was deleted before it came, of whose author nothing is known.
    """

    case_id: str
    person_id: str
    words: str
    in_thread: bool
    reference: str
    step: int = 0
    at: str = ""


class SeesChannel(Protocol):
    """Returns whether a person is a member of a people's channel. Raises DeliveryFailed."""

    async def __call__(self, author: ActingUser, channel: str, /) -> bool: ...


FindCard = Callable[[Message], Awaitable[PostedRef | None]]
"""Returns where the card of a question is; None without one."""


class ThreadReplies:
    """Handles what colleagues write in the threads of cases, for one platform.

    All methods raise StoreUnavailable and DeliveryFailed.
    """

    def __init__(
        self,
        *,
        targets: ActionTargets,
        casework: Casework,
        notes: Notes,
        card_of: FindCard,
        sees: SeesChannel,
    ) -> None:
        self._targets = targets
        self._casework = casework
        self._notes = notes
        self._card_of = card_of
        self._sees = sees
        self._idempotent = IdempotentActs(tenant=targets.tenant, casework=casework, notes=notes)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, thread: Thread, message_id: str) -> asyncio.Lock:
        """Return the lock under which a message is offered, edited or sent in this process."""
        return self._turns.setdefault(self._key(thread, message_id), asyncio.Lock())

    async def offer(self, message: Message, author: ActingUser, at: str = "") -> ThreadOffer | None:
        """Return the offer to make to the author of a message; None to make none.

        The caller makes it, and then calls ``offered``: a message without that is offered again.
        ``at`` is the time of the edit that made it read so.
        """
        if not message.text.strip() or await self._written(message.thread, message.id):
            return None
        found = await self._case_of(message)
        if found is None:
            return None
        case, in_thread = found
        actor = await self._author(case, author, in_thread=in_thread)
        if actor is None or _is_others(case, actor):
            return None
        return replace(_offer(case, message, author, in_thread=in_thread), at=at)

    async def knows(self, thread: Thread, message_id: str) -> bool:
        """Return whether a message was offered, sent or not."""
        written = await self._written(thread, message_id)
        return written is not None and bool(written.person_id)

    async def offered(self, offer: ThreadOffer) -> None:
        """Note that an offer was made; a message is offered once."""
        written = _Written(
            offer.case_id,
            offer.author.person.id,
            offer.words,
            offer.in_thread,
            offer.author.reference,
            at=offer.at,
        )
        await self._keep(offer.thread, offer.message_id, written)

    async def accept(self, thread: Thread, message_id: str, presser: ActingUser) -> str:
        """Send an offered message, or mark the case as answered by it; return what was done.

        Idempotent. Raises ActionRejected, ActRefused, InteractionUnknown.
        """
        async with self.turn(thread, message_id):
            written = await self._own(thread, message_id, presser)
            actor = await self._targets.expert(presser)
            case_id = InteractionId(written.case_id)
            if not written.words:
                raise ActionRejected(_NOTHING_TO_SEND)
            if not written.step:
                key = f"{self._key(thread, message_id)}:sent"
                detail = ActDetail(in_thread=written.in_thread)
                await self._idempotent.say(key, case_id, "reply", actor, written.words, detail)
                step = await self._number_of(case_id, actor, written.words)
                await self._keep(thread, message_id, replace(written, step=step))
            view = await self._casework.bare(self._targets.tenant, case_id)
        return _done(view.case, in_thread=written.in_thread)

    async def decline(self, thread: Thread, message_id: str, presser: ActingUser) -> str:
        """Leave an offered message where it is; return what the author reads.

        Its words are forgotten; that it was offered is not.
        """
        async with self.turn(thread, message_id):
            written = await self._own(thread, message_id, presser)
            if not written.step:
                await self._keep(thread, message_id, replace(written, words=""))
        return KEPT_HERE

    async def edit(self, message: Message, author: ActingUser, at: str) -> bool:
        """Apply an edit to an offered message, also where it was sent; False for any other.

        An edit older than the last one changes nothing.
        """
        async with self.turn(message.thread, message.id):
            written = await self._written(message.thread, message.id)
            if written is None or not written.person_id:
                return False
            own = written.person_id == author.person.id
            if own and written.words and _is_newer(at, written.at):
                written = await self._linked(message.thread, message.id, written, author)
                await self._amend(written, author, message.text)
                changed = replace(written, words=message.text, at=at)
                await self._keep(message.thread, message.id, changed)
        return True

    async def delete(self, thread: Thread, message_id: str) -> bool:
        """Take back an offered message that its author deleted; False for any other.

        One that has not come yet is not offered when it comes.
        """
        async with self.turn(thread, message_id):
            written = await self._written(thread, message_id)
            if written is None:
                await self._note_deleted(thread, message_id)
            if written is None or not written.person_id:
                return False
            person = ActingUser(Person(written.person_id), thread.channel, written.reference)
            written = await self._linked(thread, message_id, written, person)
            await self._correct(written, person, "")
            await self._keep(thread, message_id, replace(written, words=""))
        return True

    async def _note_deleted(self, thread: Thread, message_id: str) -> None:
        """Note that a message of a case's thread was deleted before it was offered, if it was."""
        case_id = await case_of_card_thread(self._notes, thread)
        if case_id is None:
            case = await self._casework.open_in(thread)
            case_id = case.interaction_id if case else None
        if case_id is not None and message_id != thread.id:
            gone = _Written(case_id, person_id="", words="", in_thread=False, reference="")
            await self._keep(thread, message_id, gone)

    async def _case_of(self, message: Message) -> tuple[Case, bool] | None:
        """Return the case of a thread, and whether it was asked there; None without one to answer.

        What mentions the bot in the asker's thread is for the bot. Talk there after an answer, and
        a question back, are no answers.
        """
        tenant = message.thread.tenant
        below = await case_of_card_thread(self._notes, message.thread)
        if below is None and not message.overheard:
            return None
        if below is None:
            case = await self._casework.open_in(message.thread)
            waits = case is not None and case.status.state != "answered"
            is_answer = waits and not reads_like_a_question(message.text)
            return (case, True) if case is not None and is_answer else None
        try:
            case = (await self._casework.bare(tenant, below)).case
        except InteractionUnknown:
            return None
        return None if case.status.state in SETTLED else (case, False)

    async def _author(self, case: Case, author: ActingUser, *, in_thread: bool) -> Actor | None:
        """Return the author as an expert; None for the asker, outsiders and who sees no card."""
        if author.person.id == case.asker_id:
            return None
        if in_thread and not await self._sees_card(case, author):
            return None
        try:
            actor = await self._targets.expert(author)
        except ActionRejected:
            return None
        return None if actor.has(case.asker_id) else actor

    async def _sees_card(self, case: Case, author: ActingUser) -> bool:
        asked = await self._targets.interactions.get(case.joined_to or case.interaction_id)
        card = await self._card_of(asked.message) if asked else None
        return card is not None and await self._sees(author, card.channel)

    async def _own(self, thread: Thread, message_id: str, presser: ActingUser) -> _Written:
        written = await self._written(thread, message_id)
        if written is None:
            raise ActionRejected(_NOTHING_TO_SEND)
        if written.person_id != presser.person.id:
            raise ActionRejected(_AUTHOR_ONLY)
        return written

    async def _amend(self, written: _Written, author: ActingUser, words: str) -> None:
        if words.strip() and words != written.words:
            await self._correct(written, author, words)

    async def _correct(self, written: _Written, author: ActingUser, words: str) -> None:
        """Amend the reply that a message became, or retract it without words."""
        if not written.step:
            return
        case_id, about = InteractionId(written.case_id), ActDetail(about=written.step)
        try:
            actor = await self._targets.expert(author)
            act: Act = "amend" if words else "retract"
            await self._casework.act(self._targets.tenant, case_id, act, actor, words, about)
        except REJECTIONS as error:
            log.info("thread_reply.not_corrected", interaction_id=case_id, why=str(error))

    async def _linked(
        self, thread: Thread, message_id: str, written: _Written, author: ActingUser
    ) -> _Written:
        """Return a message with the number of its reply, also if a kill kept it from being noted.

        Its author pressed "Send" if the note of that press exists.
        """
        if written.step or not written.words:
            return written
        pressed = await self._notes.get(thread.tenant, f"{self._key(thread, message_id)}:sent")
        if not pressed:
            return written
        try:
            actor = await self._targets.expert(author)
            case_id = InteractionId(written.case_id)
            before = int(pressed) if pressed.isdecimal() else 0
            step = await self._number_of(case_id, actor, written.words, before=before)
        except REJECTIONS as error:
            log.info("thread_reply.not_found", interaction_id=written.case_id, why=str(error))
            return written
        return replace(written, step=step)

    async def _number_of(
        self, case_id: InteractionId, actor: Actor, words: str, *, before: int = 0
    ) -> int:
        """Return the number of the last reply with these words; 0 if it is not made yet.

        ``before`` is how often the same was said before it.
        """
        steps = (await self._casework.bare(self._targets.tenant, case_id)).steps
        own = [
            each.number
            for each in standing_replies(steps)
            if each.actor and actor.has(each.actor.id) and each.text == words.strip()
        ]
        return own[-1] if len(own) > before else 0

    async def _written(self, thread: Thread, message_id: str) -> _Written | None:
        text = await self._notes.get(thread.tenant, self._key(thread, message_id))
        return _Written(**json.loads(text)) if text else None

    async def _keep(self, thread: Thread, message_id: str, written: _Written) -> None:
        await self._notes.put(
            thread.tenant,
            self._key(thread, message_id),
            json.dumps(asdict(written)),
            interaction_id=InteractionId(written.case_id),
        )

    def _key(self, thread: Thread, message_id: str) -> str:
        return f"{self._targets.platform}{WRITTEN_NOTES}{thread.channel}:{message_id}"


_SEND = tr("Send")
_MARK = tr("Mark as answered")


def _offer(case: Case, message: Message, author: ActingUser, *, in_thread: bool) -> ThreadOffer:
    question: str = tr("Mark the question as answered by you?")
    if not in_thread:
        question = tr("Send this to {who}?", who=_asker(case))
        if message.attachments:
            question = join_texts(" ", (question, _NO_FILES))
    return ThreadOffer(
        case.interaction_id,
        message.thread,
        message.id,
        author,
        question,
        _MARK if in_thread else _SEND,
        message.text,
        in_thread,
    )


def _done(case: Case, *, in_thread: bool) -> str:
    if in_thread:
        return tr("Marked as answered by you.")
    return tr("Sent to {who}.", who=_asker(case))


def _asker(case: Case) -> str:
    return clip(case.asker_name, _NAME_LENGTH) or tr("the asker")


def _is_others(case: Case, actor: Actor) -> bool:
    status = case.status
    return status.state in OWNED and not actor.has(status.owner_id)


def _is_newer(at: str, than: str) -> bool:
    """Return whether an edit is newer than the last one; an unknown time counts as the newest."""
    try:
        return not at or not than or Decimal(at) > Decimal(than)
    except InvalidOperation:
        return True
