"""What people may read: in a channel what everyone may, else as far as Slack vouches for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.admission import VouchedDirectory
from bot.errors import DeliveryFailed
from bot.readers import EVERYBODY, Readers
from bot.types import Introduction, Message, Person
from rag.types import EVERYONE, Principal
from tests.bot.adapters.slack.questions import question

HERS = frozenset({EVERYONE, Principal("user:alice@acme.example")})


class Known:
    """Implements Introduces: everybody is Alice, or nobody is known."""

    def __init__(self, *, outsiders: bool = False, away: bool = False) -> None:
        self._outsiders = outsiders
        self._away = away

    async def introduce(self, message: Message) -> Introduction:
        if self._away:
            raise DeliveryFailed("users.info: Slack cannot be reached.")
        person: Person = replace(message.author, principals=HERS)
        return Introduction(person, outsiders=self._outsiders)


async def test_in_private_the_asker_may_read_their_own() -> None:
    assert await Readers(Known(), VouchedDirectory()).of_thread(question(private=True)) == HERS


async def test_in_a_channel_everyone_reads_along() -> None:
    assert await Readers(Known(), VouchedDirectory()).of_thread(question()) == EVERYBODY
    assert await Readers(Known(), VouchedDirectory()).of_asker(question()) == HERS


async def test_people_from_outside_may_read_what_everyone_may() -> None:
    readers = Readers(Known(outsiders=True), VouchedDirectory())
    assert await readers.of_asker(question()) == EVERYBODY
    assert await readers.of_thread(question(private=True)) == EVERYBODY


async def test_while_slack_does_not_tell_nobody_is_taken_for_more() -> None:
    readers = Readers(Known(away=True), VouchedDirectory())
    assert await readers.of_thread(question(private=True)) == EVERYBODY
    with pytest.raises(DeliveryFailed):
        await readers.of_asker(question())


class InConfluence:
    """Implements Directory: everybody has an account there."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return person.principals | {Principal(f"user:confluence:{tenant}")}


async def test_the_directory_says_what_the_asker_may_read_and_of_outsiders_it_is_not_asked() -> (
    None
):
    asked = question(private=True)
    account = Principal(f"user:confluence:{asked.thread.tenant}")
    assert await Readers(Known(), InConfluence()).of_asker(asked) == HERS | {account}
    assert await Readers(Known(outsiders=True), InConfluence()).of_asker(asked) == EVERYBODY
    assert await Readers(Known(), InConfluence()).of_thread(question()) == EVERYBODY
