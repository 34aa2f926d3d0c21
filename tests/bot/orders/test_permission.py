from __future__ import annotations

import pytest

from bot.chat.commands.executor import is_admin, parse_admins, refusal_text
from bot.chat.commands.types import Admins
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Person
from rag.types import EVERYONE, Principal
from tests.bot.orders.fakes import Groups

ADMINS = parse_admins(
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
    assert await is_admin(person, ADMINS, Groups(("U3", "S1"))) is may


async def test_with_nobody_named_nobody_may_and_the_setting_is_told() -> None:
    nobody = Admins("SLACK_ADMINS")

    assert not await is_admin(Person("U1", email="a@b.example"), nobody, Groups(("U1", "S1")))
    assert "SLACK_ADMINS names nobody" in refusal_text(nobody)
    assert "add you to X" in refusal_text(ADMINS)


async def test_a_group_is_asked_only_for_those_who_are_not_named() -> None:
    groups = Groups(away=True)

    assert await is_admin(Person("U1"), ADMINS, groups)
    assert groups.asked == 0
    with pytest.raises(DeliveryFailed):
        await is_admin(Person("U2"), ADMINS, groups)


async def test_without_a_way_to_ask_no_group_lets_in() -> None:
    assert not await is_admin(Person("U3"), ADMINS)
