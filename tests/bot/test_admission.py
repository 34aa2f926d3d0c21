"""From message to inquiry."""

from __future__ import annotations

from bot.admission import VouchedDirectory, audience_of
from rag.types import EVERYONE, Principal
from tests.builders import message

HR = Principal("group:hr")


def test_a_private_thread_may_read_what_its_asker_may() -> None:
    audience = audience_of(message("pay?", principals=frozenset({HR})))

    assert audience.kind == "private"
    assert audience.principals == {HR, EVERYONE}


def test_a_channel_may_read_what_everyone_may_whoever_asks() -> None:
    audience = audience_of(message("pay?", private=False, principals=frozenset({HR})))

    assert audience.kind == "channel"
    assert audience.principals == {EVERYONE}


async def test_an_unknown_person_is_everyone_and_nobody_more() -> None:
    asked = message("pay?", principals=frozenset())

    assert await VouchedDirectory().principals("default", asked.author) == {EVERYONE}
