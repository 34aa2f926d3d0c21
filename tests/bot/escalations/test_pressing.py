"""What those see who press on a card at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Interaction, PostedRef
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.escalations.cards import CardActions
from bot.escalations.case_view import CaseView
from rag.types import Principal
from tests.bot.escalations.fakes import case_of
from tests.builders import NOON

ASKED = Message("1", Thread("teams", "acme", "c", "t"), Person("anna"), "vpn?", NOON)
CASE_ID = ASKED.interaction_id


class Office:
    """Implements Sees, Recorded and ShowsCards over one case, whose version it counts."""

    def __init__(self) -> None:
        self.version, self.looked = 0, 0
        self.open, self.begun = asyncio.Event(), asyncio.Event()
        self.away = False
        self.at: PostedRef | None = PostedRef("people", "card")

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        self.looked += 1
        self.begun.set()
        version = self.version
        await self.open.wait()
        if self.away:
            raise StoreUnavailable("The record is away.")
        return CaseView(replace(case_of(ASKED), version=version), (), None, ())

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return Interaction(CASE_ID, ASKED, "done", NOON) if interaction_id == CASE_ID else None

    async def card_of(self, message: Message) -> PostedRef | None:
        return self.at

    async def show(self, message: Message, view: CaseView) -> None:
        """Show nothing."""


def cards(office: Office, tenant: str = "acme") -> CardActions:
    return CardActions(
        tenant=tenant, sees=office, recorded=office, cards=office, errands=BackgroundTasks()
    )


async def test_who_comes_while_it_is_looked_up_shares_the_next_look_and_sees_what_they_did() -> (
    None
):
    office = Office()
    pressed = cards(office)
    first = asyncio.create_task(pressed.view(CASE_ID))
    await office.begun.wait()
    office.version = 1
    others = [asyncio.create_task(pressed.view(CASE_ID)) for _ in range(50)]
    await asyncio.sleep(0)
    office.open.set()
    assert (await first).case.version == 0
    assert {view.case.version for view in await asyncio.gather(*others)} == {1}
    assert office.looked == 2


async def test_a_look_that_failed_is_told_to_all_and_the_next_is_made_anew() -> None:
    office = Office()
    office.away = True
    office.open.set()
    pressed = cards(office)
    told = await asyncio.gather(*(pressed.view(CASE_ID) for _ in range(3)), return_exceptions=True)
    assert {type(each) for each in told} == {StoreUnavailable}
    office.away = False
    assert (await pressed.view(CASE_ID)).case.version == 0


async def test_who_leaves_takes_no_look_from_the_others() -> None:
    office = Office()
    pressed = cards(office)
    leaving, staying = (asyncio.create_task(pressed.view(CASE_ID)) for _ in range(2))
    await office.begun.wait()
    leaving.cancel()
    office.open.set()
    assert (await staying).case.version == 0


@pytest.mark.parametrize(
    ("tenant", "case_id", "channel", "at"),
    [
        ("other", CASE_ID, "people", PostedRef("people", "card")),
        ("acme", InteractionId("unknown"), "people", PostedRef("people", "card")),
        ("acme", CASE_ID, "elsewhere", PostedRef("people", "card")),
        ("acme", CASE_ID, "people", None),
    ],
    ids=["another company", "unknown", "another channel", "no card"],
)
async def test_a_press_that_is_not_on_the_card_is_refused(
    tenant: str, case_id: InteractionId, channel: str, at: PostedRef | None
) -> None:
    office = Office()
    office.at = at
    with pytest.raises(InteractionUnknown):
        await cards(office, tenant).question(case_id, channel)


async def test_a_press_on_the_card_is_about_its_question() -> None:
    assert await cards(Office()).question(CASE_ID, "people") == ASKED
