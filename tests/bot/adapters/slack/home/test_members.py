"""What users.info tells of somebody."""

from __future__ import annotations

from typing import Any

import pytest

from bot.platforms.slack.workspace.members import HomeWorkspace, member_of

HOME = HomeWorkspace("T0TEAM000")


def user(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    profile = {"real_name": " Ann   Example ", "email": "ANN@acme.example"}
    return {"id": "U1", "team_id": "T0TEAM000", "profile": profile, **changes}


def test_a_name_is_one_line_and_an_address_in_small_letters() -> None:
    member = member_of(user(), HOME)

    assert (member.name, member.email, member.colleague) == (
        "Ann Example",
        "ann@acme.example",
        True,
    )


@pytest.mark.parametrize(
    "profile", [{}, {"email": "ann"}, {"email": "@acme.example"}, {"email": "a b@acme.example"}]
)
def test_what_is_no_address_is_none(profile: dict[str, str]) -> None:
    assert member_of(user(profile=profile), HOME).email is None


def test_an_address_that_nobody_confirmed_is_none() -> None:
    assert member_of(user(is_email_confirmed=False), HOME).email is None
    assert member_of(user(is_email_confirmed=True), HOME).email == "ann@acme.example"


def test_an_organisation_s_people_are_at_home_in_all_its_workspaces() -> None:
    ann = user(team_id="T0ELSE000", enterprise_user={"enterprise_id": "E0ORG0000"})

    assert member_of(ann, HomeWorkspace("E0ORG0000")).colleague
    assert not member_of(ann, HOME).colleague
    assert not member_of(user(team_id=""), HomeWorkspace("")).colleague


@pytest.mark.parametrize("odd", [{}, {"id": 1, "profile": [], "enterprise_user": "x"}])
def test_odd_answers_make_nobody_a_colleague(odd: dict[str, Any]) -> None:
    assert not member_of(odd, HOME).colleague
