"""Tests of files that come with a question: kept with it, and not longer than it is unanswered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Interaction
from bot.domain.messages import Attachment, Message, Platform, sent_along
from bot.store.database import Store
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import message
from tests.fakes.record_rows import rows

LOG = b"Error 809 \x00 canary"


def with_files(*contents: bytes, platform: Platform = "web") -> Message:
    files = [
        Attachment(f"{place}.log", "text/plain", len(content), sent_along(content))
        for place, content in enumerate(contents)
    ]
    return replace(message("why?", platform=platform), attachments=tuple(files))


async def opened(store: Store, asked: Message) -> Interaction:
    interaction = await store.work.open(asked, "me")
    assert interaction.claim is not None
    return interaction


async def test_a_file_is_kept_beside_the_message_and_handed_out(store: Store, url: str) -> None:
    asked = await opened(store, with_files(b"first", LOG))
    first, second = asked.message.attachments

    assert await store.files.fetch(first, most=100) == b"first"
    assert await store.files.fetch(second, most=100) == LOG
    [(stored,)] = rows(url, "SELECT message FROM interactions")
    assert sent_along(LOG) not in str(stored)


async def test_a_file_above_the_limit_is_not_handed_out(store: Store) -> None:
    asked = await opened(store, with_files(LOG))

    with pytest.raises(DeliveryFailed):
        await store.files.fetch(asked.message.attachments[0], most=len(LOG) - 1)


@pytest.mark.parametrize(
    "place", ["", "https://x.example/", "record:", "record:x:-1", "record:x:9"]
)
async def test_what_was_not_kept_is_not_handed_out(store: Store, place: str) -> None:
    with pytest.raises(DeliveryFailed):
        await store.files.fetch(Attachment("a.log", "", 0, place), most=100)


async def test_the_same_message_twice_keeps_its_file_once(store: Store, url: str) -> None:
    await opened(store, with_files(LOG))
    await store.work.open(with_files(b"other"), "me")

    assert rows(url, "SELECT content FROM question_files") == [(LOG,)]


@pytest.mark.parametrize("platform", ["slack", "teams"])
async def test_other_platforms_files_are_where_they_were(
    store: Store, url: str, platform: Platform
) -> None:
    await opened(store, with_files(LOG, platform=platform))

    assert rows(url, "SELECT * FROM question_files") == []


async def test_an_edit_of_the_words_leaves_the_file(store: Store) -> None:
    asked = await opened(store, with_files(LOG))
    await store.work.amend(replace(asked.message, text="why now?", attachments=()))
    again = await store.work.get(asked.id)

    assert again is not None
    assert await store.files.fetch(again.message.attachments[0], most=100) == LOG


async def test_a_file_is_gone_once_its_question_is_answered(store: Store, url: str) -> None:
    asked = await opened(store, with_files(LOG))

    await store.work.close(asked, generic_outcome("So."), last=True)

    assert rows(url, "SELECT * FROM question_files") == []
    kept = await store.work.get(asked.id)
    assert kept is not None
    assert [(each.name, each.place) for each in kept.message.attachments] == [("0.log", "")]


async def test_a_file_is_gone_once_its_question_is_withdrawn(store: Store, url: str) -> None:
    asked = await opened(store, with_files(LOG))

    await store.work.cancel(asked.id)

    assert rows(url, "SELECT * FROM question_files") == []
