"""Where the parts of a reply are: known here at once, known everywhere once they are several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.chat.adapters import NullNotes
from bot.domain.messages import Message, Person, Thread
from bot.platforms.teams.messages import replies as module
from bot.platforms.teams.messages.replies import REPLY, PostedActivities
from bot.store.database import Store, unopened
from tests.builders import NOON

THREAD = Thread("teams", "acme", "19:help@thread.tacv2", "1")
MESSAGE = Message("1", THREAD, Person("alice-object-id"), "vpn?", NOON)


async def test_a_single_part_is_remembered_and_not_noted(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here = PostedActivities(store.notes)
    await here.keep(MESSAGE, REPLY, ["a"], several=False)
    assert await here.of(MESSAGE, REPLY, several=False) == ("a",)
    assert await here.all_of(MESSAGE) == ("a",)
    assert await PostedActivities(store.notes).all_of(MESSAGE) == ()


async def test_several_parts_are_known_to_every_process_in_their_order(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here, there = PostedActivities(store.notes), PostedActivities(store.notes)
    for posted in (["b"], ["b", "a"]):
        await here.keep(MESSAGE, REPLY, posted, several=True)
    assert await there.of(MESSAGE, REPLY, several=True) == ("b", "a")
    assert await there.question_of("acme", THREAD.channel, "a") == MESSAGE.interaction_id
    assert await there.question_of("acme", "another", "a") is None
    assert await there.question_of("another", THREAD.channel, "a") is None


async def test_replies_and_notices_of_one_question_are_found_together(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here = PostedActivities(store.notes)
    await here.keep(MESSAGE, REPLY, ["a"], several=False)
    await PostedActivities(store.notes).keep(MESSAGE, "notice-1", ["b", "c"], several=True)
    other = replace(MESSAGE, id="2")
    await here.keep(other, REPLY, ["d"], several=False)
    assert await here.all_of(MESSAGE) == ("a", "b", "c")
    assert await here.of(MESSAGE, "notice-2", several=True) == ()


async def test_what_can_not_be_noted_is_known_here_all_the_same(tmp_path: Path) -> None:
    away = unopened(f"sqlite+aiosqlite:///{tmp_path}/nowhere/frontdesk.sqlite")
    here = PostedActivities(away.notes)
    await here.keep(MESSAGE, REPLY, ["a", "b"], several=True)
    assert await here.of(MESSAGE, REPLY, several=True) == ("a", "b")
    await away.close()


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    here = PostedActivities(NullNotes())
    for name in "123":
        await here.keep(replace(MESSAGE, id=name), REPLY, [name], several=False)
    known = [await here.all_of(replace(MESSAGE, id=name)) for name in "123"]
    assert known == [(), ("2",), ("3",)]
