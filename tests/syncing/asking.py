"""Questions of people to an index, held against what they might read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rag.types import EVERYONE, Chunk, Principal, Question
from tests.confluence.prose import title_of
from tests.syncing.follower import TENANT, Follower
from tests.syncing.moments import MARK, Asker
from tests.syncing.world import World

K = 10


@dataclass
class Tally:
    """What was asked and shown. ``stale``: rightly by the last look, no longer by now."""

    queries: int = 0
    shown: int = 0
    stale: int = 0
    leaks: list[str] = field(default_factory=list)


async def ask(world: World, follower: Follower, tally: Tally, times: int) -> None:
    """Let people ask so often; what nobody should have been shown is among ``leaks``."""
    for _ in range(times):
        who = world.asker()
        names = await principals_of(follower, who)
        for chunk in await _found(world, follower, names):
            tally.shown += 1
            if not _right(world, who, chunk):
                tally.leaks.append(_told(who, chunk, "no longer by the last look"))
            if any(not world.moments.told(who, *mark) for mark in _marks(chunk)):
                tally.leaks.append(_told(who, chunk, "never"))
            if not world.site.may_read(who.handle, chunk.page_id, who.everyone):
                tally.stale += 1
        tally.queries += 1


async def principals_of(follower: Follower, who: Asker) -> frozenset[Principal]:
    """Return what the directory says that somebody is, looked up anew."""
    if who.handle is None:
        return frozenset({EVERYONE})
    found = await follower.people.find(who.site.people[who.handle].email)
    return frozenset({EVERYONE}) | (found or frozenset())


async def _found(world: World, follower: Follower, names: frozenset[Principal]) -> Iterable[Chunk]:
    """Ask for a page by its own words, or for anything; half of the time by vectors, too."""
    page, text = world.page(), title_of(world.random)
    if world.random.random() < 0.3:
        return await follower.index.page(TENANT, page.space, page.id, names)
    if world.random.random() < 0.7:
        text = f"{page.title} qx{page.id}v{page.version}qx"
    by_vector = world.random.random() < 0.5
    vector = await follower.embedder.embed_query(text) if by_vector else None
    found = await follower.index.search(Question(text, TENANT, vector), names, K)
    return [passage.chunk for passage in found]


def _right(world: World, who: Asker, chunk: Chunk) -> bool:
    return world.moments.due(who, chunk.space, chunk.page_id.partition("/")[0])


def _marks(chunk: Chunk) -> Iterable[tuple[str, int]]:
    return {(page, int(version)) for page, version in MARK.findall(chunk.text)}


def _told(who: Asker, chunk: Chunk, when: str) -> str:
    marks = sorted(_marks(chunk))
    return f"{who.handle} was shown {chunk.page_id} of {chunk.space} ({marks}), allowed {when}"
