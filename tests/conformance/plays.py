"""What is done on a platform in a case, and what must come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.interactions import Reply
from tests.conformance.platforms import Question, Vote
from tests.conformance.scene import Scene, Words

Play = Callable[[Scene], Awaitable[None]]

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

    async def __call__(self, scene: Scene) -> None:
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


async def delivers_again(scene: Scene) -> None:
    """The same message twice at once, and a third time after it was answered."""
    await asyncio.gather(*(scene.platform.ask(FIRST) for _ in range(2)))
    await scene.settled()
    await scene.ask(FIRST)
    await scene.quiet()
    scene.expect_asked(FIRST.text)
    await scene.expect_shown(FIRST, ("HOW DO I PRINT?",))


async def follows_up(scene: Scene) -> None:
    """The second question of a thread comes with the first and its answer."""
    second = Question("and in colour?", number=2)
    await scene.ask(FIRST)
    await scene.ask(second)
    scene.expect_asked(FIRST.text, second.text)
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [FIRST.text, "HOW DO I PRINT?"], f"the history is {said}")
    await scene.expect_shown(second, ("AND IN COLOUR?", "HOW DO I PRINT?"))


async def begins_anew(scene: Scene) -> None:
    """Another thread knows nothing of the first."""
    second = Question("and in colour?", number=2, thread=2)
    await scene.ask(FIRST)
    await scene.ask(second)
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [], f"the history is {said}")
    await scene.expect_shown(second, ("AND IN COLOUR?",), ("HOW DO I PRINT?",))


async def edits_in_time(scene: Scene) -> None:
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


async def edits_too_late(scene: Scene) -> None:
    """Edited after it was answered: the answer stays, and nothing is answered twice."""
    await scene.ask(FIRST)
    await scene.platform.edit(FIRST, "how do I scan?")
    await scene.quiet()
    scene.expect_asked(FIRST.text)
    await scene.expect_shown(FIRST, ("HOW DO I PRINT?",), ("HOW DO I SCAN?",))


async def deletes_in_time(scene: Scene) -> None:
    """Deleted while it is being worked on: nothing is shown, nothing is kept."""
    scene.desk.hold()
    await scene.platform.ask(FIRST)
    await scene.desk.reached.wait()
    await scene.platform.delete(FIRST)
    scene.desk.release()
    await scene.quiet()
    await _expect_gone(scene)


async def deletes_afterwards(scene: Scene) -> None:
    """Deleted after it was answered: the reply and the texts go, also from the conversation."""
    await scene.ask(FIRST)
    await scene.platform.delete(FIRST)
    await scene.quiet()
    await _expect_gone(scene)
    await scene.ask(Question("and in colour?", number=2))
    said = [turn.text for turn in scene.desk.inquiries[-1].history]
    scene.expect(said == [], f"the history is {said}")


async def _expect_gone(scene: Scene) -> None:
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

    async def __call__(self, scene: Scene) -> None:
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

    async def __call__(self, scene: Scene) -> None:
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

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        marked = await scene.platform.marked(FIRST)
        scene.expect(marked == self.words, f"the reply is marked {marked!r}")


@dataclass(frozen=True)
class Declines:
    """A question that is not worked on: its asker reads why, once, and has nothing to judge."""

    text: str

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        scene.expect_asked()
        await scene.expect_shown(FIRST, (self.text,), ("Sources", "human"))
        scene.expect(not await scene.platform.can_vote(FIRST), "the refusal can be judged")


async def is_not_kept(scene: Scene) -> None:
    """What the inbox does not take is not acknowledged, so that it is sent again."""
    receipt = await scene.platform.ask(FIRST)
    scene.expect(receipt == "send it again", f"the question was acknowledged as {receipt!r}")
    scene.expect_asked()
