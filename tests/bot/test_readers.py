"""What people may read: in a channel what everyone may, else as far as Slack vouches for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.answering.admission import VouchedDirectory
from bot.answering.asker_identity import EVERYONE_PRINCIPALS, READS_NOTHING, Reader, ReaderLookup
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Introduction, Message, Person
from bot.domain.ports import Directory
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


def readers(known: Known, *open_spaces: str, directory: Directory | None = None) -> ReaderLookup:
    return ReaderLookup(known, directory or VouchedDirectory(), open_spaces=open_spaces)


async def test_in_private_the_asker_may_read_their_own() -> None:
    assert await readers(Known(), "FAQ").of_thread(question(private=True)) == Reader(HERS)


async def test_in_a_channel_everyone_reads_along() -> None:
    assert await readers(Known(), "FAQ").of_thread(question()) == Reader(EVERYONE_PRINCIPALS)
    assert await readers(Known(), "FAQ").of_asker(question()) == Reader(HERS)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("open_spaces", [(), ("FAQ",)])
async def test_where_outsiders_read_nothing_but_their_spaces_is_open(
    open_spaces: tuple[str, ...],
) -> None:
    shared = readers(Known(outsiders=True), *open_spaces)
    theirs = Reader(EVERYONE_PRINCIPALS, frozenset(open_spaces))
    assert await shared.of_asker(question()) == theirs
    assert await shared.of_thread(question()) == theirs
    assert await shared.of_thread(question(private=True)) == theirs


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize("private", [True, False])
async def test_while_slack_does_not_tell_nothing_is_open(*, private: bool) -> None:
    away = readers(Known(away=True), "FAQ")
    assert await away.of_thread(question(private=private)) == READS_NOTHING
    with pytest.raises(DeliveryFailed):
        await away.of_asker(question())


class InConfluence:
    """Implements Directory: everybody has an account there."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return person.principals | {Principal(f"user:confluence:{tenant}")}


async def test_the_directory_says_what_the_asker_may_read_and_of_outsiders_it_is_not_asked() -> (
    None
):
    asked = question(private=True)
    account = Principal(f"user:confluence:{asked.thread.tenant}")
    known = readers(Known(), directory=InConfluence())
    shared = readers(Known(outsiders=True), directory=InConfluence())
    assert (await known.of_asker(asked)).principals == HERS | {account}
    assert (await shared.of_asker(asked)).principals == EVERYONE_PRINCIPALS
    assert (await known.of_thread(question())).principals == EVERYONE_PRINCIPALS
