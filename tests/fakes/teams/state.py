"""The state of the tenant: its clock, call rates, people, places, and all that was posted."""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.teams import cards, names
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.people import (
    Conversation,
    Human,
    all_conversations,
    all_people,
    personal_chat,
    place_of,
    thread_of,
)
from tests.fakes.teams.posts import Sent, Stream, Written


class Clock:
    """Seconds that run by themselves; ``advance`` makes more of them pass."""

    def __init__(self) -> None:
        self._more = 0.0

    def now(self) -> float:
        return time.monotonic() + self._more

    def advance(self, seconds: float) -> None:
        self._more += seconds


SENDS = ((7, 1.0), (8, 2.0), (60, 30.0), (1_800, 3_600.0))
"""Calls, and the seconds in which there may be so many."""

LOOKUPS = ((14, 1.0), (16, 2.0), (120, 30.0), (3_600, 3_600.0))


@dataclass
class Rates:
    """Counts what was taken, by thread."""

    now: Callable[[], float]
    _taken: defaultdict[tuple[str, str], deque[float]] = field(
        default_factory=lambda: defaultdict(deque)
    )

    def wait(self, call: str, conversation: str) -> int:
        """Return 0 and count the call, or the whole seconds after which it may be tried."""
        windows = LOOKUPS if call in {"member", "members"} else SENDS
        kind = "lookup" if windows is LOOKUPS else "send"
        taken, now = self._taken[kind, conversation], self.now()
        for most, seconds in windows:
            recent = [at for at in taken if at > now - seconds]
            if len(recent) >= most:
                return max(1, math.ceil(recent[-most] + seconds - now))
        taken.append(now)
        while taken and taken[0] <= now - windows[-1][1]:
            taken.popleft()
        return 0


@dataclass
class Tenant:
    """The people, places and messages of one Entra tenant, as far as the bot is concerned.

    ``sent`` is everything that the bot posted, as it is now; ``visible`` what is not deleted, by
    id. ``calls`` and ``faults`` name a call by what it posts (message, typing), update, delete,
    create (a conversation), member (one of a roster), members, team. ``faults_by_number`` are those
    of single calls of any kind, counted as ``calls`` is, from 1. ``refused_fields`` are refused by
    name, wherever they are in an activity. ``written`` are messages of
    people, by id. ``views`` are cards that a single person sees instead of those of a message.
    ``reactions`` are person and kind, by message of the bot.
    ``streams`` are those of personal chats, by id. ``strict_rates`` refuses what comes too often.
    ``hears_all`` sends the bot also what does not mention it (the RSC permission).
    ``playground`` behaves as Microsoft's playground where that differs.
    """

    sent: list[Sent] = field(default_factory=list)
    visible: dict[str, Sent] = field(default_factory=dict)
    edits: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: dict[str, deque[Fault | None]] = field(default_factory=lambda: defaultdict(deque))
    faults_by_number: dict[int, Fault] = field(default_factory=dict)
    refused_fields: frozenset[str] = frozenset()
    people: dict[str, Human] = field(default_factory=all_people)
    conversations: dict[str, Conversation] = field(default_factory=all_conversations)
    written: dict[str, Written] = field(default_factory=dict)
    views: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    reactions: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)
    streams_allowed: bool = True
    strict_rates: bool = False
    refused_for_rate: int = 0
    hears_all: bool = False
    playground: bool = False
    page_size: int = 50
    url: str = ""
    clock: Clock = field(default_factory=Clock)
    rates: Rates = field(init=False)
    _ids: int = 0

    def __post_init__(self) -> None:
        self.rates = Rates(self.clock.now)

    @property
    def messages(self) -> list[Sent]:
        """What the conversations show now of the bot, in order.

        A card right below words is shown with them, as it is seen; it is a message of its own.
        """
        shown: dict[str, Sent] = {}
        last: dict[str, Sent] = {}
        for sent in self.visible.values():
            before, last[sent.conversation] = last.get(sent.conversation), sent
            if before is not None and is_card_below(sent, before):
                shown[before.id] = shown[before.id].over(sent)
            else:
                shown[sent.id] = sent
        return list(shown.values())

    def above(self, sent: Sent) -> Sent | None:
        """Return the words that a card without words is right below, None for none."""
        there = [each for each in self.visible.values() if each.conversation == sent.conversation]
        before = there[there.index(sent) - 1] if there.index(sent) else None
        return before if before is not None and is_card_below(sent, before) else None

    def carded(self, post: Sent) -> Sent:
        """Return a message, or the card right below it, which is pressed on."""
        hung = (each for each in self.visible.values() if self.above(each) == post)
        return post if post.cards else next(hung, post)

    def posts_in(self, conversation: str) -> list[Sent]:
        """Return what the bot's messages in a place are now; of one thread if one is named."""
        place, thread = place_of(conversation), thread_of(conversation)
        there = [sent for sent in self.messages if sent.place == place]
        return [sent for sent in there if not thread or sent.thread == thread]

    def post(self, name: str) -> Sent:
        """Return a message of the bot that is still there."""
        return self.visible[name]

    def cards_for(self, person: str, post: Sent) -> list[cards.Card]:
        """Return the cards that somebody sees below a message now."""
        post = self.carded(self.visible.get(post.id, post))
        own = self.views.get((person, post.id))
        return [own] if own is not None else list(post.cards)

    def fail(self, *faults: Fault | None, call: str = "message") -> None:
        """Say what happens to the next calls of a kind; None lets one pass."""
        self.faults[call].extend(faults)

    def human(self, user: str) -> Human | None:
        """Return somebody by object id or by the connector's own id."""
        same = (each for each in self.people.values() if user in {each.id, each.user})
        return next(same, None)

    def add(self, human: Human, *conversations: str) -> Human:
        """Let somebody be there, with the app in a chat of their own, and elsewhere."""
        self.people[human.id] = human
        chat = personal_chat(human.id)
        self.conversations[chat.id] = chat
        for conversation in conversations:
            self.conversations[conversation].members.add(human.id)
        return human

    def next_id(self) -> str:
        """Return an id for a message of a person: milliseconds, as Teams numbers them."""
        self._ids += 1
        return f"17600000{self._ids:05d}"

    def bot(self) -> dict[str, str]:
        return {"id": names.BOT, "name": names.BOT_NAME}


def is_card_below(sent: Sent, before: Sent) -> bool:
    """Tell whether a message is a card without words, right below words without a card."""
    return bool(sent.cards and not sent.text and before.text and not before.cards)
