"""The pages behind an explanation, only those that its reader may read now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.text.source_links import public_link
from bot.domain.types import FoundPassage
from bot.escalations.reading import is_open
from rag.types import Chunk

MOST_PAGES = 5

_FOUND = {
    (True, True): "found by its words and by its meaning",
    (True, False): "found by its words",
    (False, True): "found by its meaning",
    (False, False): "read for its context",
}


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page that was read for an answer; ``section`` is that of its best passage, or "".

    ``url`` is an address of this server's own, without a host, where no public one is known.
    ``found`` says how it was found, to follow its title.
    """

    title: str
    section: str
    url: str
    found: str


def pages_read(
    passages: Sequence[FoundPassage], may_read: Mapping[str, Chunk], public_url: str | None
) -> tuple[PageRead, ...]:
    """Return the best pages that may be read, best first, each once.

    ``may_read`` are the passages that may be read, by id, as they are now.
    """
    open_: dict[tuple[str, str], list[FoundPassage]] = {}
    for each in passages:
        if is_open(each, may_read):
            chunk = may_read[each.chunk_id]
            open_.setdefault((chunk.space, chunk.page_id), []).append(each)
    best = list(open_.values())[:MOST_PAGES]
    return tuple(_page_read(found, may_read, public_url) for found in best)


def leaves_out(passages: Iterable[FoundPassage], may_read: Mapping[str, Chunk]) -> bool:
    """Tell whether anything was read that may not be shown, or is there no longer."""
    return not all(is_open(each, may_read) for each in passages)


def _page_read(
    found: Sequence[FoundPassage], may_read: Mapping[str, Chunk], public_url: str | None
) -> PageRead:
    best = may_read[found[0].chunk_id]
    ways = {name for each in found for name in each.signals}
    return PageRead(
        title=best.title,
        section=best.section if best.section != best.title else "",
        url=public_link(best.url, public_url),
        found=_FOUND["keyword" in ways, "vector" in ways],
    )
