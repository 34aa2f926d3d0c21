"""What anybody is told of why, over a real record and a real index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.answering.asker_identity import Reader
from bot.answering.explanations.explainer import Explainer, Explanation, PageSummary
from bot.answering.gate import load_gate
from bot.answering.visibility import PassageOnPage, ReadableInIndex, ReadablePassages
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Trace
from bot.domain.messages import FoundPassage, Intent, InteractionId, Message, Person
from bot.store.database import Store, open_store, sqlite_url
from rag.errors import IndexUnavailable
from rag.index.embedded.index import EmbeddedIndex, open_index
from rag.types import EVERYONE, Chunk, Page, Principal, Readers
from tests.bot.fakes import replied
from tests.bot.recorded import answered
from tests.bot.store.filled import add_all, interaction_rows
from tests.builders import ALL, chunk, message, route

ANYONE = Reader(frozenset({EVERYONE}))
IN_HR = Reader(frozenset({EVERYONE, Principal("group:hr")}))
HR: Readers = (frozenset({Principal("group:hr")}),)
LEFT_OUT = "Pages that you may not read, or that have changed since, are left out."
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


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url(tmp_path))
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
    await answered(store, asked(), outcome(*passages))

    explanation = await told(why, asked())

    assert explanation.title == "Why this answer"
    assert explanation.question == "vpn error 809?"
    assert [step.label for step in explanation.steps] == [
        "Your question",
        "Search",
        "Reading",
        "Result",
    ]
    sure = explanation.sure
    assert sure is not None
    assert (sure.words, sure.told, sure.needed_told) == ("fairly sure", "80%", "65%")
    ways = "found by its words and by its meaning"
    address = f"{PUBLIC_URL}/pages/IT/vpn.md"
    assert explanation.pages == (PageSummary("VPN", "Errors", address, ways),)
    assert explanation.left_out == ""


async def test_pages_are_named_to_those_alone_who_may_read_them_now(
    store: Store, index: EmbeddedIndex, why: Explainer
) -> None:
    passages = (found("pay", keyword=9.0), found("vpn", 1, "VPN", vector=0.5))
    await answered(store, asked(), outcome(*passages))

    in_hr, anyone = await told(why, asked(), reader=IN_HR), await told(why, asked())
    assert [page.title for page in in_hr.pages] == ["PAY", "VPN"]
    assert in_hr.left_out == ""
    assert [page.title for page in anyone.pages] == ["VPN"]
    assert anyone.left_out == LEFT_OUT

    await keep(index, "vpn", HR, sections=("Errors", "VPN"))
    hidden = await told(why, asked())
    assert hidden.pages == ()
    assert hidden.left_out == LEFT_OUT


async def test_a_passage_that_is_another_pages_text_by_now_is_left_out(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked(), outcome(replace(found("vpn", 1, "VPN"), title="Old name")))

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
    await answered(store, asked(), outcome(*passages, *again))

    pages = (await told(why, asked())).pages

    assert [page.title for page in pages] == ["P0", "P1", "P2", "P3", "P4"]
    assert {page.section for page in pages} == {"More"}


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"keyword": 5.0, "fused": 1.0}, "found by its words"),
        ({"vector": 0.4, "fused": 1.0}, "found by its meaning"),
        ({}, "read for its context"),
    ],
)
async def test_how_a_page_was_found_is_said(
    store: Store, why: Explainer, signals: Mapping[str, float], words: str
) -> None:
    await answered(store, asked(), outcome(found("vpn", 0, "Errors", **signals)))

    (page,) = (await told(why, asked())).pages

    assert page.found == words


@pytest.mark.mended(id="slack-2")
async def test_pages_of_spaces_that_are_closed_to_a_reader_are_not_named(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked(), outcome(found("vpn", 0, "Errors")))
    open_, closed = (Reader(ANYONE.principals, frozenset({space})) for space in ("IT", "FAQ"))

    assert (await told(why, asked(), reader=open_)).pages
    told_little = await told(why, asked(), reader=closed)
    assert (told_little.pages, bool(told_little.left_out)) == ((), True)


class Away:
    """An index that can't be asked."""

    async def readable(
        self, tenant: str, found: Sequence[PassageOnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        raise IndexUnavailable("The disk is away.")


async def test_while_the_index_is_away_no_page_is_named_and_that_is_said(store: Store) -> None:
    why = explaining(store, Away())
    await answered(store, asked(), outcome(found("vpn", 0, "Errors")))
    await answered(store, asked("hi", name="m2"), replied("Hello."))

    with capture_logs() as logs:
        explanation = await told(why, asked())

    assert explanation.pages == ()
    assert explanation.left_out.startswith("I can't tell right now which of the pages you may read")
    assert explanation.steps
    assert [each["event"] for each in logs] == ["sight.index_unavailable"]
    assert (await told(why, asked(name="m2"))).left_out == ""


async def test_a_private_conversation_is_explained_to_its_asker_alone(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked(private=True), outcome(found("vpn", 0, "Errors")))

    assert (await told(why, asked(private=True))).pages
    with pytest.raises(InteractionUnknown, match="'ben'"):
        await told(why, asked(private=True), asker_id="ben")


async def test_what_a_channel_was_told_is_explained_to_colleagues_too(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked(), outcome(found("vpn", 0, "Errors")))

    explanation = await told(why, asked(), asker_id="ben")

    assert explanation.title == "Why this answer"
    assert explanation.steps[0].label == "The question"


async def test_nothing_is_told_of_another_tenant_of_what_was_withdrawn_or_never_was(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked(), outcome())
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
        "I am still working on this. Ask again when there is an answer."
    ]


async def test_what_failed_without_an_answer_is_not_said_to_be_worked_on(
    store: Store, why: Explainer
) -> None:
    await add_all(store, interaction_rows("lost", status="failed", posted=False))

    explanation = await why.explain("default", InteractionId("lost"), ANYONE, asker_id="anna")

    assert explanation.title == "Why no answer"
    assert "did not work" in explanation.steps[0].text


async def test_the_newest_answer_of_a_person_in_a_channel_is_explained(
    store: Store, why: Explainer
) -> None:
    await answered(store, asked("first?"), outcome())
    await answered(store, asked("second?", name="m2"), outcome())

    explanation = await why.explain_newest("default", "slack", "C1", ANYONE, asker_id="anna")

    assert explanation.question == "second?"
    with pytest.raises(InteractionUnknown, match="'C2'"):
        await why.explain_newest("default", "slack", "C2", ANYONE, asker_id="anna")
    with pytest.raises(InteractionUnknown, match="'ben'"):
        await why.explain_newest("default", "slack", "C1", ANYONE, asker_id="ben")


@pytest.mark.parametrize("private", [True, False])
async def test_what_was_searched_is_told_as_it_was(
    store: Store, why: Explainer, *, private: bool
) -> None:
    nothing = Escalation("I'll ask.", "nothing_found", "vpn?", confidence=0.0)
    await answered(store, asked(private=private), replace(outcome(), response=nothing))

    explanation = await told(why, asked(private=private))

    words = " ".join(step.text for step in explanation.steps)
    assert ("that everyone may read" in words) is not private
    assert ("you may read" in words) is private
    assert "would have been enough" in words


async def test_silence_is_explained_as_what_it_was(store: Store, why: Explainer) -> None:
    asked_back = Clarification("Which?", confidence=0.3)
    await answered(store, asked(), replace(outcome(), response=asked_back, silent=True))

    explanation = await told(why, asked())

    assert explanation.title == "Why no answer"
    assert explanation.steps[-1].text.startswith("Nobody asked me.")
    assert "asked back" not in repr(explanation)
