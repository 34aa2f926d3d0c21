"""Who asks, as their platform vouches for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from bot.errors import DeliveryFailed
from bot.introductions import Introduced, Introductions
from bot.store import Store
from bot.types import Introduction, Message, Person, Refusal
from rag.types import EVERYONE, Principal
from tests.builders import message

ANNA = Person(
    "anna", "Anna Lopez", "anna@acme.example", frozenset({EVERYONE, Principal("user:anna")})
)
SLACK = frozenset({"slack"})


@dataclass
class Registrar:
    """Introduces everyone as it is told to, or fails."""

    introduction: Introduction | None = field(default_factory=lambda: Introduction(ANNA))

    async def introduce(self, message: Message) -> Introduction:
        if self.introduction is None:
            raise DeliveryFailed("Slack is away.")
        return self.introduction


def asked(text: str = "pay?", message_id: str = "m1", *, private: bool = False) -> Message:
    return message(text, message_id=message_id, platform="slack", channel="C1", private=private)


def introductions(
    store: Store, registrar: Registrar, closed: frozenset[str] = frozenset()
) -> Introductions:
    return Introductions({"slack": registrar}, closed=closed, notes=store.notes)


async def test_a_colleague_is_who_their_platform_says(store: Store) -> None:
    told = await introductions(store, Registrar()).of(asked())

    assert told == Introduced(ANNA, recorded=ANNA)


async def test_a_platform_that_introduces_nobody_is_believed_as_the_message_says(
    store: Store,
) -> None:
    on_the_web = message("pay?")

    told = await introductions(store, Registrar()).of(on_the_web)

    assert told == Introduced(on_the_web.author)


async def test_whom_nobody_vouches_for_is_everyone_and_that_is_noted(store: Store) -> None:
    claiming = replace(asked(), author=ANNA)

    told = await introductions(store, Registrar(None)).of(claiming)

    assert isinstance(told, Introduced)
    assert told.author.principals == {EVERYONE}
    assert told.author.email is None
    assert not told.open
    assert told.recorded is None
    assert told.notes[0].startswith("the platform did not say who asks")


async def test_where_outsiders_read_along_nobody_is_more_than_everyone(store: Store) -> None:
    registrar = Registrar(Introduction(ANNA, outsiders=True))

    told = await introductions(store, registrar).of(asked())

    assert isinstance(told, Introduced)
    assert told.author == replace(ANNA, principals=frozenset({EVERYONE}))
    assert not told.open
    assert told.recorded == told.author


async def test_where_outsiders_are_not_answered_each_person_is_told_once(store: Store) -> None:
    shut = introductions(store, Registrar(Introduction(ANNA, outsiders=True)), SLACK)
    later = asked(message_id="m2")
    elsewhere = message("pay?", platform="slack", channel="C2", private=False)
    for each in (asked(), later, elsewhere):
        await store.work.open(each, "me")

    refusals = [await shut.of(each) for each in (asked(), asked(), later, elsewhere)]

    assert all(isinstance(each, Refusal) and each.note == "outsiders" for each in refusals)
    silent = [each.silent for each in refusals if isinstance(each, Refusal)]
    assert silent == [False, False, True, False]


async def test_a_colleague_is_answered_where_outsiders_would_not_be(store: Store) -> None:
    assert await introductions(store, Registrar(), SLACK).of(asked()) == Introduced(
        ANNA, recorded=ANNA
    )


@pytest.mark.parametrize("private", [True, False])
async def test_who_reads_along_unknown_is_refused_where_outsiders_are_not_answered(
    store: Store, *, private: bool
) -> None:
    told = await introductions(store, Registrar(None), SLACK).of(asked(private=private))

    assert isinstance(told, Refusal)
    assert "in a minute" in told.text
    assert not told.silent
