"""Whatever a record says, nothing of a page shows to those who may not read it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bot.answering.asker_identity import Reader
from bot.answering.explanations.explainer import MOST_PAGES, Explainer
from bot.answering.gate import load_gate
from bot.answering.visibility import ReadableInIndex
from bot.domain.interactions import (
    Clarification,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Response,
    Source,
    Trace,
)
from bot.domain.messages import FoundPassage, Intent, InteractionId
from rag.types import EVERYONE, Chunk, Principal, Readers
from tests.builders import NOON, chunk, message, route

GROUPS = [Principal(f"group:{name}") for name in ("red", "blue")]
ALL_READERS: list[Readers] = [
    (frozenset({EVERYONE}),),
    (frozenset({GROUPS[0]}),),
    (frozenset({GROUPS[0]}), frozenset({GROUPS[1]})),
    (),
]
GATE = load_gate(0.65)


def pages_of(readers: Sequence[Readers]) -> list[Chunk]:
    """Two passages a page; the marks ``ztitle``, ``zhead`` and ``zurl`` stand nowhere else."""
    return [
        chunk(
            "text",
            chunk_id=f"c{page}-{part}",
            page_id=f"zid{page}q",
            title=f"ztitle{page}q",
            section=f"zhead{page}q",
            url=f"https://wiki.example/zurl{page}q",
            readers=of_page,
            space="IT" if page % 2 else "HR",
            ordinal=part,
        )
        for page, of_page in enumerate(readers)
        for part in range(2)
    ]


def may_read(of_page: Readers, readers: frozenset[Principal]) -> bool:
    return bool(of_page) and all(each & readers for each in of_page)


@dataclass(frozen=True)
class Shelves:
    """Implements bot.answering.visibility.IndexPages over a list."""

    held: Sequence[Chunk]

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        return {"HR": 1, "IT": 1}

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        return [
            each
            for each in self.held
            if (each.space, each.page_id) == (space, page_id) and may_read(each.readers, readers)
        ]


@dataclass(frozen=True)
class Only:
    """A record of one interaction."""

    interaction: Interaction

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return self.interaction

    async def newest_of(
        self, tenant: str, platform: str, channel: str, person_id: str
    ) -> Interaction | None:
        return self.interaction


@st.composite
def passages(draw: st.DrawFn, chunks: Sequence[Chunk]) -> FoundPassage:
    """Draw a passage as it was, or mixed up of two: its id has gone to another page since."""
    place, name = draw(st.sampled_from(chunks)), draw(st.sampled_from(chunks))
    named = draw(st.sampled_from([place, name]))
    signals = draw(st.dictionaries(st.sampled_from(["keyword", "vector", "fused"]), st.just(0.5)))
    page_id = draw(st.sampled_from([place, name])).page_id
    return FoundPassage(place.id, page_id, named.title, named.section, signals)


def source_of(found: FoundPassage) -> Source:
    return Source(
        found.chunk_id, found.page_id, found.title, "", found.section, "text", None, 1.0, "f", "f"
    )


def responses(sources: tuple[Source, ...]) -> list[Response]:
    quoted = " ".join(each.title for each in sources)
    return [
        Reply(quoted, "found", sources, confidence=0.8),
        Clarification(quoted, (quoted,), sources, confidence=0.5),
        Escalation(quoted, "low_confidence", "q", sources, confidence=0.2),
        Escalation(quoted, "nothing_found", "q", sources, confidence=0.0),
    ]


@given(st.data())
def test_no_page_outside_of_what_the_reader_may_read_ever_shows(data: st.DataObject) -> None:
    of_pages = data.draw(st.lists(st.sampled_from(ALL_READERS), min_size=1, max_size=8))
    chunks = pages_of(of_pages)
    read = tuple(data.draw(st.lists(passages(chunks), max_size=12)))
    response = data.draw(st.sampled_from(responses(tuple(map(source_of, read)))))
    trace = Trace(route=route(Intent.DOMAIN, "q"), passages=read, threshold=0.65)
    reader = frozenset({EVERYONE}) | data.draw(st.frozensets(st.sampled_from(GROUPS)))
    asked = message("q", private=data.draw(st.booleans()))
    private = Reply("more", "found", tuple(map(source_of, read)))
    interaction = Interaction(
        asked.interaction_id, asked, "done", NOON, Outcome(response, trace, private)
    )
    why = Explainer(
        interactions=Only(interaction), gate=GATE, readable=ReadableInIndex(Shelves(chunks))
    )

    explained = asyncio.run(why.explain("default", interaction.id, Reader(reader), asker_id="anna"))

    marks = [f"z{kind}{{}}q" for kind in ("id", "title", "head", "url")]
    closed = [n for n, each in enumerate(of_pages) if not may_read(each, reader)]
    assert not [n for n in closed for mark in marks if mark.format(n) in repr(explained)]
    urls = [page.url for page in explained.pages]
    assert len(set(urls)) == len(urls) <= MOST_PAGES
    as_they_are = {(each.id, each.page_id, each.title) for each in chunks}
    true = [each for each in read if (each.chunk_id, each.page_id, each.title) in as_they_are]
    open_ = {each.title for each in true if int(each.title[6:-1]) not in closed}
    assert len(explained.pages) == min(MOST_PAGES, len(open_))
    assert {page.title for page in explained.pages} <= open_
