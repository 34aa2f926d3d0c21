"""What the members API tells of somebody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.messages import Person
from bot.platforms.teams.tenant.members import HomeTenant, member_of
from rag.types import EVERYONE, Principal

TENANT = "99999999-8888-7777-6666-555555555555"
HOME = HomeTenant(TENANT)
PLAYGROUND = HomeTenant(None)


def told(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    ann = {
        "id": "29:ann",
        "name": "  Ann   Example ",
        "aadObjectId": "ann-object-id",
        "email": "the.boss@acme.example",
        "userPrincipalName": "ANN@acme.example",
        "tenantId": TENANT,
        "userRole": "user",
    }
    return {key: value for key, value in {**ann, **changes}.items() if value is not None}


def test_a_colleague_is_known_by_object_id_and_by_the_name_that_they_sign_in_with() -> None:
    member = member_of(told(), HOME)

    principals = frozenset({EVERYONE, Principal("user:ann@acme.example")})
    assert member.person == Person("ann-object-id", "Ann Example", "ann@acme.example", principals)
    assert (member.colleague, member.person.outsider) == (True, "")


def test_lists_of_members_name_the_object_id_otherwise() -> None:
    member = member_of(told(aadObjectId=None, objectId="ann-object-id"), HOME)

    assert (member.person.id, member.colleague) == ("ann-object-id", True)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("changes", "outsider"),
    [
        ({"userRole": "guest"}, "guest"),
        ({"userRole": "Anonymous", "aadObjectId": None, "userPrincipalName": None}, "guest"),
        ({"userPrincipalName": "ann_partner.example#EXT#@acme.onmicrosoft.com"}, "guest"),
        ({"tenantId": "77777777-8888-7777-6666-555555555555"}, "other company"),
        ({"tenantId": None}, "not a colleague"),
        ({"aadObjectId": None}, "not a colleague"),
        ({"userPrincipalName": None}, "not a colleague"),
        ({"userPrincipalName": None, "userPrincipleName": "ann@acme.example"}, "not a colleague"),
        ({"userPrincipalName": "ann"}, "not a colleague"),
        ({"userPrincipalName": "@acme.example"}, "not a colleague"),
        ({"userPrincipalName": "a nn@acme.example"}, "not a colleague"),
        ({"userPrincipalName": ["ann@acme.example"], "tenantId": {}}, "not a colleague"),
    ],
)
def test_everybody_else_has_no_address_and_reads_what_everyone_may(
    changes: dict[str, Any], outsider: str
) -> None:
    member = member_of(told(**changes), HOME)

    assert (member.colleague, member.person.outsider) == (False, outsider)
    assert (member.person.email, member.person.principals) == (None, frozenset({EVERYONE}))


def test_the_letters_of_a_tenant_may_be_large() -> None:
    home = HomeTenant("AAAAAAAA-8888-7777-6666-555555555555")

    assert member_of(told(tenantId="aaaaaaaa-8888-7777-6666-555555555555"), home).colleague


@pytest.mark.parametrize(
    ("domains", "colleague"),
    [({"acme.example"}, True), ({"sub.acme.example"}, False), ({"example"}, False)],
)
def test_where_domains_are_named_a_colleague_signs_in_with_one(
    *, domains: set[str], colleague: bool
) -> None:
    assert member_of(told(), HomeTenant(TENANT, frozenset(domains))).colleague is colleague


@pytest.mark.parametrize(
    "changes",
    [
        {"tenantId": "00000000-0000-0000-0000-0000000000001"},
        {"tenantId": None, "userPrincipalName": None, "userPrincipleName": "ann@acme.example"},
    ],
)
def test_whoever_is_in_the_playground_is_a_colleague(changes: dict[str, Any]) -> None:
    assert member_of(told(**changes), PLAYGROUND).person.email == "ann@acme.example"
    assert not member_of(told(**changes, userRole="guest"), PLAYGROUND).colleague


JSON = st.none() | st.integers() | st.text() | st.sampled_from([TENANT, "user", "a@b", [], {}])
FIELDS = st.sampled_from([*told(), "objectId", "userPrincipleName"])


@given(st.dictionaries(FIELDS, JSON))
def test_what_is_missing_or_odd_makes_nobody_a_colleague(odd: dict[str, Any]) -> None:
    member = member_of(odd, HOME)

    if member.colleague:
        assert odd["tenantId"] == TENANT
        assert odd["userPrincipalName"].strip().lower() == member.person.email
        assert member.person.id in {odd.get("aadObjectId"), odd.get("objectId")}
    else:
        assert member.person.principals == {EVERYONE}
