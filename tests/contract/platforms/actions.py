"""What people do in a case: ask, edit, vote, press buttons, order runs; and what must follow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.handoff import HANDOFF_QUESTION
from bot.domain.interactions import Reply
from bot.domain.messages import Policy
from bot.web.board.case_page_view import case_page_view
from rag.types import EVERYONE
from tests.contract.platforms.driver import (
    Buttons,
    Card,
    File,
    Installing,
    Missing,
    Orders,
    Question,
    Vote,
)
from tests.contract.platforms.scenario import ANNA, Scenario, Words
from tests.fakes.chat_context import RUN
from tests.fakes.http_server import wait_until

Action = Callable[[Scenario], Awaitable[None]]

FIRST = Question("how do I print?")


@dataclass(frozen=True)
class Asks:
    """One question, and what is then seen.

    ``refused`` is what is said by a platform that turns such a question away before it is one.
    """

    text: str
    shown: tuple[Words, ...]
    absent: tuple[Words, ...] = ()
    private: bool = False
    refused: Words | None = None

    async def __call__(self, scene: Scenario) -> None:
        question = Question(self.text, private=self.private)
        receipt = await scene.platform.ask(question)
        await scene.settled()
        if receipt == "refused" and self.refused is not None:
            scene.expect_asked()
            await scene.expect_shown(question, (self.refused,))
            return
        scene.expect(receipt == "kept", f"the question was acknowledged as {receipt!r}")
        scene.expect_asked(self.text.strip())
        await scene.expect_shown(question, self.shown, self.absent)


async def answers_in_one(scene: Scenario) -> None:
    """An answer is one message, with its sources and buttons."""
    await scene.ask(FIRST)
    count = await scene.platform.messages(FIRST)
    scene.expect(count == 1, f"the answer is {count} messages")


async def delivers_again(scene: Scenario) -> None:
    """The same message twice at once, and a third time after it was answered."""
    await asyncio.gather(*(scene.platform.ask(FIRST) for _ in range(2)))
    await scene.settled()
    await scene.ask(FIRST)
    await scene.quiet()
    scene.expect_asked(FIRST.text)
    await scene.expect_shown(FIRST, ("HOW DO I PRINT?",))


async def follows_up(scene: Scenario) -> None:
    """The second question of a thread comes with the first and its answer."""
    second = Question("and in colour?", number=2)
    await scene.ask(FIRST)
    await scene.ask(second)
    scene.expect_asked(FIRST.text, second.text)
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [FIRST.text, "HOW DO I PRINT?"], f"the history is {said}")
    await scene.expect_shown(second, ("AND IN COLOUR?", "HOW DO I PRINT?"))


async def begins_anew(scene: Scenario) -> None:
    """Another thread knows nothing of the first."""
    second = Question("and in colour?", number=2, thread=2)
    await scene.ask(FIRST)
    await scene.ask(second)
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [], f"the history is {said}")
    await scene.expect_shown(second, ("AND IN COLOUR?",), ("HOW DO I PRINT?",))


async def edits_in_time(scene: Scenario) -> None:
    """Edited while it is being worked on: what is answered is what it says now."""
    scene.desk.hold()
    await scene.platform.ask(FIRST)
    await scene.desk.reached.wait()
    await scene.platform.edit(FIRST, "how do I scan?")
    scene.desk.release()
    await scene.quiet()
    await scene.expect_shown(FIRST, ("HOW DO I SCAN?",), ("HOW DO I PRINT?",))
    kept = (await scene.recorded()).message.text
    scene.expect(kept == "how do I scan?", f"the record has the question {kept!r}")


async def edits_too_late(scene: Scenario) -> None:
    """Edited after it was answered: the answer stays, and nothing is answered twice."""
    await scene.ask(FIRST)
    await scene.platform.edit(FIRST, "how do I scan?")
    await scene.quiet()
    scene.expect_asked(FIRST.text)
    await scene.expect_shown(FIRST, ("HOW DO I PRINT?",), ("HOW DO I SCAN?",))


async def edits_to_ask_again(scene: Scenario) -> None:
    """Edited after it was answered: the new words are answered, and the old answer is gone."""
    await scene.ask(FIRST)
    await scene.platform.edit(FIRST, "how do I scan?")
    await scene.quiet()
    await scene.expect_shown(FIRST, ("HOW DO I SCAN?",), ("HOW DO I PRINT?",))
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [], f"the history is {said}")


async def deletes_in_time(scene: Scenario) -> None:
    """Deleted while it is being worked on: nothing is shown, nothing is kept."""
    scene.desk.hold()
    await scene.platform.ask(FIRST)
    await scene.desk.reached.wait()
    await scene.platform.delete(FIRST)
    scene.desk.release()
    await scene.quiet()
    await _expect_gone(scene)


async def deletes_afterwards(scene: Scenario) -> None:
    """Deleted after it was answered: the reply and the texts go, also from the conversation."""
    await scene.ask(FIRST)
    await scene.platform.delete(FIRST)
    await scene.quiet()
    await _expect_gone(scene)
    await scene.ask(Question("and in colour?", number=2))
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [], f"the history is {said}")


async def _expect_gone(scene: Scenario) -> None:
    recorded = await scene.recorded()
    scene.expect(recorded.status == "cancelled", f"the question is {recorded.status!r}")
    scene.expect(not recorded.message.text, "the question's text is kept")
    scene.expect(recorded.outcome is None, "the answer is kept")
    shown = await scene.platform.seen(FIRST)
    scene.expect(not shown, f"the thread shows {shown}")


@dataclass(frozen=True)
class Votes:
    """An answer is judged, perhaps otherwise, perhaps no more."""

    votes: tuple[Vote, ...]
    taken_back: bool = False

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        scene.expect(await scene.platform.can_vote(FIRST), "the answer can't be judged")
        for vote in self.votes:
            await scene.platform.vote(FIRST, vote)
        if self.taken_back:
            await scene.platform.unvote(FIRST, self.votes[-1])
        await scene.expect_votes(*(() if self.taken_back else self.votes[-1:]))


@dataclass(frozen=True)
class Whispers:
    """What others in the channel may not read is told to the asker alone, and is not history."""

    public: Words
    private: Reply

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        await scene.expect_shown(FIRST, (self.public,), (self.private.text,))
        told = "\n".join(await scene.platform.privately(FIRST))
        times = told.count(self.private.text)
        scene.expect(times == 1, f"the asker is told {times} times")
        await scene.ask(Question("and then?", number=2))
        said = " ".join(turn.text for turn in scene.desk.inquiries[-1].history)
        scene.expect(self.private.text not in said, "the private reply is in the history")


@dataclass(frozen=True)
class Marks:
    """The reply says how sensitive it is, beside its words."""

    words: str

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        marked = await scene.platform.marked(FIRST)
        scene.expect(marked == self.words, f"the reply is marked {marked!r}")


@dataclass(frozen=True)
class Declines:
    """A question that is not worked on: its asker reads why, once, and has nothing to judge."""

    text: str

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        scene.expect_asked()
        await scene.expect_shown(FIRST, (self.text,), ("Sources", "human"))
        scene.expect(not await scene.platform.can_vote(FIRST), "the refusal can be judged")


async def is_not_kept(scene: Scenario) -> None:
    """What the inbox does not take is not acknowledged, so that it is sent again."""
    receipt = await scene.platform.ask(FIRST)
    scene.expect(receipt == "send it again", f"the question was acknowledged as {receipt!r}")
    scene.expect_asked()


OPEN = frozenset({"FAQ"})


async def follows_up_unaddressed(scene: Scenario) -> None:
    """In a thread that the bot is in, it need not be addressed again where that is allowed."""
    second = Question("and in colour?", number=2, addressed=False)
    await scene.ask(FIRST)
    await scene.platform.ask(second)
    await scene.quiet()
    scene.expect_asked(FIRST.text)
    await scene.allow(Policy(follow_ups=True))
    third = Question("and on both sides?", number=3, addressed=False)
    await scene.ask(third)
    await scene.arrived(2)
    scene.expect_asked(FIRST.text, third.text)
    await scene.expect_shown(third, ("AND ON BOTH SIDES?",))


async def overhears_unsurely(scene: Scenario) -> None:
    """What nobody asked it and it does not know is recorded, and nobody reads a word of it."""
    await scene.ask(FIRST)
    await scene.allow(Policy(answers="questions"))
    other = Question("is the lift broken?", number=2, thread=2, addressed=False)
    await scene.platform.ask(other)
    await scene.arrived(2)
    await scene.quiet()
    scene.expect_asked(FIRST.text, other.text)
    shown = await scene.platform.seen(other)
    scene.expect(not shown, f"the thread shows {shown}")
    asked = [card for card in await scene.platform.people() if other.text in card]
    scene.expect(not asked, f"people are asked {asked}")


async def hears_no_bots(scene: Scenario) -> None:
    """What another bot writes is no question, even if it addresses this one."""
    await scene.platform.ask(Question("build 7 failed?", by="bot"))
    second = Question("how do I print?", number=2, thread=2)
    await scene.ask(second)
    await scene.quiet()
    scene.expect_asked(second.text)


@dataclass(frozen=True)
class Shares:
    """A file comes with a question; what is read of it, and what is said of it."""

    file: File
    read: str = ""
    said: tuple[Words, ...] = ()

    async def __call__(self, scene: Scenario) -> None:
        question = Question("what is this?", private=True, files=(self.file,))
        await scene.ask(question)
        read = "".join(each.text for each in scene.desk.inquiries[-1].attached)
        scene.expect(self.read == read, f"{read!r} is read")
        await scene.expect_shown(question, self.said)


async def shows_picture(scene: Scenario) -> None:
    """A picture without a word is sent: a person is offered."""
    sent = Question("", private=True, files=(("shot.png", b"PNG"),))
    await scene.ask(sent)
    await scene.expect_shown(sent, (HANDOFF_QUESTION,))


_GUESTS = Question("who earns most?", number=2, thread=2, by="guest")
_BESIDE = Question("where is the tax plan?", number=3, thread=3, beside_outsiders=True)


async def refuses_outsiders(scene: Scenario) -> None:
    """People from outside are refused, and so is a colleague where they read along."""
    for question in (FIRST, _GUESTS, _BESIDE):
        await scene.ask(question)
    scene.expect_asked(FIRST.text)
    colleague = scene.desk.inquiries[0]
    scene.expect(bool(colleague.message.author.email), "the colleague is not introduced")
    for question in (_GUESTS, _BESIDE):
        shown = "".join(await scene.platform.seen(question))
        scene.expect("I only answer" in shown or "so I don't answer" in shown, f"read: {shown!r}")
    scene.expect(not await scene.platform.people(), "people are asked")


async def answers_outsiders(scene: Scenario) -> None:
    """Where spaces are open to outsiders these alone are searched, for whoever asks there."""
    for question in (_GUESTS, _BESIDE):
        await scene.ask(question)
    for inquiry in scene.desk.inquiries:
        scene.expect(inquiry.policy.spaces == OPEN, f"{inquiry.policy.spaces} are searched")
        scene.expect(inquiry.message.author.principals == {EVERYONE}, "they may read more")
        scene.expect(inquiry.audience.principals == {EVERYONE}, "the channel may read more")
        scene.expect(bool(inquiry.notes), "the operator is not told why")
    scene.expect_asked(_GUESTS.text, _BESIDE.text)


async def marks_outsiders(scene: Scenario) -> None:
    """People who are asked see that it is a guest who asks."""
    await scene.escalate(_GUESTS)
    cards = "".join(await scene.platform.people())
    scene.expect("(guest)" in cards, f"the card says {cards!r}")


OPTION = "Public holidays"


@dataclass(frozen=True)
class AsksWhy:
    """The explanation names the page that was read."""

    page: str

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        told = await buttons_of(scene).why(FIRST)
        scene.expect(self.page in told, f"the explanation is {told[:200]!r}")


@dataclass(frozen=True)
class AsksForPerson:
    """A button asks for a person: once, in the same thread, where it is said."""

    said: Words

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        await buttons_of(scene).ask_person(FIRST)
        await scene.arrived(2)
        threads = {(await scene.recorded(each)).message.thread for each in scene.inbox.kept}
        scene.expect(len(threads) == 1, "a person is asked for in another thread")
        state = (await scene.case(scene.inbox.kept[-1])).status.state
        scene.expect(state == "open", f"the question is {state!r} to people")
        await scene.expect_shown(FIRST, (self.said,))


@dataclass(frozen=True)
class HandsOn:
    """A person is asked for below an answer; the case says of it what people need to know."""

    said: Words

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        await buttons_of(scene).ask_person(FIRST)
        await scene.arrived(2)
        case_id = scene.inbox.kept[-1]
        view = await scene.people.shown(case_id)
        page = case_page_view(view, ANNA, scene.people.now(), timedelta(minutes=30))
        reasons = " ".join(page.finding.reasons) if page.finding else ""
        scene.expect(_says(self.said, reasons), f"the board says {reasons!r}")
        try:
            cards = "\n".join(await scene.platform.people())
        except Missing:
            return
        scene.expect(_says(self.said, cards), f"the card says {cards!r}")


@dataclass(frozen=True)
class Chooses:
    """An option that is offered is asked as if it had been typed."""

    answer: Words

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(FIRST)
        await buttons_of(scene).choose(FIRST, OPTION)
        await scene.arrived(2)
        scene.expect_asked(FIRST.text, OPTION)
        await scene.expect_shown(FIRST, (self.answer,))


async def is_claimed(scene: Scenario) -> None:
    """Two people claim it; one has it, and the card says who."""
    card, case_id = card_of(scene), await scene.escalate(FIRST)
    await card.claim("anna")
    await card.claim("bob")
    owner = (await scene.case(case_id)).status.owner_name
    scene.expect(owner == "Anna Lopez", f"{owner!r} has it")
    await scene.people.tell()
    shown = await card.shown()
    scene.expect("Claimed by Anna Lopez" in shown, f"the card says {shown!r}")


@dataclass(frozen=True)
class IsReplied:
    """What somebody writes on the card is read by who asked, with the writer's name.

    ``below``: it is written in the card's thread, as people do, and its author agrees to send it.
    ``before``: it read so first, and the edit arrives before the message.
    """

    words: str
    shown: tuple[Words, ...]
    below: bool = False
    before: str = ""

    async def __call__(self, scene: Scenario) -> None:
        card = card_of(scene)
        await scene.escalate(FIRST)
        if self.before:
            await card.write_late("anna", self.before, self.words)
        else:
            write = card.write_below if self.below else card.reply
            await write("anna", self.words)
        await scene.people.tell()
        await scene.expect_shown(FIRST, self.shown)
        shown = await card.shown()
        scene.expect("Answered by Anna Lopez" in shown, f"the card says {shown!r}")


def _says(words: Words, told: str) -> bool:
    return words in told if isinstance(words, str) else bool(words.search(told))


def buttons_of(scene: Scenario) -> Buttons:
    if scene.platform.hands.buttons is None:
        raise Missing
    return scene.platform.hands.buttons


def card_of(scene: Scenario) -> Card:
    if scene.platform.hands.card is None:
        raise Missing
    return scene.platform.hands.card


_PATIENCE_SECONDS = 60.0
_STILL_TURNS = 20
_PRIVATE = Question("how do I print?", private=True)


@dataclass(frozen=True)
class IsOrdered:
    """An order is answered to who gave it, and is no question."""

    order: str
    told: str
    admin: bool = False

    async def __call__(self, scene: Scenario) -> None:
        orders = _orders(scene)
        await orders.give(self.order, admin=self.admin)
        read = await _reads(orders, self.told, admin=self.admin)
        scene.expect(self.told in read, f"who ordered reads {read!r}")
        scene.expect_asked()
        scene.expect(not orders.shelf.runs, "something is reindexed")


async def lists_own_cases(scene: Scenario) -> None:
    """Who asked a person finds the question again by the words "my cases"."""
    orders = _orders(scene)
    case = await scene.case(await scene.escalate(FIRST))
    await orders.give("my cases", admin=True)
    read = await _reads(orders, "waits for somebody", admin=True)
    scene.expect(f"- {case.question}" in read, f"who asked reads {read!r}")


async def reindexes(scene: Scenario) -> None:
    """An admin's order begins a run, which is shown from its beginning to its end."""
    orders = _orders(scene)
    await orders.give("reindex IT", admin=True)
    await wait_until(lambda: orders.shelf.runs)
    scene.expect(orders.shelf.runs[0].space == "IT", "another space is reindexed")
    begun = await _reads(orders, "1 of 4 pages", admin=True)
    scene.expect("1 of 4 pages" in begun, f"who ordered reads {begun!r}")
    orders.shelf.goes(state="done", ended_at=RUN.ended_at, pages=4, changed=3)
    ended = await _reads(orders, "Reindexing IT: done", admin=True)
    scene.expect("Reindexing IT: done" in ended, f"who ordered reads {ended!r}")
    scene.expect("1 of 4 pages" not in ended, "the beginning is shown beside the end")


async def welcomes_once(scene: Scenario) -> None:
    """It says hello where it is added, and not again where it was before."""
    installing = _installing(scene)
    await installing.install()
    await wait_until(installing.welcomes)
    await installing.install()
    await scene.quiet()
    times = installing.welcomes()
    scene.expect(times == 1, f"it says hello {times} times")


async def is_removed(scene: Scenario) -> None:
    """Once it is removed, what it was working on is not shown, nor tried to be."""
    installing = _installing(scene)
    scene.desk.hold()
    await scene.platform.ask(_PRIVATE)
    await scene.desk.reached.wait()
    before = await _when_still(installing.calls)
    await installing.uninstall()
    scene.desk.release()
    await scene.worked()
    tried = installing.calls() - before
    scene.expect(not tried, f"it tries {tried} times to show something")


async def _when_still(calls: Callable[[], int]) -> int:
    """Return how many calls there were, once none is under way any more."""
    seen, turns = calls(), 0
    while turns < _STILL_TURNS:
        await asyncio.sleep(0.01)
        seen, turns = calls(), turns + 1 if calls() == seen else 0
    return seen


async def _reads(orders: Orders, words: str, *, admin: bool) -> str:
    """Return what who ordered reads, as soon as these words are there, or at last."""
    with suppress(TimeoutError):
        await wait_until(lambda: words in orders.read(admin=admin), seconds=_PATIENCE_SECONDS)
    return orders.read(admin=admin)


def _orders(scene: Scenario) -> Orders:
    if scene.platform.hands.orders is None:
        raise Missing
    return scene.platform.hands.orders


def _installing(scene: Scenario) -> Installing:
    if scene.platform.hands.installing is None:
        raise Missing
    return scene.platform.hands.installing
