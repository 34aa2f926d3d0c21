"""Questions that go to people: what they are shown, and what their askers then read."""

from __future__ import annotations

from dataclasses import dataclass

from bot.escalations.types import Act
from tests.conformance.platforms import Question
from tests.conformance.plays import FIRST
from tests.conformance.scene import Scene, Words


@dataclass(frozen=True)
class PeopleSee:
    """A question that goes to people; ``shown`` None: it does not (yet)."""

    text: str
    shown: str | None
    private: bool = False

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(Question(self.text, private=self.private))
        cards = await scene.platform.people()
        wanted = 0 if self.shown is None else 1
        scene.expect(len(cards) == wanted, f"people are shown {len(cards)} questions")
        if self.shown is not None and self.shown not in "\n".join(cards):
            scene.expect(fact=False, fault=f"people are not shown {self.shown!r}")


@dataclass(frozen=True)
class Hears:
    """A question that went to people, what Anna does, and what its asker then reads of it.

    ``deaths``: so many processes die after they told it and before they noted so.
    """

    act: Act
    said: str
    shown: tuple[Words, ...]
    deaths: int = 0

    async def __call__(self, scene: Scene) -> None:
        case_id = await scene.escalate(FIRST)
        await scene.people.act(case_id, self.act, self.said)
        for _ in range(self.deaths):
            scene.expect(await scene.people.tell_and_die(), "nothing was told")
        await scene.people.tell()
        await scene.people.tell()
        await scene.expect_shown(FIRST, self.shown)


async def hears_once_though_the_answer_is_lost(scene: Scene) -> None:
    """It was posted, and the process was not told so: another looks before it posts again."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    scene.platform.lose_answer()
    for _ in range(2):
        await scene.people.tell()
        scene.people.pass_by(minutes=10)
    await scene.expect_shown(FIRST, ("Take the blue socket.",))


async def hears_in_order(scene: Scene) -> None:
    """All that was done, in its order, and nothing of it in another thread."""
    case_id = await scene.escalate(FIRST)
    elsewhere = Question("and in colour?", number=2, thread=2)
    await scene.ask(elsewhere)
    await scene.people.act(case_id, "claim")
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    await scene.people.act(case_id, "resolve")
    await scene.people.tell()
    whole = "\n".join(await scene.platform.seen(FIRST))
    at = [whole.find(words) for words in ("taken", "Take the blue socket.", "closed")]
    scene.expect(-1 not in at and at == sorted(at), f"the asker reads {whole!r}")
    await scene.expect_shown(elsewhere, (), ("Anna Lopez",))


async def hears_no_more(scene: Scene) -> None:
    """A question that is withdrawn takes along what its asker was told."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    await scene.people.tell()
    await scene.platform.delete(FIRST)
    await scene.quiet()
    shown = await scene.platform.seen(FIRST)
    scene.expect(not shown, f"the thread shows {shown}")


async def is_reminded_of(scene: Scene) -> None:
    """What nobody takes is brought to people's minds, until somebody does."""
    await scene.ask(FIRST)
    before = len(await scene.platform.people())
    scene.people.pass_by(minutes=31)
    await scene.people.tell()
    reminders = (await scene.platform.people())[before:]
    scene.expect(len(reminders) == 1, f"people are reminded {len(reminders)} times")
    scene.expect("vpn down?" in "".join(reminders), f"people read {reminders}")
    await scene.people.act(scene.inbox.kept[0], "claim")
    scene.people.pass_by(minutes=31)
    await scene.people.tell()
    after = len(await scene.platform.people()) - before
    scene.expect(after == 1, "people are reminded of what somebody has")
