"""Tests of names for people without one."""

from __future__ import annotations

import pytest

from bot.domain.users import short_actor_name


@pytest.mark.parametrize(
    ("actor", "shown"),
    [
        ("board:visitor-325aee8b5014c3252413fe35", "Visitor 325aee"),
        ("board:Ines", "Ines"),
        ("cli:anna", "cli:anna"),
        ("demo-tomas", "demo-tomas"),
        ("visitor-325aee8b5014c3252413fe35", "Visitor 325aee"),
    ],
)
def test_who_did_an_act_is_short_enough_to_read(actor: str, shown: str) -> None:
    assert short_actor_name(actor) == shown
