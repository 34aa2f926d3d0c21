"""The list of conversations."""

from __future__ import annotations

from datetime import timedelta

from bot.store.database import Store
from tests.bot.store.filled import add_conversation
from tests.builders import NOON, message


async def test_the_last_written_to_comes_first(store: Store) -> None:
    await add_conversation(store, "old", last_at=NOON - timedelta(hours=1))
    await add_conversation(store, "new", last_at=NOON + timedelta(hours=1))
    await add_conversation(store, "mine", tenant="other")

    listed = await store.conversations.newest("default", 10)

    assert [each.thread for each in listed] == ["new", "old"]


async def test_pages_of_one_moment_leave_nothing_out_and_repeat_nothing(store: Store) -> None:
    names = [f"t{number}" for number in range(7)]
    for name in names:
        await add_conversation(store, name)

    page = await store.conversations.newest("default", 3)
    seen = [each.thread for each in page]
    while page:
        page = await store.conversations.newest("default", 3, after=page[-1])
        seen += [each.thread for each in page]

    assert seen == sorted(names, reverse=True)


async def test_a_message_makes_a_conversation_and_the_next_one_renews_it(store: Store) -> None:
    await store.work.open(message("hi", channel="anna"), "me")
    (first,) = await store.conversations.newest("default", 10)
    await store.work.open(message("and?", message_id="m2", channel="anna"), "me")
    (second,) = await store.conversations.newest("default", 10)

    assert (first.thread, first.channel) == (message("hi").thread.key, "web:anna")
    assert first.private
    assert second.started_at == first.started_at
    assert second.last_at > first.last_at
