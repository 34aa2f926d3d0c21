"""Who asks, as their platform vouches for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from bot.answering.asker_identity import AskerIdentification, IdentifiedAsker
from bot.domain.errors import AskerUnknown, DeliveryFailed
from bot.domain.messages import Introduction, Message, Person, Refusal
from bot.store.database import Store
from rag.types import EVERYONE, Principal
from tests.builders import message

ANNA = Person(
    "anna", "Anna Lopez", "anna@acme.example", frozenset({EVERYONE, Principal("user:anna")})
)
GUEST = Person("gil", "Gil Guest", outsider="guest")
FAQ = frozenset({"FAQ"})


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
    store: Store, registrar: Registrar, open_spaces: frozenset[str] = frozenset()
) -> AskerIdentification:
    return AskerIdentification(
        {"slack": registrar}, open_spaces={"slack": open_spaces}, notes=store.notes
    )


async def test_a_colleague_is_who_their_platform_says(store: Store) -> None:
    told = await introductions(store, Registrar()).of(asked())

    assert told == IdentifiedAsker(ANNA, recorded=ANNA)


async def test_a_platform_that_introduces_nobody_is_believed_as_the_message_says(
    store: Store,
) -> None:
    on_the_web = message("pay?")

    told = await introductions(store, Registrar()).of(on_the_web)

    assert told == IdentifiedAsker(on_the_web.author)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("author", [ANNA, GUEST])
async def test_where_outsiders_ask_or_read_only_their_spaces_are_open(
    store: Store, author: Person
) -> None:
    registrar = Registrar(Introduction(author, outsiders=True))

    told = await introductions(store, registrar, FAQ).of(asked())

    assert isinstance(told, IdentifiedAsker)
    assert told.author == replace(author, principals=frozenset({EVERYONE}))
    assert (told.open, told.spaces) == (False, FAQ)
    assert told.recorded == told.author
    assert "FAQ" in told.notes[0]


@pytest.mark.mended(id="slack-2")
async def test_a_stranger_and_a_colleague_beside_one_are_told_differently(store: Store) -> None:
    texts = set()
    for number, author in enumerate((ANNA, GUEST)):
        await store.work.open(asked(message_id=f"m{number}"), "me")
        shut = introductions(store, Registrar(Introduction(author, outsiders=True)))
        told = await shut.of(asked(message_id=f"m{number}"))
        assert isinstance(told, Refusal)
        texts.add(told.text)

    assert len(texts) == len((ANNA, GUEST))


async def test_what_was_overheard_is_not_the_one_time_that_somebody_is_told(store: Store) -> None:
    shut = introductions(store, Registrar(Introduction(GUEST, outsiders=True)))
    overheard, addressed = replace(asked(), overheard=True), asked(message_id="m2")
    for each in (overheard, addressed):
        await store.work.open(each, "me")
        refusal = await shut.of(each)

    assert isinstance(refusal, Refusal)
    assert not refusal.silent


async def test_where_outsiders_are_not_answered_each_person_is_told_once(store: Store) -> None:
    shut = introductions(store, Registrar(Introduction(ANNA, outsiders=True)))
    later = asked(message_id="m2")
    elsewhere = message("pay?", platform="slack", channel="C2", private=False)
    for each in (asked(), later, elsewhere):
        await store.work.open(each, "me")

    refusals = [await shut.of(each) for each in (asked(), asked(), later, elsewhere)]

    assert all(isinstance(each, Refusal) and each.note == "outsiders" for each in refusals)
    silent = [each.silent for each in refusals if isinstance(each, Refusal)]
    assert silent == [False, False, True, False]


async def test_a_colleague_is_answered_from_more_than_outsiders_are(store: Store) -> None:
    told = await introductions(store, Registrar(), FAQ).of(asked())

    assert told == IdentifiedAsker(ANNA, recorded=ANNA)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("open_spaces", [frozenset[str](), FAQ])
async def test_while_it_is_not_known_who_reads_along_nobody_is_introduced(
    store: Store, open_spaces: frozenset[str], *, private: bool
) -> None:
    with pytest.raises(AskerUnknown):
        await introductions(store, Registrar(None), open_spaces).of(asked(private=private))
