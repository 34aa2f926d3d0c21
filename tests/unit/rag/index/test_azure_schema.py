"""The fields and the filter let in whom the readers let in, and never anybody else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index.azure.schema import EVERY, NOBODY, READER_FIELDS, readable_by, reader_fields
from rag.types import EVERYONE, Principal, Readers, minimal_readers

NAMES = [Principal(name) for name in ("user:a", "user:b", "group:c", "group:d")]
sets = st.lists(st.frozensets(st.sampled_from(NAMES)), max_size=6)


@given(sets, st.frozensets(st.sampled_from(NAMES)))
def test_the_least_sets_let_in_the_same_people(
    readers: list[frozenset[Principal]], asker: frozenset[Principal]
) -> None:
    assert all(one & asker for one in minimal_readers(readers)) == all(
        one & asker for one in readers
    )


@given(sets)
def test_none_of_them_implies_another_and_their_order_is_their_own(
    readers: list[frozenset[Principal]],
) -> None:
    found = minimal_readers(readers)

    assert not any(one <= other for one in found for other in found if one is not other)
    assert found == minimal_readers(reversed(readers))


def test_nobody_stays_alone() -> None:
    assert minimal_readers([frozenset(NAMES), frozenset()]) == [frozenset()]


ANN, BOB, EVE = (Principal(f"user:confluence:{name}") for name in ("ann", "bob", "eve"))
PRINCIPALS = st.one_of(
    st.sampled_from([EVERYONE, ANN, BOB, EVE, Principal("group:confluence:it")]),
    st.text(max_size=4).map(Principal),
    st.sampled_from(["*", "!", "%", "|", "a|b", "", "'", "%7C", " ", "user:*"]).map(Principal),
)
SETS = st.frozensets(PRINCIPALS, max_size=3)
_CONDITION = re.compile(r"(\w+)/any\(p: search\.in\(p, '([^']*)', '\|'\)\)")


def finds(readers: Readers, principals: frozenset[Principal]) -> bool:
    """What the service makes of it: each condition of the filter against the document's field."""
    fields = reader_fields(readers)
    conditions = _CONDITION.findall(readable_by(principals))
    assert [name for name, _ in conditions] == list(READER_FIELDS)
    return all(set(fields[name]) & set(listed.split("|")) for name, listed in conditions)


def allowed(readers: Readers, principals: frozenset[Principal]) -> bool:
    return bool(readers) and all(names & principals for names in readers)


@given(st.lists(SETS, max_size=5).map(tuple), st.frozensets(PRINCIPALS, min_size=1, max_size=4))
def test_up_to_five_sets_let_in_exactly_whom_they_name(
    readers: Readers, principals: frozenset[Principal]
) -> None:
    assert finds(readers, principals) == allowed(readers, principals)


@given(st.lists(SETS, max_size=9).map(tuple), st.frozensets(PRINCIPALS, min_size=1, max_size=4))
def test_any_number_of_sets_never_lets_in_anybody_else(
    readers: Readers, principals: frozenset[Principal]
) -> None:
    assert allowed(readers, principals) or not finds(readers, principals)


USERS = [Principal(f"user:{number}") for number in range(12)]


@given(
    st.lists(st.frozensets(st.sampled_from(USERS), min_size=8), min_size=6, max_size=9).map(tuple),
    st.sampled_from(USERS),
)
def test_sets_of_people_alone_are_exact_however_many_they_are(
    readers: Readers, user: Principal
) -> None:
    principals = frozenset({user, EVERYONE})

    assert finds(readers, principals) == allowed(readers, principals)


def test_sets_that_smaller_ones_imply_take_no_field() -> None:
    wide = [frozenset({ANN, Principal(f"group:{number}")}) for number in range(8)]

    assert finds((*wide, frozenset({ANN})), frozenset({ANN}))


def test_six_sets_of_groups_are_for_nobody() -> None:
    groups = [Principal(f"group:{number}") for number in range(6)]
    readers = tuple(frozenset({group}) for group in groups)

    assert reader_fields(readers) == {field: [NOBODY] for field in READER_FIELDS}
    assert not finds(readers, frozenset(groups))


@pytest.mark.parametrize("readers", [(), (frozenset(),), (frozenset({EVERYONE}), frozenset())])
def test_readers_without_anybody_are_for_nobody(readers: Readers) -> None:
    assert not finds(readers, frozenset({EVERYONE, ANN, Principal(NOBODY), Principal(EVERY)}))


def test_fields_that_are_not_needed_are_met_by_every_question() -> None:
    assert reader_fields((frozenset({EVERYONE}),)) == {
        "readers_1": ["everyone"],
        **{field: [EVERY] for field in READER_FIELDS[1:]},
    }


def test_a_question_of_nobody_finds_nothing() -> None:
    assert not finds((frozenset({EVERYONE}),), frozenset())


def test_what_fills_a_field_lets_nobody_in_where_readers_are_named() -> None:
    """A document whose first field is but filled was written by nobody of ours."""
    conditions = dict(_CONDITION.findall(readable_by(frozenset({EVERYONE, ANN}))))

    assert EVERY not in conditions[READER_FIELDS[0]].split("|")
    assert all(EVERY in conditions[field].split("|") for field in READER_FIELDS[1:])
