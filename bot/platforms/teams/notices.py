"""Notify an asker, where they asked, of people's actions, and handle their buttons below it.

Each activity is within Teams' size limit; a person's words are quoted as theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from bot.chat.actions import ActionTargets, step_number
from bot.chat.response_view import web_url
from bot.domain.cases import Act, ActDetail, Actor, Case, Notice
from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.markdown import clip, disarm, plain_code, split
from bot.domain.messages import InteractionId, Message
from bot.domain.outcomes import question_text
from bot.domain.ports import Notes
from bot.domain.texts import changed, join_texts, on_texts, tr
from bot.escalations.asker_notices import LatestNotice, buttons_with, notice_text, remark_on
from bot.escalations.case_view import (
    CaseButton,
    buttons_for_asker,
    last_act,
    platform_of,
    reminder_text,
)
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import CONSENTS
from bot.escalations.showing_more import ANSWER_REMARKS
from bot.learning.digest import Sending
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import OutsideReaders
from bot.platforms.teams.messages.replies import PostedActivities
from bot.platforms.teams.payloads.actions import ASKER_ACTIONS, REQUEST_KEY, Press
from bot.platforms.teams.payloads.activity import Json, text_at
from bot.platforms.teams.rendering.answers import part_mark
from bot.platforms.teams.rendering.cards import (
    card,
    card_answer,
    execute_button,
    text_block,
    with_card,
)
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    markdown_link,
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
    opening = join_texts(" ", (f"**{teams_plain(clip(news.name, _NAME_LENGTH))}**", news.did))
    about = _about(message) if message.private else ""
    parted = (about, opening, with_links(news.words))
    whole = join_texts("\n\n", (part for part in parted if part))
    parts = split(whole, CONTENT_BUDGET - _BUTTONS_BYTES, size)
    said_so = [_activity(part, number, len(parts)) for number, part in enumerate(parts, start=1)]
    if not (offers or remark):
        return tuple(said_so)
    named = join_texts(", ", [*filter(None, [remark]), *(offer.label for offer in offers)])
    shown: Json = {"type": "message", "summary": named}
    hung = asker_card(notice.interaction_id, offers, remark, request=notice.number)
    return (*said_so, with_card(shown, hung))


def asker_card(
    case_id: InteractionId, offers: Sequence[CaseButton], remark: str = "", *, request: int = 0
) -> Json:
    """Return the card with the asker's buttons, below a line of ours.

    ``request`` is the number of the request to see more that consents are about.
    """
    remarks = [text_block(remark, isSubtle=True)] if remark else []
    return card(remarks, [_asker_button(offer, case_id, request) for offer in offers])


def _asker_button(offer: CaseButton, case_id: InteractionId, request: int) -> Json:
    about = {REQUEST_KEY: str(request)} if offer.act in CONSENTS else {}
    name = ASKER_ACTIONS[offer.act]
    return execute_button(offer.label, name, case_id, first=offer.first, **about)


@on_texts
def with_links(words: str) -> str:
    """Return a person's words with plain https addresses as links, and nothing else live."""
    return _ADDRESS.sub(_link, _inert_markdown(words))


def _link(found: re.Match[str]) -> str:
    url = web_url(found[1])
    return found[0] if url is None else f"[{teams_label(found[1])}]({url})"


def _about(message: Message) -> str:
    asked = clip(question_text(message.text), _QUESTION_LENGTH)
    return changed(asked, lambda words: f"> {_inert_markdown(words)}")


def _inert_markdown(words: str) -> str:
    """Return a person's Markdown made inert; code in it is code in every client."""
    return teams_markdown(plain_code(disarm(words)))


def _activity(text: str, number: int, of: int) -> Json:
    shown = text if of == 1 else join_texts("\n\n", (part_mark(number, of), text))
    return {"type": "message", "text": shown, "textFormat": "markdown"}


_REMINDED_LENGTH = 300


def reminder_message(case: Case, notice: Notice, board: str, *, now: datetime) -> Json:
    """Return a reminder message; pure.

    The question is quoted only if it was asked in Teams: the withdrawal of a question from another
    platform would not delete the reminder.
    """
    matter, more = reminder_text(case, notice, now)
    platform = platform_of(case)
    asked: str = tr("Asked on {platform}.", platform=teams_plain(platform))
    if platform == "teams":
        question = clip(question_text(case.question), _REMINDED_LENGTH)
        asked = join_texts("", ("> ", teams_plain(question)))
    url = web_url(board)
    way: str = tr("On the board: {id}", id=case.interaction_id)
    if url:
        way = markdown_link(tr("Open on the board"), url)
    said = join_texts("", ("**", teams_plain(matter), "**", teams_plain(more)))
    text = join_texts("\n\n", [said, asked, way])
    return {"type": "message", "text": text, "textFormat": "markdown"}


_VOID = tr("_The message above replaces this part._")


class AskerNotices:
    """Posts and updates notices to askers. Implements `Tells` and `Revises`.

    Teams can't be searched for posts: a retry posts the messages not known to be posted, so one
    whose post succeeded unseen is repeated. The returned reference is the first message's.
    """

    def __init__(self, client: TeamsClient, posted: PostedActivities, notes: Notes) -> None:
        self._client = client
        self._posted = posted
        self.latest = LatestNotice(self._edit, notes, "teams")

    async def tell(self, message: Message, notice: Notice) -> PostedRef:
        """Post a person's action, with their name and words. Raises DeliveryFailed."""
        shown = notice_activities(message, notice, buttons_with(notice))
        several = len(shown) > 1
        posted = [*await self._posted.ids_of(message, notice.id, several=several)]
        for activity in shown[len(posted) :]:
            posted.append(await self._client.send(message.reply_to, activity))
            await self._posted.store(message, notice.id, posted, several=several)
        channel = message.thread.channel
        await self.latest.came(message, notice, PostedRef(channel, posted[-1]))
        return PostedRef(channel, posted[0])

    async def revise(
        self, message: Message, notice: Notice, at: PostedRef, remark: str
    ) -> PostedRef:
        """Edit the words of a notice; its buttons are a message of their own.

        Of a notice of several messages the first has the new words, and the others say that they
        are void. Raises DeliveryFailed.
        """
        shown = notice_activities(message, notice, (), "")
        known = await self._posted.ids_of(message, notice.id, several=True)
        words = known[:-1] or (at.id,)
        for number, posted in enumerate(words):
            said = shown[number] if number < len(shown) else _activity(_VOID, 1, 1)
            await self._client.update(message.reply_to, posted, said)
        if known:
            buttons = PostedRef(message.thread.channel, known[-1])
            await self.latest.revise(message, notice, buttons, remark)
        return at

    async def _edit(
        self,
        message: Message,
        at: PostedRef,
        notice: Notice,
        offers: Sequence[CaseButton],
        remark: str,
    ) -> None:
        """Edit the buttons of a notice, which are its last message. Raises DeliveryFailed."""
        if offers or remark:
            shown = notice_activities(message, notice, offers, remark)[-1]
            await self._client.update(message.reply_to, at.id, shown)
        else:
            # Editing would leave an empty card.
            await self._client.delete(message.reply_to, at.id)


class AskerButtons:
    """Handles the asker's buttons, which others see but can't use. Implements `Listener`."""

    def __init__(self, casework: Casework, targets: ActionTargets) -> None:
        self._casework = casework
        self._targets = targets

    def register(self, dispatch: Dispatch) -> None:
        for act, name in ASKER_ACTIONS.items():
            dispatch.on_press(name, partial(self._pressed, act))

    async def _pressed(self, act: Act, press: Press) -> Json:
        actor, tenant = await self._targets.asker(press.about, press.presser), self._targets.tenant
        if act in CONSENTS:
            return await self._answer(act, press, actor)
        await self._casework.act(tenant, press.about, act, actor)
        view = await self._casework.bare(tenant, press.about)
        did = last_act(view.steps)
        offers = buttons_for_asker(view.case.status.state)
        return card_answer(asker_card(press.about, offers, remark_on(did) if did else ""))

    async def _answer(self, act: Act, press: Press, actor: Actor) -> Json:
        """Take an asker's answer to a request to see more."""
        about = ActDetail(about=step_number(text_at(press.data, REQUEST_KEY)))
        await self._casework.act(self._targets.tenant, press.about, act, actor, detail=about)
        return card_answer(asker_card(press.about, (), ANSWER_REMARKS[act]))


_OUTSIDERS = "People of other organisations read along there, so no digest is sent there."
_NO_CHAT = "There is no chat with this person: they removed the app, or never added it."


class Digests:
    """Sends digests to channels and chats. Implements bot.learning.digest.SendsDigests.

    Teams can't be searched: after a doubtful attempt a digest says that it may be there twice.
    """

    def __init__(self, client: TeamsClient, outside_readers: OutsideReaders) -> None:
        self._client = client
        self._outside_readers = outside_readers

    async def send_digest(self, address: str, sending: Sending) -> None:
        """Post a digest. Raises DeliveryFailed, DeliveryRefused."""
        chats = self._client.conversations
        in_channel = address.startswith("19:")
        there = await (chats.channel(address) if in_channel else chats.chat_with(address))
        if there is None:
            raise DeliveryRefused(_NO_CHAT)
        if in_channel and await self._outside_readers.outside(there):
            raise DeliveryRefused(_OUTSIDERS)
        for activity in _digest_activities(sending):
            await self._client.send(there, activity)


def _bold(text: str) -> str:
    return join_texts("", ("**", teams_plain(text), "**"))


def _digest_activities(sending: Sending) -> tuple[Json, ...]:
    digest = sending.digest
    parts = [
        join_texts("\n\n", (_bold(heading), *map(with_links, lines)))
        for heading, lines in digest.sections
    ]
    twice = (tr("_You may see this message twice._"),) if sending.again else ()
    whole = (_bold(digest.subject), *twice, *parts, teams_plain(digest.ending))
    pieces = split(join_texts("\n\n", whole), CONTENT_BUDGET, size)
    return tuple(_activity(part, n, len(pieces)) for n, part in enumerate(pieces, start=1))
