"""Tests of the cards of cases that join another, lead what another led, or are parted again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from bot.domain.cases import CaseStatus, State, Step
from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Delivery, Interaction, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.escalations.case_view import askers_text, buttons_for_people, case_form
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON
from tests.fakes.escalations import NoticePlatform, case_of, notice_of
from tests.unit.bot.escalations.test_notices import ASKED, PING, Desk

LEAD = InteractionId("lead")


@dataclass
class CardPlatform(NoticePlatform):
    """A platform that implements PostsCards as well."""

    place_of_card: PostedRef | None = None
    cards: list[Delivery] = field(default_factory=list)

    async def card_of(self, message: Message) -> PostedRef | None:
        return self.place_of_card

    async def ask_people(self, delivery: Delivery) -> bool:
        self.cards.append(delivery)
        self.place_of_card = PostedRef("people", delivery.id)
        return True


@pytest.fixture
def platform() -> CardPlatform:
    return CardPlatform()


def desk_with(state: State = "open", *, joined: bool = False, posted: bool = True) -> Desk:
    desk = Desk()
    desk.ask()
    key = ASKED.interaction_id
    ref = PostedRef("C0HELP", "1") if posted else None
    outcome = generic_outcome("Noted.")
    done = Interaction(key, ASKED, "done", NOON, outcome=outcome, posted=ref)
    desk.record.interactions[key] = done
    lead = LEAD if joined else None
    desk.cases.cases[key] = case_of(ASKED, status=CaseStatus(state), joined_to=lead)
    return desk


async def tell(desk: Desk, platform: CardPlatform, step: Step) -> bool:
    return await desk.tell(replace(PING, id=step, step=step), [platform])


@pytest.mark.parametrize("step", ["lead", "split", "reopen"])
async def test_a_case_that_is_alone_now_gets_a_card(platform: CardPlatform, step: Step) -> None:
    assert await tell(desk_with(), platform, step)

    assert [each.interaction_id for each in platform.cards] == [ASKED.interaction_id]


async def test_a_case_that_has_a_card_gets_no_other(platform: CardPlatform) -> None:
    platform.place_of_card = PostedRef("people", "1")

    assert await tell(desk_with(), platform, "lead")

    assert not platform.cards


@pytest.mark.parametrize("state", ["answered", "resolved", "declined"])
async def test_an_answered_case_gets_no_card_when_it_leads(
    platform: CardPlatform, state: State
) -> None:
    assert await tell(desk_with(state), platform, "lead")

    assert not platform.cards


async def test_the_card_waits_for_the_reply_that_may_post_it(platform: CardPlatform) -> None:
    assert not await tell(desk_with(posted=False), platform, "lead")

    assert not platform.cards


async def test_nobody_is_reminded_of_a_joined_case_and_it_has_no_card(
    platform: CardPlatform,
) -> None:
    desk = desk_with(joined=True)

    assert await tell(desk, platform, "open")
    assert await tell(desk, platform, "reopen")

    assert not platform.cards
    assert not platform.reminded


async def test_a_reply_of_days_before_is_retried_from_when_the_case_joined() -> None:
    desk = desk_with()
    desk.clock.pass_by(days=3)
    key = ASKED.interaction_id
    desk.cases.cases[key] = replace(desk.cases.cases[key], changed_at=desk.clock())

    platform = CardPlatform(failures=[DeliveryFailed("Slack is away.")])
    assert not await desk.tell(notice_of(ASKED), [platform])

    assert not desk.outbox.given_up


def test_the_card_of_several_says_how_many_asked_and_nothing_of_them() -> None:
    case = case_of(ASKED, askers=3)

    assert "3 people asked this" in askers_text(case)
    assert askers_text(case_of(ASKED)) == ""
    assert "everyone who asked" in case_form("reply", case).hint
    assert "everyone who asked" not in case_form("reply", case_of(ASKED)).hint


def test_a_joined_case_is_answered_with_the_leading_one() -> None:
    assert buttons_for_people(case_of(ASKED)) != ()
    assert buttons_for_people(case_of(ASKED, joined_to=LEAD)) == ()
