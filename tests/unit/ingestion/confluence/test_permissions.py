"""Who may read a page: restrictions and space permissions become readers."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.permissions import (
    group_principal,
    least_readers,
    page_readers,
    readers_meeting_all,
    space_readers,
    user_principal,
)
from ingestion.confluence.wiki import Subjects
from ingestion.errors import SettingInvalid
from rag.types import EVERYONE, Principal

ANYBODY = (frozenset({EVERYONE}),)
ANNS = (frozenset({user_principal("ann")}),)
STAFFS = (frozenset({group_principal("staff")}),)
OPEN = Subjects()
STAFF = Subjects(groups=frozenset({"staff"}))
ANN = Subjects(users=frozenset({"ann"}))
PUBLIC = Subjects(anyone=True)


def test_ids_hold_no_delimiter() -> None:
    assert user_principal("712020:a b,c|d'é") == "user:confluence:712020%3Aa%20b%2Cc%7Cd%27%C3%A9"
    assert group_principal("it admins") == "group:confluence:it%20admins"


def test_no_restriction_means_whoever_may_view_the_space() -> None:
    assert page_readers(STAFF, [OPEN, OPEN]) == STAFFS
    assert page_readers(PUBLIC, [OPEN]) == ANYBODY


def test_every_layer_must_be_met() -> None:
    found = page_readers(STAFF, [ANN, OPEN, Subjects(groups=frozenset({"board"}))])

    assert set(found) == {
        frozenset({group_principal("staff")}),
        frozenset({user_principal("ann")}),
        frozenset({group_principal("board")}),
    }


@pytest.mark.parametrize(
    ("space", "restrictions"),
    [
        pytest.param(None, [OPEN], id="space unknown"),
        pytest.param(OPEN, [OPEN], id="space names nobody"),
        pytest.param(STAFF, [None], id="page unknown"),
        pytest.param(PUBLIC, [OPEN, None], id="a page above unknown"),
    ],
)
def test_a_doubt_means_nobody(
    space: Subjects | None, restrictions: Sequence[Subjects | None]
) -> None:
    assert page_readers(space, restrictions) == ()


def test_a_layer_that_names_everybodys_group_asks_nothing() -> None:
    both = Subjects(users=frozenset({"ann"}), groups=frozenset({"all"}))

    assert page_readers(STAFF, [both], {"all"}) == STAFFS
    assert page_readers(Subjects(groups=frozenset({"all"})), [OPEN], {"all"}) == ANYBODY


def test_a_wider_layer_is_implied_by_a_narrower_one() -> None:
    wide = Subjects(users=frozenset({"ann", "bob"}), groups=frozenset({"staff"}))

    assert page_readers(wide, [ANN, wide]) == ANNS


def test_the_order_of_layers_does_not_matter() -> None:
    assert page_readers(STAFF, [ANN, PUBLIC]) == page_readers(STAFF, [PUBLIC, ANN, OPEN])


def test_nobody_for_one_is_nobody_for_all() -> None:
    assert readers_meeting_all(ANYBODY, ()) == ()
    assert readers_meeting_all(ANNS, ANYBODY) == ANNS


names = st.sampled_from([Principal(name) for name in ("user:a", "user:b", "group:c", "everyone")])
sets = st.lists(st.frozensets(names, min_size=1), min_size=1, max_size=5)


@given(sets, st.frozensets(names))
def test_fewer_sets_ask_the_same(
    asked: list[frozenset[Principal]], who: frozenset[Principal]
) -> None:
    asker = {*who, EVERYONE}

    assert all(one & asker for one in least_readers(asked)) == all(one & asker for one in asked)


subjects = st.builds(
    Subjects,
    users=st.frozensets(st.sampled_from("ab")),
    groups=st.frozensets(st.sampled_from("gh")),
    anyone=st.just(value=False),
)


@given(
    subjects,
    st.lists(subjects, max_size=4),
    st.frozensets(st.sampled_from("gh"), max_size=1),
    st.sampled_from("abc"),
    st.frozensets(st.sampled_from("gh")),
)
def test_who_meets_the_readers_is_named_at_every_layer(
    space: Subjects,
    layers: list[Subjects],
    everyone: frozenset[str],
    who: str,
    groups: frozenset[str],
) -> None:
    def named(layer: Subjects) -> bool:
        return who in layer.users or not layer.groups.isdisjoint(groups | everyone)

    may = not space.empty and all(named(one) for one in (space, *layers) if not one.empty)
    random.Random(0).shuffle(layers)  # noqa: S311 - no secret
    readers = page_readers(space, layers, everyone)
    asker = {EVERYONE, user_principal(who), *map(group_principal, groups)}

    assert (bool(readers) and all(one & asker for one in readers)) == may


def test_the_setting_names_readers_by_space() -> None:
    assert space_readers("IT=group:it staff, user:ann; HR=everyone ;") == {
        "IT": Subjects(users=frozenset({"ann"}), groups=frozenset({"it staff"})),
        "HR": Subjects(anyone=True),
    }
    assert space_readers("") == {}


@pytest.mark.parametrize("wrong", ["IT", "IT=", "IT=staff", "IT=group:", "=everyone", "IT=,"])
def test_a_setting_that_is_not_understood_is_refused_with_the_cure(wrong: str) -> None:
    with pytest.raises(SettingInvalid, match="Write KEY=group:NAME"):
        space_readers(wrong)
