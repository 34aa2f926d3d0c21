"""What is pressed, by the asker and by people, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.web.board.case_view import case_page_view
from tests.conformance.platforms import Buttons, Card, Missing
from tests.conformance.plays import FIRST
from tests.conformance.scene import Scene, Words
from tests.conformance.telling import ANNA

OPTION = "Public holidays"


@dataclass(frozen=True)
class AsksWhy:
    """The explanation names the page that was read."""

    page: str

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        told = await _buttons(scene).why(FIRST)
        scene.expect(self.page in told, f"the explanation is {told[:200]!r}")


@dataclass(frozen=True)
class AsksForPerson:
    """A button asks for a person: once, in the same thread, where it is said."""

    said: Words

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        await _buttons(scene).ask_person(FIRST)
        await scene.arrived(2)
        threads = {(await scene.recorded(each)).message.thread for each in scene.inbox.kept}
        scene.expect(len(threads) == 1, "a person is asked for in another thread")
        state = (await scene.case(scene.inbox.kept[-1])).standing.state
        scene.expect(state == "open", f"the question is {state!r} to people")
        await scene.expect_shown(FIRST, (self.said,))


@dataclass(frozen=True)
class HandsOn:
    """A person is asked for below an answer; the case says of it what people need to know."""

    said: Words

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        await _buttons(scene).ask_person(FIRST)
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

    async def __call__(self, scene: Scene) -> None:
        await scene.ask(FIRST)
        await _buttons(scene).choose(FIRST, OPTION)
        await scene.arrived(2)
        scene.expect_asked(FIRST.text, OPTION)
        await scene.expect_shown(FIRST, (self.answer,))


async def is_claimed(scene: Scene) -> None:
    """Two people claim it; one has it, and the card says who."""
    card, case_id = _card(scene), await scene.escalate(FIRST)
    await card.claim("anna")
    await card.claim("bob")
    owner = (await scene.case(case_id)).standing.owner_name
    scene.expect(owner == "Anna Lopez", f"{owner!r} has it")
    await scene.people.tell()
    shown = await card.shown()
    scene.expect("Claimed by Anna Lopez" in shown, f"the card says {shown!r}")


@dataclass(frozen=True)
class IsReplied:
    """What somebody writes on the card is read by who asked, with the writer's name."""

    words: str
    shown: tuple[Words, ...]

    async def __call__(self, scene: Scene) -> None:
        card = _card(scene)
        await scene.escalate(FIRST)
        await card.reply("anna", self.words)
        await scene.people.tell()
        await scene.expect_shown(FIRST, self.shown)
        shown = await card.shown()
        scene.expect("Answered by Anna Lopez" in shown, f"the card says {shown!r}")


def _says(words: Words, told: str) -> bool:
    return words in told if isinstance(words, str) else bool(words.search(told))


def _buttons(scene: Scene) -> Buttons:
    if scene.platform.hands.buttons is None:
        raise Missing
    return scene.platform.hands.buttons


def _card(scene: Scene) -> Card:
    if scene.platform.hands.card is None:
        raise Missing
    return scene.platform.hands.card
