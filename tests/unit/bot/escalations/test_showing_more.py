"""Tests of the rules for seeing more of an asker's conversation, pure and over the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.cases import Act, ActDetail, Actor, Case, CaseStep, Step
from bot.domain.errors import ActRefused, EscalationTaken
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import InteractionId, Message
from bot.escalations.casework import Casework
from bot.escalations.showing_more import MoreRequest, changes_request, request_in
from bot.store.database import Store
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import ALL, NOON, chunk, message
from tests.fakes.chat_context import ReadsPages
from tests.fakes.durable_inbox import record_answer
from tests.unit.bot.escalations.test_casework import source

ANNA = Actor("anna", "Anna Lopez", "expert")
BEN = Actor("ben", "Ben Okafor", "expert")
ASKER = Actor("mika", "Mika", "asker")
COLLEAGUE = frozenset({EVERYONE})
PAY = "Pay day is the 25th."
HR = Principal("group:hr")


def steps(*taken: tuple[Step, int]) -> Sequence[CaseStep]:
    return [
        CaseStep(InteractionId("i"), number, step, None, "", NOON, ActDetail(about=about))
        for number, (step, about) in enumerate(taken, start=1)
    ]


ASKED = (("claim", 0), ("ask_more", 0))
ALLOWED = (*ASKED, ("show_more", 2))


@pytest.mark.parametrize(
    ("taken", "request_"),
    [
        ((), None),
        (ASKED, MoreRequest(2)),
        ((*ASKED, ("assign", 0)), MoreRequest(2)),
        ((*ASKED, ("ask_more", 0)), MoreRequest(2)),
        (ALLOWED, MoreRequest(2, allowed=True)),
        ((*ALLOWED, ("reply", 0)), MoreRequest(2, allowed=True)),
        ((*ASKED, ("keep_more", 2)), None),
        ((*ALLOWED, ("keep_more", 2)), None),
        ((*ALLOWED, ("see_more", 0)), None),
        ((*ALLOWED, ("resolve", 0)), None),
        ((*ALLOWED, ("decline", 0)), None),
        ((*ALLOWED, ("release", 0)), None),
        ((*ALLOWED, ("see_more", 0), ("ask_more", 0), ("show_more", 2)), MoreRequest(5)),
    ],
)
def test_a_request_stands_until_it_is_answered_seen_or_the_case_ends(
    taken: Sequence[tuple[Step, int]], request_: MoreRequest | None
) -> None:
    assert request_in(steps(*taken)) == request_


@pytest.mark.parametrize(
    ("taken", "act", "about"),
    [
        (ASKED, "ask_more", 0),
        (ALLOWED, "ask_more", 0),
        (ALLOWED, "show_more", 2),
        ((*ALLOWED, ("see_more", 0)), "show_more", 2),
        ((*ASKED, ("keep_more", 2)), "keep_more", 2),
    ],
)
def test_what_is_pressed_again_changes_nothing(
    taken: Sequence[tuple[Step, int]], act: Act, about: int
) -> None:
    assert not changes_request(steps(*taken), act, about)


@pytest.mark.parametrize(
    ("taken", "act", "about"),
    [
        ((), "see_more", 0),
        (ASKED, "see_more", 0),
        ((*ALLOWED, ("see_more", 0)), "see_more", 0),
        ((*ALLOWED, ("resolve", 0)), "see_more", 0),
        ((), "show_more", 2),
        ((*ASKED, ("keep_more", 2)), "show_more", 2),
        ((*ASKED, ("release", 0)), "show_more", 2),
        ((*ASKED, ("keep_more", 2), ("ask_more", 0)), "show_more", 2),
    ],
)
def test_nothing_is_shown_without_a_standing_agreement(
    taken: Sequence[tuple[Step, int]], act: Act, about: int
) -> None:
    with pytest.raises(ActRefused):
        changes_request(steps(*taken), act, about)


class Desk:
    """A case in the record, asked by Mika in a thread with earlier questions."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pages = ReadsPages(_page("vpn", "Restart it."), _page("pay", PAY, HR))
        self.casework = Casework(
            cases=store.escalations, interactions=store.interactions, readable=self.pages
        )
        self.asked: Message = message("And on Linux?", message_id="m9", person="mika")

    async def answered(self, number: int, text: str, reply: Reply, **changes: object) -> Message:
        asked = message(text, message_id=f"m{number}", person="mika")
        asked = replace(asked, **changes)  # type: ignore[arg-type]  # as a test says
        await record_answer(self.store, asked, Outcome(reply, generic_outcome("").trace))
        return asked

    async def escalate(self) -> InteractionId:
        response = Escalation("I'll ask.", "low_confidence", self.asked.text)
        await record_answer(self.store, self.asked, Outcome(response, generic_outcome("").trace))
        return self.asked.interaction_id

    async def act(self, act: Act, actor: Actor = ANNA, about: int = 0) -> Case:
        detail = ActDetail(about=about)
        return await self.casework.act("default", self.asked.interaction_id, act, actor, "", detail)

    async def agree(self) -> None:
        await self.act("claim")
        await self.act("ask_more")
        await self.act("show_more", ASKER, about=await self.last())

    async def last(self) -> int:
        history = await self.store.escalations.steps("default", self.asked.interaction_id)
        return history[-1].number

    async def more(
        self, actor: Actor = ANNA, reader: frozenset[Principal] = COLLEAGUE
    ) -> list[tuple[str, str]]:
        shown = await self.casework.more("default", self.asked.interaction_id, actor, reader)
        return [(each.question, "withheld" if each.withheld else each.answer) for each in shown]

    async def audited(self) -> list[tuple[str, str]]:
        rows = await self.store.audits.newest("default", 10)
        return [(each.actor, each.act) for each in rows]


def _page(name: str, text: str, *readers: Principal) -> Chunk:
    who = (frozenset(readers),) if readers else ALL
    return chunk(text, chunk_id=name, page_id=f"{name}.md", title=name.upper(), readers=who)


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


def plain(text: str) -> Reply:
    return Reply(text, "generic")


async def test_only_the_askers_own_questions_are_shown_oldest_first(desk: Desk) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    other = replace(desk.asked.author, id="u2")
    await desk.answered(2, "my salary?", plain("Ask HR."), author=other)
    await desk.answered(3, "it failed", plain("Restart twice."))
    await desk.escalate()
    await desk.agree()

    assert await desk.more() == [("vpn?", "Restart it."), ("it failed", "Restart twice.")]


async def test_an_answer_is_withheld_from_who_may_not_read_its_pages(desk: Desk) -> None:
    await desk.answered(1, "when am I paid?", Reply(PAY, "answer", (source("pay", PAY),), 0.9))
    await desk.escalate()
    await desk.agree()

    assert await desk.more() == [("when am I paid?", "withheld")]
    assert await desk.more(reader=COLLEAGUE | {HR}) == [("when am I paid?", PAY)]


async def test_while_readers_are_not_known_nothing_is_shown_or_used_up(desk: Desk) -> None:
    await desk.answered(1, "when am I paid?", Reply(PAY, "answer", (source("pay", PAY),), 0.9))
    await desk.escalate()
    await desk.agree()
    desk.pages.broken = True
    with pytest.raises(ActRefused, match="minute"):
        await desk.more()
    desk.pages.broken = False
    assert len(await desk.more()) == 1


async def test_withdrawn_and_old_questions_are_left_out(desk: Desk) -> None:
    old = desk.asked.received_at - timedelta(days=8)
    await desk.answered(1, "long ago", plain("Yes."), received_at=old)
    gone = await desk.answered(2, "forget this", plain("Yes."))
    await desk.answered(3, "vpn?", plain("Restart it."))
    await desk.escalate()
    await desk.agree()
    await desk.store.work.cancel(gone.interaction_id)

    assert [question for question, _ in await desk.more()] == ["vpn?"]


async def test_ten_questions_are_shown_at_most(desk: Desk) -> None:
    for number in range(1, 13):
        await desk.answered(100 + number, f"question {number}", plain("Yes."))
    await desk.escalate()
    await desk.agree()

    shown = [question for question, _ in await desk.more()]
    assert shown == [f"question {number}" for number in range(3, 13)]


async def test_with_nothing_earlier_there_is_nothing_to_ask_for(desk: Desk) -> None:
    await desk.escalate()
    await desk.act("claim")
    seen = await desk.casework.view("default", desk.asked.interaction_id, COLLEAGUE)
    assert not seen.more
    with pytest.raises(ActRefused):
        await desk.act("ask_more")


async def test_what_is_seen_is_seen_once_and_audited(desk: Desk) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    await desk.escalate()
    await desk.agree()
    await desk.more()
    await desk.act("see_more")

    for act in (desk.more(), desk.act("see_more")):
        with pytest.raises(ActRefused):
            await act
    assert ("anna", "see_more") in await desk.audited()


async def test_only_who_has_the_case_asks_and_sees(desk: Desk) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    await desk.escalate()
    with pytest.raises(ActRefused, match="Claim"):
        await desk.act("ask_more")
    await desk.agree()
    for act in (desk.act("ask_more", BEN), desk.more(BEN), desk.act("see_more", BEN)):
        with pytest.raises(EscalationTaken):
            await act


async def test_it_is_shown_to_whoever_has_the_case_then(desk: Desk) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    case_id = await desk.escalate()
    await desk.agree()
    await desk.casework.act("default", case_id, "assign", ANNA, "You know it.", ActDetail(BEN))

    with pytest.raises(EscalationTaken):
        await desk.more()
    assert await desk.more(BEN) == [("vpn?", "Restart it.")]


@pytest.mark.parametrize("actor", [ANNA, BEN, Actor("u2", "Noor", "asker")])
@pytest.mark.parametrize("act", ["show_more", "keep_more"])
async def test_nobody_else_agrees_in_place_of_the_asker(desk: Desk, actor: Actor, act: Act) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    await desk.escalate()
    await desk.act("claim")
    await desk.act("ask_more")
    with pytest.raises(ActRefused):
        await desk.act(act, actor, about=await desk.last())


async def test_an_expert_does_not_ask_themselves(desk: Desk) -> None:
    await desk.answered(1, "vpn?", plain("Restart it."))
    await desk.escalate()
    own = replace(ASKER, role="expert")
    await desk.act("claim", own)
    with pytest.raises(ActRefused):
        await desk.act("ask_more", own)
