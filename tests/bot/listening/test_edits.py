"""Edits are taken in the order of their times, from who asked, on any platform."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.chat.adapters import ChatContext
from bot.chat.messages import MessageEdits
from bot.domain.messages import Attachment, Message, Person, Thread
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.offices import office_over

FILE = Attachment("vpn.log", "text/plain", 3, "here")
ASKED = Message(
    id="1.1",
    thread=Thread("elsewhere", "default", "C1", "1.1"),
    author=Person("alice"),
    text="vpn?",
    received_at=datetime(2026, 11, 21, tzinfo=UTC),
)


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


@pytest.fixture
async def office(store: Store, inbox: KeepingInbox) -> ChatContext:
    await store.work.open(ASKED, "owner")
    await inbox.accept(ASKED)
    return office_over(store, inbox)


def reads(text: str, **changes: object) -> Message:
    return replace(ASKED, text=text, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "stands"),
    [
        (("10.000001", "10.000002"), "second"),
        (("10.000002", "10.000001"), "first"),
        (("9.9", "10.1"), "second"),
        (("10.5", "10.25"), "first"),
        (("10.5", "10.5"), "first"),
        (("10.5", ""), "second"),
    ],
)
async def test_the_newest_stands_whichever_comes_first(
    office: ChatContext, inbox: KeepingInbox, times: tuple[str, str], stands: str
) -> None:
    edits = MessageEdits(office)
    for text, at in zip(("first", "second"), times, strict=True):
        await edits.amend(reads(text), at)

    assert inbox.only.text == stands


async def test_another_process_knows_what_was_edited_last(
    office: ChatContext, inbox: KeepingInbox
) -> None:
    await MessageEdits(office).amend(reads("newer"), "11")
    await MessageEdits(office).amend(reads("older"), "10")

    assert inbox.only.text == "newer"
    assert await office.notes.get("default", f"elsewhere:edited:{ASKED.interaction_id}") == "11"


async def test_an_older_edit_still_brings_its_files(
    office: ChatContext, inbox: KeepingInbox
) -> None:
    await MessageEdits(office).amend(reads("newer"), "11")
    await MessageEdits(office).amend(reads("older", attachments=(FILE,)), "10")

    assert inbox.only.attachments == (FILE,)


async def test_an_edit_by_somebody_else_counts_for_nothing(
    office: ChatContext, inbox: KeepingInbox
) -> None:
    await MessageEdits(office).amend(reads("theirs", author=Person("eve")), "12")
    await MessageEdits(office).amend(reads("mine"), "11")

    assert inbox.only.text == "mine"
