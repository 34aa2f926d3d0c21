"""Handle buttons below an answer: find its interaction, check the user, ask a person, explain.

A user who may not act, or acts on a deleted question, reads the ``rejection_text`` of the error.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.answering.asker_identity import ReaderLookup
from bot.answering.explanations.explainer import Explainer, Explanation
from bot.answering.visibility import Visibility
from bot.domain.cases import Actor, expert_of
from bot.domain.errors import ActRefused, BotError, InteractionUnknown
from bot.domain.handoff import (
    THREAD_MESSAGES_CHECKED,
    asked_already,
    person_request,
    person_request_id,
    typed_question,
)
from bot.domain.interactions import (
    Clarification,
    Interaction,
)
from bot.domain.messages import InteractionId, Message, Person, Platform, chosen_option_id
from bot.domain.ports import Inbox, Interactions
from bot.domain.texts import tr

GONE = tr("That question is no longer here.")
LATER = tr("Something went wrong. Please try again in a minute.")
NOTHING_TO_RATE = tr("There is no answer to rate here any more.")
COLLEAGUES_ONLY = tr("Only colleagues can do this here.")
ASKER_ONLY = tr("Only the asker can do this.")
UNKNOWN = tr("This button no longer works.")

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class ActionRejected(BotError):
    """A button press is rejected; the message is for the presser."""


REJECTIONS = (ActionRejected, ActRefused, InteractionUnknown)
"""Errors of a press that its presser can understand; for any other they read ``LATER``."""


def rejection_text(error: BotError) -> str:
    """Return what the presser reads about one of the ``REJECTIONS``; not escaped."""
    return GONE if isinstance(error, InteractionUnknown) else str(error)


def interaction_named(value: str) -> InteractionId:
    """Return the interaction id in a button's value. Raises ActionRejected if malformed."""
    if not _ID.fullmatch(value):
        raise ActionRejected(UNKNOWN)
    return InteractionId(value)


def step_number(value: str) -> int:
    """Return the number of a case's step in a button. Raises ActionRejected if malformed."""
    if not _NUMBER.fullmatch(value):
        raise ActionRejected(UNKNOWN)
    return int(value)


@dataclass(frozen=True, slots=True)
class ActingUser:
    """The user who presses a button or reacts, and the channel, as verified by the platform.

    ``reference`` is the key to look the user up on the platform. ``alone``: only the user and the
    bot see the channel.
    """

    person: Person
    channel: str
    reference: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A user as the platform describes them; only a colleague's ``person`` has an address.

    ``colleague``: a full member of the home tenant or workspace, with an address of an allowed
    domain where these are configured. Bots, guests, people of other organisations and former
    members are not. ``display_name`` is the name shown in messages, "" if none was chosen.
    """

    person: Person
    colleague: bool = False
    display_name: str = ""


FindColleague = Callable[[str], Awaitable[Person | None]]
"""Returns the colleague of a platform's reference, None for anybody else. Raises DeliveryFailed."""


def _nowhere_else(_: Message) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTargets:
    """Finds interactions for users of one platform. Raises StoreUnavailable and DeliveryFailed.

    The asker may act on their question from any conversation that is private with the bot.
    ``colleague`` returns the colleague of a reference; None for guests, bots and people of other
    organisations. ``anywhere`` returns whether an answer's buttons work in every channel.
    """

    platform: Platform
    tenant: str
    interactions: Interactions
    colleague: FindColleague
    anywhere: Callable[[Message], bool] = _nowhere_else

    async def seen(self, interaction_id: InteractionId, presser: ActingUser) -> Interaction:
        """Return an interaction of this channel that the user can see. Raises ActionRejected.

        The platform vouches that the user sees the channel; only its asker sees a private
        conversation.
        """
        interaction = await self.interactions.get(interaction_id)
        if interaction is None or interaction.withdrawn:
            raise ActionRejected(GONE)
        message = interaction.message
        own = message.author.id == presser.person.id
        there = self.is_here(message, presser, anywhere=own and presser.alone)
        if not there or (message.private and not own):
            raise ActionRejected(GONE)
        return interaction

    async def acted_on(self, interaction_id: InteractionId, presser: ActingUser) -> Interaction:
        """Return an interaction that the user may act on: as its asker or a colleague."""
        interaction = await self.seen(interaction_id, presser)
        if not await self.may_act(interaction.message, presser):
            raise ActionRejected(COLLEAGUES_ONLY)
        return interaction

    async def may_act(self, message: Message, presser: ActingUser) -> bool:
        """Return whether the user asked the question, or is a colleague who can see it."""
        if message.author.id == presser.person.id:
            return True
        return not message.private and await self.colleague(presser.reference) is not None

    async def expert(self, presser: ActingUser) -> Actor:
        """Return a colleague as an actor on cases, the same person as on every other platform."""
        return expert_of(self.platform, await self.colleague_of(presser))

    async def colleague_of(self, presser: ActingUser) -> Person:
        """Return the user if they are a colleague. Raises ActionRejected."""
        colleague = await self.colleague(presser.reference)
        if colleague is None:
            raise ActionRejected(COLLEAGUES_ONLY)
        return colleague

    async def asker(self, interaction_id: InteractionId, presser: ActingUser) -> Actor:
        """Return the user as an actor on the case of their own question of this channel."""
        interaction = await self.interactions.get(interaction_id)
        if interaction is None or not self.is_here(interaction.message, presser):
            raise ActionRejected(GONE)
        author = interaction.message.author
        if author.id != presser.person.id:
            raise ActionRejected(ASKER_ONLY)
        return Actor(author.id, author.name, "asker")

    def is_here(self, message: Message, presser: ActingUser, *, anywhere: bool = False) -> bool:
        """Return whether a question was asked in the user's channel, or may be acted on there."""
        thread = message.thread
        if (thread.platform, thread.tenant) != (self.platform, self.tenant):
            return False
        return anywhere or thread.channel == presser.channel or self.anywhere(message)


_ASKED_ALREADY = tr("You have already asked a person about this; see below.")
_CHOSEN_ALREADY = tr("You have already chosen one of these; see below.")
_REFUSED_BEFORE = tr(
    "This failed before, and the button works only once. Please write to me instead."
)
_NO_OPTION = tr("That choice is no longer available. Please ask again.")


class ButtonQuestions:
    """Submit the questions that buttons stand for to the inbox, each once, whoever presses.

    The caller checks whether the user may press. ``reply_to`` is where the platform replies to the
    presser (``Message``). ``visibility`` is what all readers of the thread may see now: titles of
    pages that were closed since are in options, and no question is made of them. Raises
    ActionRejected, StoreUnavailable, DeliveryFailed, InboxFull, InboxUnavailable.
    """

    def __init__(
        self,
        *,
        interactions: Interactions,
        inbox: Inbox,
        visibility: Callable[[Interaction], Awaitable[Visibility]],
    ) -> None:
        self._interactions = interactions
        self._inbox = inbox
        self._visibility = visibility

    async def ask_person(self, asked: Interaction, presser: Person, *, reply_to: str) -> None:
        """Ask for a person about a question, unless somebody already did."""
        wish = message_below(
            asked.message, person_request_id(asked.message.id), presser, text="", reply_to=reply_to
        )
        there = await self._interactions.in_thread(wish.thread, THREAD_MESSAGES_CHECKED)
        wish = replace(wish, text=await self._about(asked, wish, there))
        if asked_already(wish, there):
            raise ActionRejected(_ASKED_ALREADY)
        await self._accept(wish, _ASKED_ALREADY)

    async def choose(
        self, asked: Interaction, number: str, presser: Person, *, reply_to: str
    ) -> str:
        """Submit the option of an index (from 0), unless one was chosen; return its text."""
        text = _option(asked, number)
        if not (await self._visibility(asked)).tells(asked):
            raise ActionRejected(_NO_OPTION)
        option = chosen_option_id(asked.message.id)
        chosen = message_below(asked.message, option, presser, text=text, reply_to=reply_to)
        await self._accept(chosen, _CHOSEN_ALREADY)
        return text

    async def _about(
        self, interaction: Interaction, wish: Message, there: Sequence[Interaction]
    ) -> str:
        """Return the request's text; it names the question unless the presser asked it last."""
        last = await self._interactions.history(wish.thread, wish, 1)
        is_last = [each.id for each in last] == [interaction.id]
        own = interaction.message.author.id == wish.author.id
        if own and is_last:
            return person_request("")
        seen = await self._visibility(interaction)
        closed = seen.asked(interaction) is None
        return person_request("" if closed else typed_question(interaction, there))

    async def _accept(self, message: Message, already: str) -> None:
        before = await self._interactions.get(message.interaction_id)
        if before is not None:
            outcome = before.outcome
            refused = outcome is not None and outcome.is_kept_without_text
            raise ActionRejected(_REFUSED_BEFORE if refused else already)
        await self._inbox.accept(message)


def message_below(
    asked: Message, message_id: str, presser: Person, *, text: str, reply_to: str
) -> Message:
    """Return the message that a button sends to its question's thread; one id for all pressers."""
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
    """Return the option of an index. Raises ActionRejected if there is none."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Clarification):
        raise ActionRejected(_NO_OPTION)
    offered = {str(number): option for number, option in enumerate(outcome.response.options)}
    if number not in offered:
        raise ActionRejected(_NO_OPTION)
    return offered[number]


@dataclass(frozen=True, slots=True)
class ExplainAction:
    """Explain an answer within what all readers of the thread may read, as others may look on."""

    explainer: Explainer
    tenant: str
    readers: ReaderLookup

    async def explain(self, interaction: Interaction, person_id: str) -> Explanation:
        """Return the explanation of an answer. Raises InteractionUnknown, StoreUnavailable."""
        reader = await self.readers.of_thread(interaction.message)
        return await self.explainer.explain(self.tenant, interaction.id, reader, asker_id=person_id)

    async def visibility(self, interaction: Interaction) -> Visibility:
        """Return what all readers of the thread may see now. Raises DeliveryFailed."""
        reader = await self.readers.of_thread(interaction.message)
        return await self.explainer.visibility(self.tenant, interaction, reader)

    async def newest(self, platform: Platform, channel: str, person_id: str) -> Interaction:
        """Return a person's newest question in a channel; raises as ``explain``."""
        return await self.explainer.newest(self.tenant, platform, channel, person_id)
