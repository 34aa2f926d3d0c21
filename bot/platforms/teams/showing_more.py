"""Show who has a case, in their personal chat, what its asker agreed to show."""

from __future__ import annotations

from functools import partial

from bot.chat.showing_more import NOTHING_LEFT, MoreShown, SeeMore, answer_of
from bot.domain.errors import ActRefused, DeliveryRefused
from bot.domain.markdown import disarm, split
from bot.domain.texts import join_texts, tr
from bot.domain.texts.dates import utc_moment
from bot.escalations.cards import CardActions
from bot.platforms.teams.case_card import PresserNote
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.errors import NotPermitted
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.payloads.actions import CASE_ACTIONS, Press
from bot.platforms.teams.payloads.activity import Json, user_in
from bot.platforms.teams.people_channel import PeopleChannel
from bot.platforms.teams.rendering.cards import card_answer
from bot.platforms.teams.rendering.text import CONTENT_BUDGET, size, teams_markdown, teams_plain

_NO_CHAT = tr(
    "I can only show this in a personal chat, and we don't have one yet. Add me for yourself, "
    "write to me there and press the button again, or look at it on the board."
)


class SeeMoreButton:
    """Handles the button of a card that shows more of the conversation. Implements `Listener`."""

    def __init__(
        self, see: SeeMore, cards: CardActions, people: PeopleChannel, client: TeamsClient
    ) -> None:
        self._see = see
        self._cards = cards
        self._people = people
        self._client = client

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(CASE_ACTIONS["see_more"], self._pressed)

    async def _pressed(self, press: Press) -> Json:
        note = None
        try:
            await self._see.see(press.about, press.presser, partial(self._show, press))
        except ActRefused as error:
            note = PresserNote(str(error))
        message, _ = await self._cards.place(press.about, press.channel)
        view = await self._cards.view(press.about)
        return card_answer(await self._people.card_for_presser(message, view, press.channel, note))

    async def _show(self, press: Press, shown: MoreShown) -> None:
        person = press.person.id
        try:
            chat = await self._client.open_chat(person, user_id=user_in(press.presser.reference))
            for activity in more_activities(shown):
                await self._client.send(chat, activity)
        except (DeliveryRefused, NotPermitted) as error:
            await self._client.conversations.forget_chat(person)
            raise ActRefused(_NO_CHAT) from error


def more_activities(shown: MoreShown) -> tuple[Json, ...]:
    """Return the messages with an asker's earlier questions and our answers."""
    said: list[str] = [join_texts("", ("**", teams_plain(shown.heading), "**"))]
    for each in shown.exchanges:
        at = join_texts("", ("_", utc_moment(each.asked_at), "_"))
        said += [at, _quoted(each.question), teams_markdown(disarm(answer_of(each)))]
    if not shown.exchanges:
        said.append(NOTHING_LEFT)
    parts = split(join_texts("\n\n", said), CONTENT_BUDGET, size)
    return tuple({"type": "message", "text": each, "textFormat": "markdown"} for each in parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in teams_markdown(disarm(text)).split("\n"))
