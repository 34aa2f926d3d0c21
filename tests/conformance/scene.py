"""One case on one platform: what was done, what came of it, and what was not as it must be."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.domain.cases import Case
from bot.domain.errors import InboxFull
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import InteractionId, Message, Policy
from bot.domain.ports import Inbox, Interactions
from tests.bot.house import until
from tests.conformance.desks import HeldDesk
from tests.conformance.platforms import Platform, Question, Receipt
from tests.conformance.telling import People

Words = str | re.Pattern[str]
"""What is looked for in a text; a pattern where platforms say the same in other words."""

_SETTLED_SECONDS = 10.0
_LATE_SECONDS = 0.05
_TERMINAL = frozenset({"failed", "cancelled"})


class WatchedInbox:
    """Passes everything on to an inbox and remembers which questions it kept."""

    def __init__(self, inbox: Inbox, *, full: bool) -> None:
        self._inbox = inbox
        self._full = full
        self.kept: list[InteractionId] = []

    async def accept(self, message: Message) -> InteractionId:
        if self._full:
            raise InboxFull("Everything is full.")
        interaction_id = await self._inbox.accept(message)
        if interaction_id not in self.kept:
            self.kept.append(interaction_id)
        return interaction_id

    async def amend(self, message: Message) -> None:
        await self._inbox.amend(message)

    async def cancel(self, interaction_id: InteractionId) -> None:
        await self._inbox.cancel(interaction_id)

    async def outcome(self, interaction_id: InteractionId) -> Outcome:
        return await self._inbox.outcome(interaction_id)


@dataclass
class Scene:
    """A platform, the bot behind it, and the faults found so far, in words."""

    platform: Platform
    inbox: WatchedInbox
    interactions: Interactions
    desk: HeldDesk
    people: People
    faults: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Receipt:
        """Deliver a question that has to be kept, and wait until it is answered."""
        receipt = await self.platform.ask(question)
        self.expect(receipt == "kept", f"the question was acknowledged as {receipt!r}")
        await self.settled()
        return receipt

    async def escalate(self, question: Question) -> InteractionId:
        """Ask what goes to people."""
        await self.ask(question)
        return self.inbox.kept[-1]

    async def settled(self) -> None:
        """Wait until the record says of everything kept that nothing is left to do."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            for interaction_id in self.inbox.kept:
                while not _is_settled(await self.recorded(interaction_id)):  # noqa: ASYNC110 - what settles may be another process
                    await asyncio.sleep(0.005)

    async def arrived(self, count: int) -> None:
        """Wait until so many questions were kept, and everything is settled."""
        await until(lambda: len(self.inbox.kept) >= count)
        await self.settled()

    async def allow(self, policy: Policy) -> None:
        """Set what is allowed where the first question was asked."""
        thread = (await self.recorded()).message.thread
        channel = f"{thread.platform}:{thread.channel}"
        await self.people.store.policies.set(thread.tenant, channel, policy, actor="test")

    async def case(self, interaction_id: InteractionId) -> Case:
        """Return how a question stands that went to people."""
        case = await self.people.store.escalations.get(self.people.tenant, interaction_id)
        assert case is not None, f"nobody was asked about {interaction_id}"
        return case

    async def quiet(self) -> None:
        """Wait until what must not happen would have happened."""
        await self.settled()
        await asyncio.sleep(_LATE_SECONDS)
        await self.settled()

    async def worked(self) -> None:
        """Wait until the first question has an outcome, and until it would have been shown."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            while (await self.recorded()).outcome is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
        await asyncio.sleep(4 * _LATE_SECONDS)

    async def recorded(self, interaction_id: InteractionId | None = None) -> Interaction:
        """Return what the record has of a question, the first one unless told otherwise."""
        wanted = interaction_id or self.inbox.kept[0]
        interaction = await self.interactions.get(wanted)
        assert interaction is not None, f"{wanted} is not in the record"
        return interaction

    def expect(self, fact: object, fault: str) -> None:
        if not fact:
            self.faults.append(fault)

    def expect_asked(self, *texts: str) -> None:
        """The desk saw these questions, once each; long ones may be cut."""
        asked = [text[:3000] for text in self.desk.questions]
        wanted = [text[:3000] for text in texts]
        self.expect(asked == wanted, f"the desk was asked {[text[:60] for text in asked]}")

    async def expect_shown(
        self, question: Question, shown: Sequence[Words], absent: Sequence[Words] = ()
    ) -> None:
        """The thread shows all of it, the first of it once, and nothing that is live."""
        whole = "\n".join(await self.platform.seen(question))
        for words in shown:
            self.expect(_count(words, whole), f"{_said(words)} is not shown")
        for words in absent:
            self.expect(not _count(words, whole), f"{_said(words)} is shown")
        times = _count(shown[0], whole) if shown else 1
        self.expect(times <= 1, f"the reply is shown {times} times")
        for found in await self.platform.live(question):
            self.faults.append(f"{found!r} is live")

    async def expect_votes(self, *votes: str) -> None:
        given = await self.interactions.feedback(self.inbox.kept[0])
        found = [each.vote for each in given]
        self.expect(found == list(votes), f"the judgements are {found}")


def _is_settled(interaction: Interaction) -> bool:
    if interaction.status == "done":
        return interaction.posted is not None
    return interaction.status in _TERMINAL


def _count(words: Words, text: str) -> int:
    if isinstance(words, str):
        return text.count(words)
    return len(words.findall(text))


def _said(words: Words) -> str:
    return repr(words if isinstance(words, str) else words.pattern)
