"""Who is listened to besides those who address the bot, and what comes with a question."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.messages import Policy
from rag.types import EVERYONE
from tests.conformance.platforms import File, Question
from tests.conformance.plays import FIRST
from tests.conformance.scene import Scene, Words

OPEN = frozenset({"FAQ"})


async def follows_up_unaddressed(scene: Scene) -> None:
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


async def overhears_unsurely(scene: Scene) -> None:
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


async def hears_no_bots(scene: Scene) -> None:
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

    async def __call__(self, scene: Scene) -> None:
        question = Question("what is this?", private=True, files=(self.file,))
        await scene.ask(question)
        read = "".join(each.text for each in scene.desk.inquiries[-1].attached)
        scene.expect(self.read == read, f"{read!r} is read")
        await scene.expect_shown(question, self.said)


_GUESTS = Question("who earns most?", number=2, thread=2, by="guest")
_BESIDE = Question("where is the tax plan?", number=3, thread=3, beside_outsiders=True)


async def refuses_outsiders(scene: Scene) -> None:
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


async def answers_outsiders(scene: Scene) -> None:
    """Where spaces are open to outsiders these alone are searched, for whoever asks there."""
    for question in (_GUESTS, _BESIDE):
        await scene.ask(question)
    for inquiry in scene.desk.inquiries:
        scene.expect(inquiry.policy.spaces == OPEN, f"{inquiry.policy.spaces} are searched")
        scene.expect(inquiry.message.author.principals == {EVERYONE}, "they may read more")
        scene.expect(inquiry.audience.principals == {EVERYONE}, "the channel may read more")
        scene.expect(bool(inquiry.notes), "the operator is not told why")
    scene.expect_asked(_GUESTS.text, _BESIDE.text)


async def marks_outsiders(scene: Scene) -> None:
    """People who are asked see that it is a guest who asks."""
    await scene.escalate(_GUESTS)
    cards = "".join(await scene.platform.people())
    scene.expect("(guest)" in cards, f"the card says {cards!r}")
