"""Handle buttons below an answer: find its interaction, check who clicks, ask a person, explain.

Whoever may not act, or acts on what is gone, gets ``ActionRejected`` with the words to show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from bot.answering.asker_identity import ReaderLookup
from bot.answering.explanations.explainer import Explanation
from bot.chat.adapters import ChatContext
from bot.domain.errors import BotError
from bot.domain.handoff import person_request
from bot.domain.interactions import Clarification, Interaction
from bot.domain.messages import InteractionId, Message, Person, Platform
from bot.domain.outcomes import is_kept_without_text
from bot.domain.person_requests import THREAD_MESSAGES_CHECKED, asked_already, person_request_id
from bot.domain.ports import Inbox, Interactions

GONE = "That question isn't here any more, so there is nothing left to do about it."
LATER = "That didn't work just now. Please try again in a minute."
NOTHING_TO_RATE = "There is no answer to judge here any more."
COLLEAGUES_ONLY = "Only colleagues can do this here."
ASKER_ONLY = "Only the one who asked can do this."
UNKNOWN = "I don't know what this button is about any more."

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ActionRejected(BotError):
    """What was pressed is not done; the message is for who pressed."""


def interaction_named(value: str) -> InteractionId:
    """Return the interaction that a button names. Raises ActionRejected for what can't be one."""
    if not _ID.fullmatch(value):
        raise ActionRejected(UNKNOWN)
    return InteractionId(value)


@dataclass(frozen=True, slots=True)
class ActingUser:
    """Who presses or reacts, and where, as the platform vouches for it.

    ``reference`` is what the platform is asked about them by. ``alone`` says that nobody but them
    and the bot sees where they press.
    """

    person: Person
    channel: str
    reference: str
    alone: bool = False


class KnowsColleagues(Protocol):
    """Tells colleagues from guests, bots and people of other organisations."""

    async def of(self, reference: str, /) -> object | None:
        """Return a colleague, None for anybody else. Raises bot.domain.errors.DeliveryFailed."""
        ...


def _nowhere_else(_: Message) -> bool:
    return False


class ActionTargets:
    """Finds interactions for people of one platform. Raises StoreUnavailable and DeliveryFailed.

    What a person asked is theirs wherever they are alone with the bot. ``anywhere`` tells of
    questions whose answer may be pressed in any channel at all.
    """

    def __init__(
        self,
        *,
        platform: Platform,
        tenant: str,
        interactions: Interactions,
        colleagues: KnowsColleagues,
        anywhere: Callable[[Message], bool] = _nowhere_else,
    ) -> None:
        self._platform = platform
        self._tenant = tenant
        self._interactions = interactions
        self._colleagues = colleagues
        self._anywhere = anywhere

    async def seen(self, interaction_id: InteractionId, presser: ActingUser) -> Interaction:
        """Return an interaction of this channel that a person sees. Raises ActionRejected.

        Of a channel, the platform vouches that they see it; a private conversation is its asker's.
        """
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or interaction.withdrawn:
            raise ActionRejected(GONE)
        message = interaction.message
        own = message.author.id == presser.person.id
        if not self._is_there(message, presser, own=own) or (message.private and not own):
            raise ActionRejected(GONE)
        return interaction

    async def acted_on(self, interaction_id: InteractionId, presser: ActingUser) -> Interaction:
        """Return one that a person may do something about: its asker or a colleague.

        Raises ActionRejected.
        """
        interaction = await self.seen(interaction_id, presser)
        if not await self.may_act(interaction.message, presser):
            raise ActionRejected(COLLEAGUES_ONLY)
        return interaction

    async def may_act(self, message: Message, presser: ActingUser) -> bool:
        """Tell whether a person asked this, or is a colleague and can see it."""
        if message.author.id == presser.person.id:
            return True
        return not message.private and await self._colleagues.of(presser.reference) is not None

    def _is_there(self, message: Message, presser: ActingUser, *, own: bool) -> bool:
        thread = message.thread
        if (thread.platform, thread.tenant) != (self._platform, self._tenant):
            return False
        here = thread.channel == presser.channel or self._anywhere(message)
        return here or (own and presser.alone)


_ASKED_ALREADY = "A person was asked for about this already; see below."
_CHOSEN_ALREADY = "One of these was chosen already; see below."
_REFUSED_BEFORE = (
    "This could not be taken when it was pressed first, and it can be pressed only once. Please "
    "write it to me instead."
)
_NO_OPTION = "That choice isn't there any more. Please ask again."


class ButtonQuestions:
    """Puts what a press says into the inbox, once for each question, by whomever.

    That somebody may press is for the caller to know. ``reply_to`` is where the platform answers
    them (``Message``). Raises ActionRejected, StoreUnavailable, InboxFull, InboxUnavailable.
    """

    def __init__(self, *, interactions: Interactions, inbox: Inbox) -> None:
        self._interactions = interactions
        self._inbox = inbox

    async def ask_person(self, asked: Interaction, presser: Person, *, reply_to: str) -> None:
        """Ask for a person about a question, unless somebody did."""
        wish = message_below(
            asked.message, person_request_id(asked.message.id), presser, text="", reply_to=reply_to
        )
        wish = replace(wish, text=await self._about(asked, wish))
        there = await self._interactions.in_thread(wish.thread, THREAD_MESSAGES_CHECKED)
        if asked_already(wish, there):
            raise ActionRejected(_ASKED_ALREADY)
        await self._accept(wish, _ASKED_ALREADY)

    async def choose(
        self, asked: Interaction, number: str, presser: Person, *, reply_to: str
    ) -> str:
        """Ask for the option of that number (from 0), unless one was chosen; return it."""
        text = _option(asked, number)
        option = f"{asked.message.id}:option"
        chosen = message_below(asked.message, option, presser, text=text, reply_to=reply_to)
        await self._accept(chosen, _CHOSEN_ALREADY)
        return text

    async def _about(self, interaction: Interaction, wish: Message) -> str:
        """Return the wish; the question is named unless the presser asked it, and asked it last."""
        last = await self._interactions.history(wish.thread, wish, 1)
        is_last = [each.id for each in last] == [interaction.id]
        own = interaction.message.author.id == wish.author.id
        return person_request("" if own and is_last else interaction.message.text)

    async def _accept(self, message: Message, already: str) -> None:
        before = await self._interactions.get(message.interaction_id)
        if before is not None:
            outcome = before.outcome
            refused = outcome is not None and is_kept_without_text(outcome)
            raise ActionRejected(_REFUSED_BEFORE if refused else already)
        await self._inbox.accept(message)


def message_below(
    asked: Message, message_id: str, presser: Person, *, text: str, reply_to: str
) -> Message:
    """Return what a press below a question says, in its thread; the same for whoever presses."""
    return Message(
        id=message_id,
        thread=asked.thread,
        author=presser,
        text=text,
        received_at=datetime.now(UTC),
        private=asked.private,
        reply_to=reply_to,
    )


def _option(interaction: Interaction, number: str) -> str:
    """Return the option of that number. Raises ActionRejected where there is none."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Clarification):
        raise ActionRejected(_NO_OPTION)
    offered = {str(number): option for number, option in enumerate(outcome.response.options)}
    if number not in offered:
        raise ActionRejected(_NO_OPTION)
    return offered[number]


class ExplainAction:
    """Explains within what everybody in the thread may read: others may look over a shoulder."""

    def __init__(self, office: ChatContext, readers: ReaderLookup) -> None:
        self._office = office
        self._readers = readers

    async def explain(self, interaction: Interaction, person_id: str) -> Explanation:
        """Explain an interaction to who sees it. Raises InteractionUnknown, StoreUnavailable."""
        reader = await self._readers.of_thread(interaction.message)
        return await self._office.explaining.explain(
            self._office.tenant, interaction.id, reader, asker_id=person_id
        )
