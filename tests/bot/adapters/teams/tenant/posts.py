"""What was written, by the bot and by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.bot.adapters.teams.tenant import cards
from tests.bot.adapters.teams.tenant.conversations import place_of, thread_of

MESSAGE_ENTITY = "https://schema.org/Message"


@dataclass(frozen=True)
class Sent:
    """An activity as it arrived over the wire, under the id that it was given.

    ``conversation`` is where it is, thread and all.
    """

    id: str
    conversation: str
    reply_to: str | None
    activity: Mapping[str, Any]
    authorization: str

    @property
    def place(self) -> str:
        """The chat or channel, without the thread."""
        return place_of(self.conversation)

    @property
    def thread(self) -> str:
        """The id of the message that began the thread, "" outside of channels."""
        return thread_of(self.conversation)

    def over(self, card: Sent) -> Sent:
        """Return these words with the card that is right below them."""
        hung = {"attachments": card.activity["attachments"]}
        return replace(self, activity={**self.activity, **hung})

    @property
    def text(self) -> str:
        return str(self.activity.get("text") or "")

    @property
    def shown(self) -> str:
        """What a person reads: the text, the citations, and the cards below it."""
        return "\n".join([self.text, *self._cited(), *map(cards.words, self.cards)])

    @property
    def cards(self) -> Sequence[Mapping[str, Any]]:
        """The Adaptive Cards below the text."""
        return cards.attached(self.activity)

    @property
    def labels(self) -> list[str]:
        """What is written on the buttons of its cards, in order."""
        return [label for card in self.cards for label in cards.labels(card)]

    def _cited(self) -> list[str]:
        entities = self.activity.get("entities") or []
        roots = [each for each in entities if each["type"] == MESSAGE_ENTITY]
        return [
            f"[{claim['position']}] {claim['appearance']['name']} "
            f"{claim['appearance'].get('url', '')} {claim['appearance']['abstract']}"
            for root in roots
            for claim in root.get("citation", [])
        ]


@dataclass
class Written:
    """A message of a person. ``typed`` is what they typed, ``activity`` how Teams tells of it."""

    id: str
    conversation: str
    person: str
    typed: str
    activity: Mapping[str, Any]
    deleted: bool = False

    @property
    def place(self) -> str:
        return place_of(self.conversation)

    @property
    def thread(self) -> str:
        return thread_of(self.conversation)
