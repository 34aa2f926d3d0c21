"""What is asked in the name of whoever presses a button: for a person, for an option."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.escalations.handover import wish_about
from bot.escalations.repeating import LOOKED_AT, asked_already, wish_id
from bot.outcomes import is_kept_without_text
from bot.ports import Inbox, Interactions
from bot.pressing.declining import Declined
from bot.types import Clarification, Interaction, Message, Person

_ASKED_ALREADY = "A person was asked for about this already; see below."
_CHOSEN_ALREADY = "One of these was chosen already; see below."
_REFUSED_BEFORE = (
    "This could not be taken when it was pressed first, and it can be pressed only once. Please "
    "write it to me instead."
)
_NO_OPTION = "That choice isn't there any more. Please ask again."


class Wishing:
    """Puts what a press says into the inbox, once for each question, by whomever.

    That somebody may press is for the caller to know. ``reply_to`` is where the platform answers
    them (bot.types.Message). Raises Declined, StoreUnavailable, InboxFull, InboxUnavailable.
    """

    def __init__(self, *, interactions: Interactions, inbox: Inbox) -> None:
        self._interactions = interactions
        self._inbox = inbox

    async def ask_person(self, asked: Interaction, presser: Person, *, reply_to: str) -> None:
        """Ask for a person about a question, unless somebody did."""
        wish = below(asked.message, wish_id(asked.message.id), presser, text="", reply_to=reply_to)
        wish = replace(wish, text=await self._about(asked, wish))
        there = await self._interactions.in_thread(wish.thread, LOOKED_AT)
        if asked_already(wish, there):
            raise Declined(_ASKED_ALREADY)
        await self._accept(wish, _ASKED_ALREADY)

    async def choose(
        self, asked: Interaction, number: str, presser: Person, *, reply_to: str
    ) -> str:
        """Ask for the option of that number (from 0), unless one was chosen; return it."""
        text = _option(asked, number)
        option = f"{asked.message.id}:option"
        chosen = below(asked.message, option, presser, text=text, reply_to=reply_to)
        await self._accept(chosen, _CHOSEN_ALREADY)
        return text

    async def _about(self, interaction: Interaction, wish: Message) -> str:
        """Return the wish; the question is named unless the presser asked it, and asked it last."""
        last = await self._interactions.history(wish.thread, wish, 1)
        is_last = [each.id for each in last] == [interaction.id]
        own = interaction.message.author.id == wish.author.id
        return wish_about("" if own and is_last else interaction.message.text)

    async def _accept(self, message: Message, already: str) -> None:
        before = await self._interactions.get(message.interaction_id)
        if before is not None:
            outcome = before.outcome
            refused = outcome is not None and is_kept_without_text(outcome)
            raise Declined(_REFUSED_BEFORE if refused else already)
        await self._inbox.accept(message)


def below(asked: Message, message_id: str, presser: Person, *, text: str, reply_to: str) -> Message:
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
    """Return the option of that number. Raises Declined where there is none."""
    outcome = interaction.outcome
    if outcome is None or not isinstance(outcome.response, Clarification):
        raise Declined(_NO_OPTION)
    offered = {str(number): option for number, option in enumerate(outcome.response.options)}
    if number not in offered:
        raise Declined(_NO_OPTION)
    return offered[number]
