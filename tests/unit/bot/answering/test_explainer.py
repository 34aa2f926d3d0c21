"""Tests of what anybody is told of why, over a real record and a real index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from bot.answering.asker_identity import Reader
from bot.answering.explanations.explainer import MOST_PAGES, Explainer, Explanation, PageSummary
from bot.answering.gate import load_gate
from bot.answering.visibility import ReadableInIndex, ReadablePassages, RecordedPassage
from bot.domain.errors import InteractionUnknown
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
from bot.domain.messages import FoundPassage, Intent, InteractionId, Message, Person
from bot.store.database import Store
from rag.errors import IndexUnavailable
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.types import EVERYONE, Chunk, Page, Principal, Readers
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import ALL, NOON, chunk, message, route
from tests.fakes.durable_inbox import record_answer
from tests.fakes.record_rows import add_all, interaction_rows

ANYONE = Reader(frozenset({EVERYONE}))
IN_HR = Reader(frozenset({EVERYONE, Principal("group:hr")}))
HR: Readers = (frozenset({Principal("group:hr")}),)
LEFT_OUT = "Pages that you can't read or that have changed since are left out."
PUBLIC_URL = "https://desk.example"


async def keep(
    index: EmbeddedIndex, name: str, readers: Readers = ALL, *, sections: Sequence[str] = ("",)
) -> None:
    """Index a page whose passages are called ``name-0``, ``name-1`` and so on."""
    parts = [
        chunk(
            f"All about {name}",
            chunk_id=f"{name}-{number}",
            page_id=f"{name}.md",
            title=name.upper(),
            section=section,
            readers=readers,
            ordinal=number,
            url=f"/pages/IT/{name}.md",
        )
        for number, section in enumerate(sections)
    ]
    await index.upsert_page(Page("default", "IT", f"{name}.md", name, readers), parts, None)


def found(name: str, number: int = 0, section: str = "", **signals: float) -> FoundPassage:
    return FoundPassage(f"{name}-{number}", f"{name}.md", name.upper(), section, signals)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    await keep(opened, "vpn", sections=("Errors", "VPN"))
    await keep(opened, "pay", HR)
    yield opened
    await opened.close()


def explaining(store: Store, readable: ReadablePassages) -> Explainer:
    return Explainer(
        interactions=store.interactions,
        gate=load_gate(0.65),
        readable=readable,
        public_url=PUBLIC_URL,
    )


@pytest.fixture
def why(store: Store, index: EmbeddedIndex) -> Explainer:
    return explaining(store, ReadableInIndex(index))


def asked(text: str = "vpn error 809?", *, private: bool = False, name: str = "m1") -> Message:
    made = message(text, message_id=name, platform="slack", channel="C1", private=private)
    return replace(made, author=Person("anna"))


def outcome(*passages: FoundPassage, confidence: float = 0.8) -> Outcome:
    trace = Trace(route=route(Intent.DOMAIN, "vpn error 809?"), passages=passages, threshold=0.65)
    return Outcome(Reply("Restart it.", "found", confidence=confidence), trace)


async def told(
    why: Explainer,
    asked_: Message,
    *,
    reader: Reader = ANYONE,
    asker_id: str = "anna",
    tenant: str = "default",
) -> Explanation:
    return await why.explain(tenant, asked_.interaction_id, reader, asker_id=asker_id)


async def test_an_answer_is_explained_in_steps_with_how_sure_it_was_and_its_pages(
    store: Store, why: Explainer
) -> None:
    passages = (
        found("vpn", 0, "Errors", keyword=5.0, vector=0.9),
        found("vpn", 1, "VPN", vector=0.5),
    )
    await record_answer(store, asked(), outcome(*passages))

    explanation = await told(why, asked())

    assert explanation.title == "Why this answer"
    assert explanation.question == "vpn error 809?"
    assert [step.label for step in explanation.steps] == [
        "Question",
        "Search",
        "Reading",
        "Result",
    ]
    sure = explanation.sure
    assert sure is not None
    assert (sure.words, sure.told, sure.needed_told) == ("fairly confident", "80%", "65%")
    ways = "found by words and meaning"
    address = f"{PUBLIC_URL}/pages/IT/vpn.md"
    assert explanation.pages == (PageSummary("VPN", "Errors", address, ways),)
    assert explanation.left_out == ""


async def test_pages_are_named_to_those_alone_who_may_read_them_now(
    store: Store, index: EmbeddedIndex, why: Explainer
) -> None:
    passages = (found("pay", keyword=9.0), found("vpn", 1, "VPN", vector=0.5))
    await record_answer(store, asked(), outcome(*passages))

    in_hr, anyone = await told(why, asked(), reader=IN_HR), await told(why, asked())
    assert [page.title for page in in_hr.pages] == ["PAY", "VPN"]
    assert in_hr.left_out == ""
    assert [page.title for page in anyone.pages] == ["VPN"]
    assert anyone.left_out == LEFT_OUT

    await keep(index, "vpn", HR, sections=("Errors", "VPN"))
    hidden = await told(why, asked())
    assert hidden.pages == ()
    assert hidden.left_out == LEFT_OUT


async def test_a_passage_that_is_anothers_by_now_is_left_out(store: Store, why: Explainer) -> None:
    await record_answer(store, asked(), outcome(replace(found("vpn", 1, "VPN"), title="Old name")))

    explanation = await told(why, asked())

    assert explanation.pages == ()
    assert explanation.left_out == LEFT_OUT


async def test_five_pages_are_named_at_most_each_once_and_the_best_first(
    store: Store, index: EmbeddedIndex, why: Explainer
) -> None:
    names = [f"p{number}" for number in range(7)]
    for name in names:
        await keep(index, name, sections=("", "More"))
    passages = [found(name, 1, "More", keyword=1.0) for name in names]
    again = [found(name) for name in reversed(names)]
    await record_answer(store, asked(), outcome(*passages, *again))

    pages = (await told(why, asked())).pages

    assert [page.title for page in pages] == ["P0", "P1", "P2", "P3", "P4"]
    assert {page.section for page in pages} == {"More"}


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"keyword": 5.0, "fused": 1.0}, "found by words"),
        ({"vector": 0.4, "fused": 1.0}, "found by meaning"),
        ({}, "read for context"),
        ({"planned": 1.0}, "found by a search of the language model"),
    ],
)
async def test_how_a_page_was_found_is_said(
    store: Store, why: Explainer, signals: Mapping[str, float], words: str
) -> None:
    await record_answer(store, asked(), outcome(found("vpn", 0, "Errors", **signals)))

    (page,) = (await told(why, asked())).pages

    assert page.found == words


@pytest.mark.mended(id="slack-2")
async def test_pages_of_spaces_closed_to_one_are_not_named(store: Store, why: Explainer) -> None:
    await record_answer(store, asked(), outcome(found("vpn", 0, "Errors")))
    open_, closed = (Reader(ANYONE.principals, frozenset({space})) for space in ("IT", "FAQ"))

    assert (await told(why, asked(), reader=open_)).pages
    told_little = await told(why, asked(), reader=closed)
    assert (told_little.pages, bool(told_little.left_out)) == ((), True)


class Away:
    """An index that can't be asked."""

    async def readable(
        self, tenant: str, found: Sequence[RecordedPassage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        raise IndexUnavailable("The disk is away.")


async def test_while_the_index_is_away_no_page_is_named_and_that_is_said(store: Store) -> None:
    why = explaining(store, Away())
    await record_answer(store, asked(), outcome(found("vpn", 0, "Errors")))
    await record_answer(store, asked("hi", name="m2"), generic_outcome("Hello."))

    with capture_logs() as logs:
        explanation = await told(why, asked())

    assert explanation.pages == ()
    assert explanation.left_out.startswith(
        "I can't check right now which pages you can read, so I don't name any"
    )
    assert explanation.steps
    assert [each["event"] for each in logs] == ["sight.index_unavailable"]
    assert (await told(why, asked(name="m2"))).left_out == ""


async def test_a_private_talk_is_explained_to_its_asker_alone(store: Store, why: Explainer) -> None:
    await record_answer(store, asked(private=True), outcome(found("vpn", 0, "Errors")))

    assert (await told(why, asked(private=True))).pages
    with pytest.raises(InteractionUnknown, match="'ben'"):
        await told(why, asked(private=True), asker_id="ben")


async def test_what_a_channel_was_told_is_explained_to_colleagues_too(
    store: Store, why: Explainer
) -> None:
    await record_answer(store, asked(), outcome(found("vpn", 0, "Errors")))

    explanation = await told(why, asked(), asker_id="ben")

    assert explanation.title == "Why this answer"
    assert explanation.steps[0].label == "Question"


async def test_nothing_is_told_of_another_tenant_of_what_was_withdrawn_or_never_was(
    store: Store, why: Explainer
) -> None:
    await record_answer(store, asked(), outcome())
    with pytest.raises(InteractionUnknown):
        await told(why, asked(), tenant="other")
    with pytest.raises(InteractionUnknown):
        await told(why, asked(name="m9"))

    await store.work.cancel(asked().interaction_id)
    with pytest.raises(InteractionUnknown):
        await told(why, asked())
    await store.work.cancelled(asked().interaction_id)
    with pytest.raises(InteractionUnknown):
        await told(why, asked())


async def test_what_is_still_worked_on_is_said_to_be(store: Store, why: Explainer) -> None:
    await store.work.open(asked(), "me")

    explanation = await told(why, asked())

    assert explanation.title == "Not answered yet"
    assert [step.text for step in explanation.steps] == [
        "I'm still working on this. Ask again when there is an answer."
    ]


async def test_what_failed_without_an_answer_is_not_said_to_be_worked_on(
    store: Store, why: Explainer
) -> None:
    await add_all(store, interaction_rows("lost", status="failed", posted=False))

    explanation = await why.explain("default", InteractionId("lost"), ANYONE, asker_id="anna")

    assert explanation.title == "Why no answer"
    assert (
        "Something went wrong, so there is no answer to explain. Please ask the question again"
        in explanation.steps[0].text
    )


async def test_the_newest_answer_of_one_in_a_channel_is_found(store: Store, why: Explainer) -> None:
    await record_answer(store, asked("first?"), outcome())
    await record_answer(store, asked("second?", name="m2"), outcome())

    newest = await why.newest("default", "slack", "C1", "anna")

    assert newest.message.text == "second?"
    with pytest.raises(InteractionUnknown, match="'C2'"):
        await why.newest("default", "slack", "C2", "anna")
    with pytest.raises(InteractionUnknown, match="'ben'"):
        await why.newest("default", "slack", "C1", "ben")


@pytest.mark.parametrize("private", [True, False])
async def test_what_was_searched_is_told(store: Store, why: Explainer, *, private: bool) -> None:
    nothing = Escalation("I'll ask.", "nothing_found", "vpn?", confidence=0.0)
    await record_answer(store, asked(private=private), replace(outcome(), response=nothing))

    explanation = await told(why, asked(private=private))

    words = " ".join(step.text for step in explanation.steps)
    assert (
        "A page about this that everyone can read would have been enough" in words
    ) is not private
    assert ("pages you can read" in words) is private
    assert "would have been enough" in words


async def test_silence_is_explained_as_what_it_was(store: Store, why: Explainer) -> None:
    asked_back = Clarification("Which?", confidence=0.3)
    await record_answer(store, asked(), replace(outcome(), response=asked_back, silent=True))

    explanation = await told(why, asked())

    assert explanation.title == "Why no answer"
    assert explanation.steps[-1].text.startswith(
        "The message wasn't addressed to me. I only join in when I am sure, so I said nothing"
    )
    assert "asked back" not in repr(explanation)


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
    """The part of an index that is read, over a list."""

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
        interactions=Only(interaction),  # type: ignore[arg-type]  # only what it reads
        gate=GATE,
        readable=ReadableInIndex(Shelves(chunks)),  # type: ignore[arg-type]  # only what it reads
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
