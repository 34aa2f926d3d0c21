from __future__ import annotations

import pytest

from bot.errors import DeliveryFailed
from bot.orders.permission import admins_of, may_order, refusal
from bot.orders.types import Admins
from bot.types import Person
from rag.types import EVERYONE, Principal
from tests.bot.orders.fakes import Groups

ADMINS = admins_of(
    ("U1", " S1 ", "Anna@Acme.example", ""), setting="X", is_group=lambda name: name[0] == "S"
)


def test_names_are_sorted_into_people_groups_and_addresses() -> None:
    assert ADMINS.ids == {"U1"}
    assert ADMINS.groups == {"S1"}
    assert ADMINS.emails == {"anna@acme.example"}


@pytest.mark.parametrize(
    ("person", "may"),
    [
        (Person("U1"), True),
        (Person("u1"), False),
        (Person("U2"), False),
        (Person("U2", email="ANNA@acme.example"), True),
        (Person("U2", name="anna@acme.example"), False),
        (Person("anna@acme.example"), False),
        (Person("S1"), False),
        (Person("U2", principals=frozenset({EVERYONE, Principal("group:S1")})), True),
        (Person("U3"), True),
    ],
)
async def test_who_is_named_or_in_a_group_that_is_may(person: Person, *, may: bool) -> None:
    assert await may_order(person, ADMINS, Groups(("U3", "S1"))) is may


async def test_with_nobody_named_nobody_may_and_the_setting_is_told() -> None:
    nobody = Admins("SLACK_ADMINS")

    assert not await may_order(Person("U1", email="a@b.example"), nobody, Groups(("U1", "S1")))
    assert "SLACK_ADMINS names nobody" in refusal(nobody)
    assert "add you to X" in refusal(ADMINS)


async def test_a_group_is_asked_only_for_those_who_are_not_named() -> None:
    groups = Groups(away=True)

    assert await may_order(Person("U1"), ADMINS, groups)
    assert groups.asked == 0
    with pytest.raises(DeliveryFailed):
        await may_order(Person("U2"), ADMINS, groups)


async def test_without_a_way_to_ask_no_group_lets_in() -> None:
    assert not await may_order(Person("U3"), ADMINS)
