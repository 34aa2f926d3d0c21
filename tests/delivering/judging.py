"""What stands in the conversations, and in the record, held against what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.domain.interactions import Interaction
from bot.domain.messages import Message, Person, Platform, Thread
from bot.store.database import open_store, sqlite_url
from tests.delivering.post import Asked, Post, Sending

PATIENCE_SECONDS = 120.0
TENANT = "default"
_LOOK_SECONDS = 0.5

Answers = Mapping[str, Sequence[str]]
"""What stands in the conversations for each question, by its mark."""


@dataclass(frozen=True)
class Verdict:
    """The questions about which a promise was broken, by promise."""

    lost: list[str]
    twice: list[str]
    not_withdrawn: list[str]
    not_amended: list[str]
    not_forgotten: list[str]
    unfinished: int


KEPT = Verdict([], [], [], [], [], 0)
"""What is to come of every run."""


@dataclass(frozen=True)
class Run:
    """One run: its verdict, and how much happened.

    On a platform that can't be asked what was posted: ``orphans`` say that a question is worked on,
    and stay though that is over; ``repeated`` are answers that stand there again and say so, and
    later parts; ``unknown`` is how many posts nobody can have seen arrive, at most.
    """

    verdict: Verdict
    events: int
    questions: int
    deliveries: int
    refused: int
    deaths: int
    answered_as_edited: int
    seconds: float
    orphans: int = 0
    repeated: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Record:
    """What is kept of each question, by its mark, and how much work is left."""

    kept: Mapping[str, Interaction]
    unfinished: int


async def settled(answers: Callable[[], Answers], asked: Sequence[Asked]) -> None:
    """Wait until all is as it should be, or for so long that it never will."""

    def is_settled() -> bool:
        seen = answers()
        return all((each.mark in seen) is not each.deleted for each in asked)

    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_settled():  # noqa: ASYNC110 - it happens in another process
                await asyncio.sleep(_LOOK_SECONDS)


async def recorded(data_dir: Path, platform: Platform, asked: Sequence[Asked]) -> Record:
    store = await open_store(sqlite_url(data_dir))
    try:
        kept = {}
        for each in asked:
            place = Thread(platform, TENANT, each.channel, each.thread)
            named = Message(each.message_id, place, Person(""), "", datetime.now(UTC))
            if (found := await store.work.get(named.interaction_id)) is not None:
                kept[each.mark] = found
        return Record(kept, len(await store.work.unfinished()))
    finally:
        await store.close()


def judged(seen: Answers, sendings: Sequence[Sending], post: Post, record: Record) -> Verdict:
    edits = {each.asked.mark: post.taken[id(each)] for each in sendings if each.edits}
    asked = list({each.asked.mark: each.asked for each in sendings}.values())

    def amended(one: Asked) -> bool:
        """An edit that was acknowledged before there was an answer must be what is answered."""
        answered = record.kept[one.mark].finished_at
        in_time = answered is not None and edits[one.mark] < answered
        return not in_time or "second" in "".join(seen.get(one.mark, ["second"]))

    stay = [one for one in asked if not one.deleted]
    gone = [one for one in asked if one.deleted]
    return Verdict(
        lost=[one.mark for one in stay if one.mark not in seen],
        twice=[mark for mark, shown in seen.items() if len(shown) > 1],
        not_withdrawn=[one.mark for one in gone if one.mark in seen],
        not_amended=[one.mark for one in stay if one.edited and not amended(one)],
        not_forgotten=[one.mark for one in gone if record.kept[one.mark].message.text],
        unfinished=record.unfinished,
    )


def as_edited(seen: Answers) -> int:
    """Return how many questions were answered as they read later."""
    return sum("second" in "".join(shown) for shown in seen.values())
