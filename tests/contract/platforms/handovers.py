"""Questions that go to people: what experts are shown, and what the askers then read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from structlog.testing import capture_logs

from bot.domain.cases import Act, ActDetail, Actor
from bot.domain.messages import Policy
from bot.learning.shadow_mode import DraftSender, ReviewsDrafts
from bot.web.api.record import _case
from bot.web.board.case_page_view import case_page_view
from tests.contract.platforms.actions import FIRST
from tests.contract.platforms.driver import Missing, Question
from tests.contract.platforms.scenario import ANNA, PAGE_809, Scenario, Words
from tests.fakes.chat_context import ReadsPages


@dataclass(frozen=True)
class PeopleSee:
    """A question that goes to people; ``shown`` None: it does not (yet)."""

    text: str
    shown: str | None
    private: bool = False

    async def __call__(self, scene: Scenario) -> None:
        await scene.ask(Question(self.text, private=self.private))
        cards = await scene.platform.people()
        wanted = 0 if self.shown is None else 1
        scene.expect(len(cards) == wanted, f"people are shown {len(cards)} questions")
        if self.shown is not None and self.shown not in "\n".join(cards):
            scene.expect(fact=False, fault=f"people are not shown {self.shown!r}")


@dataclass(frozen=True)
class Guesses:
    """A question gets a guess; people are asked nothing."""

    text: str
    shown: tuple[Words, ...]
    private: bool = False

    async def __call__(self, scene: Scenario) -> None:
        question = Question(self.text, private=self.private)
        await scene.ask(question)
        await scene.expect_shown(question, self.shown)
        case = await scene.people.store.escalations.get(scene.people.tenant, scene.inbox.kept[0])
        scene.expect(case is None, "people have the question on their list")
        cards = await _cards(scene)
        scene.expect(not cards, f"people are shown {cards}")


@dataclass(frozen=True)
class Hears:
    """A question that went to people, what Anna does, and what its asker then reads of it.

    ``deaths``: so many processes die after they told it and before they noted so.
    """

    act: Act
    said: str
    shown: tuple[Words, ...]
    deaths: int = 0

    async def __call__(self, scene: Scenario) -> None:
        case_id = await scene.escalate(FIRST)
        await scene.people.act(case_id, self.act, self.said)
        for _ in range(self.deaths):
            scene.expect(await scene.people.tell_and_die(), "nothing was told")
        await scene.people.tell()
        await scene.people.tell()
        await scene.expect_shown(FIRST, self.shown)


_BEN = Actor("ben.okafor", "Ben Okafor", "expert")
_HIDDEN = "He asks each week."


async def hears_who_has_it(scene: Scenario) -> None:
    """Anna gives the question to Ben, with a reason that is for those who answer."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "assign", _HIDDEN, ActDetail(_BEN))
    await scene.people.tell()
    await scene.expect_shown(FIRST, ("Ben Okafor",))
    await _is_hidden(scene, _HIDDEN)


async def is_noted(scene: Scenario) -> None:
    """Anna notes something for those who answer, and claims the question."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "note", _HIDDEN)
    await scene.people.act(case_id, "claim")
    await scene.people.tell()
    await scene.expect_shown(FIRST, ("Anna Lopez",))
    await _is_hidden(scene, _HIDDEN)


async def hears_the_correction(scene: Scenario) -> None:
    """Anna replies, and corrects her reply after its asker has read it."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "reply", "Take the green socket.")
    await scene.people.tell()
    view = await scene.people.shown(case_id)
    about = ActDetail(about=view.steps[-1].number)
    await scene.people.act(case_id, "amend", "Take the blue socket.", about)
    await scene.people.tell()
    await scene.expect_shown(FIRST, ("Take the blue socket.",))
    await _is_hidden(scene, "green")


async def _is_hidden(scene: Scenario, words: str) -> None:
    shown = "\n".join(await scene.platform.seen(FIRST))
    scene.expect(words not in shown, f"the asker reads {words!r}")


SECRET = "harassment"
BIKE = "can I rent a company bike for a weekend?"
_ABOUT_SECRET = f"how do I report {SECRET} by my manager?"


@dataclass(frozen=True)
class HandsOver:
    """A question goes to people after ``earlier`` ones that it has nothing to do with.

    ``last`` are its words, of which the last goes to people. They read ``shown`` and nothing of
    what was asked before, wherever they look.
    """

    earlier: tuple[Question, ...]
    last: tuple[Question, ...]
    shown: str = BIKE

    async def __call__(self, scene: Scenario) -> None:
        with capture_logs() as log:
            for question in self.earlier:
                await scene.ask(question)
            await _claimed(scene)
            before = len(await _cards(scene))
            for question in self.last:
                await scene.ask(question)
            case_id = scene.inbox.kept[-1]
            scene.people.pass_by(minutes=31)
            await scene.people.tell()
        view = await scene.people.shown(case_id)
        page = case_page_view(view, ANNA, scene.people.now(), timedelta(minutes=30))
        lines = [line for line in log if line.get("interaction_id") == case_id]
        for place, told in (
            ("the case has", [repr(view)]),
            ("the board shows", [repr(page)]),
            ("the API tells", [str(_case(view.case))]),
            ("a card or notice says", (await _cards(scene))[before:]),
            ("the log says", list(map(str, lines))),
        ):
            scene.expect(SECRET not in "".join(told), f"{place} {SECRET!r}")
        scene.expect(self.shown in view.case.question, f"people read {view.case.question!r}")


async def _claimed(scene: Scenario) -> None:
    """Have what went to people so far taken, so that nobody is reminded of it."""
    cases = scene.people.store.escalations
    for interaction_id in scene.inbox.kept:
        if await cases.get(scene.people.tenant, interaction_id) is not None:
            await scene.people.act(interaction_id, "claim")
    await scene.people.tell()


async def _cards(scene: Scenario) -> Sequence[str]:
    """Return what the people's channel shows; nothing where there is none."""
    try:
        return await scene.platform.people()
    except Missing:
        return []


UNRELATED = HandsOver(
    earlier=(Question(_ABOUT_SECRET, private=True),),
    last=(
        Question(BIKE, number=2, private=True),
        Question("yes please", number=3, private=True),
    ),
)
OF_ANOTHER = HandsOver(
    earlier=(Question(_ABOUT_SECRET),),
    last=(Question("and what does it cost?", number=2, by="colleague"),),
    shown="and what does it cost?",
)
WISH_AFTER_ANOTHERS = HandsOver(
    earlier=(Question(_ABOUT_SECRET),),
    last=(
        Question("a human please", number=2, by="colleague"),
        Question("my parking permit", number=3, by="colleague"),
    ),
    shown="my parking permit",
)


async def hears_once_though_the_answer_is_lost(scene: Scenario) -> None:
    """It was posted, and the process was not told so: another looks before it posts again."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    scene.platform.lose_answer()
    for _ in range(2):
        await scene.people.tell()
        scene.people.pass_by(minutes=10)
    await scene.expect_shown(FIRST, ("Take the blue socket.",))


async def hears_in_order(scene: Scenario) -> None:
    """All that was done, in its order, and nothing of it in another thread."""
    case_id = await scene.escalate(FIRST)
    elsewhere = Question("and in colour?", number=2, thread=2)
    await scene.ask(elsewhere)
    await scene.people.act(case_id, "claim")
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    await scene.people.act(case_id, "resolve")
    await scene.people.tell()
    whole = "\n".join(await scene.platform.seen(FIRST))
    at = [whole.find(words) for words in ("working on", "Take the blue socket.", "closed")]
    scene.expect(-1 not in at and at == sorted(at), f"the asker reads {whole!r}")
    await scene.expect_shown(elsewhere, (), ("Anna Lopez",))


async def hears_no_more(scene: Scenario) -> None:
    """A question that is withdrawn takes along what its asker was told."""
    case_id = await scene.escalate(FIRST)
    await scene.people.act(case_id, "reply", "Take the blue socket.")
    await scene.people.tell()
    await scene.platform.delete(FIRST)
    await scene.quiet()
    shown = await scene.platform.seen(FIRST)
    scene.expect(not shown, f"the thread shows {shown}")


async def is_reminded_of(scene: Scenario) -> None:
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


@dataclass(frozen=True)
class Practises:
    """Where the bot practises, nobody sees what it would say but a reviewer, who judges it.

    ``withdrawn``: the question is deleted afterwards, and the draft with it.
    """

    text: str
    drafted: str
    withdrawn: bool = False

    async def __call__(self, scene: Scenario) -> None:
        reviewing, store = scene.platform.hands.reviewing, scene.people.store
        if reviewing is None:
            raise Missing
        tenant, channel = scene.people.tenant, reviewing.channel
        shadow = Policy(answers="shadow", reviewers=frozenset({reviewing.reviewer, "nobody"}))
        await store.policies.set(tenant, channel, shadow, actor="test")
        question = Question(self.text)
        await scene.ask(question)
        for _ in range(2):
            await _sender(scene).run()
        seen = "\n".join(await scene.platform.seen(question))
        scene.expect(self.drafted not in seen, "the draft is shown in the channel")
        drafts = reviewing.read()
        scene.expect(drafts.count("A draft") == 1, f"the reviewer reads {drafts!r}")
        for words in (self.text, self.drafted):
            scene.expect(words in drafts, f"the reviewer does not read {words!r}")
        if self.withdrawn:
            await scene.platform.delete(question)
            await scene.quiet()
            scene.expect(self.text not in reviewing.read(), "the reviewer still has the question")
            return
        await reviewing.press("Correct")
        await reviewing.press("Wrong")
        counts = (await store.shadow_drafts.counts(tenant, channel)).values()
        judged = [(each.drafts, each.right, each.wrong) for each in counts]
        scene.expect(judged == [(1, 0, 1)], f"the report counts {judged}")


def _sender(scene: Scenario) -> DraftSender:
    """Make a sender as a process has it that knows nothing of the others."""
    store, channel = scene.people.store, scene.people.channel()
    assert isinstance(channel, ReviewsDrafts)
    return DraftSender(
        scene.people.tenant,
        drafts=store.shadow_drafts,
        interactions=store.interactions,
        policies=store.policies,
        notes=store.notes,
        readable=ReadsPages(PAGE_809),
        platforms={channel.platform: channel},
        now=scene.people.now,
    )
