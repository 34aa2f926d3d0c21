"""Answers that quote the section that fits, and the kind of thing that a question wants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.excerpts import MOST_WORDS
from rag.answer.extractive import MOST_KEY_LINES, ExtractiveComposer
from rag.answer.quote_candidates import (
    MAX_CANDIDATES,
    asks_for_same_type,
    candidates_of,
    expected_answer_types,
    has_answer_type,
)
from rag.parts import Omission
from rag.ports import Composition
from rag.text.sentences import without_markdown
from rag.types import Passage
from tests.fakes.passages import passage
from tests.fakes.rag_ports import WordEmbedder

VPN = passage(
    "Quillmoor has a VPN for work from home. Error 809 means that the network blocks it; use a "
    "phone hotspot. A session ends after 12 hours.",
    page="vpn.md",
    title="VPN",
    score=0.9,
)
BADGE = passage(
    "Badges are printed on Mondays.\n\nTo get a badge you need:\n\n- a photo\n- your contract\n\n"
    "| Building | Badge desk |\n|---|---|\n| North | room N12 |\n| South | room S3 |\n",
    page="badge.md",
    title="Badges",
    score=0.7,
)


async def compose(question: str, *passages: Passage) -> Composition:
    return await ExtractiveComposer(WordEmbedder()).compose(question, passages)


def said(composition: Composition) -> list[str]:
    return [claim.text for claim in composition.claims]


async def test_the_section_that_answers_is_shown_whole_with_its_passage() -> None:
    composition = await compose("what does vpn error 809 mean", VPN, BADGE)

    (first, *_) = composition.claims
    assert first.citations[0].chunk_id == "vpn-md-0"
    assert first.citations[0].quote == VPN.chunk.text


async def test_the_line_that_answers_is_marked_and_ranked_above_the_rest() -> None:
    (claim,) = (await compose("error 809 blocks the network", VPN)).claims
    best = max(claim.citations, key=lambda citation: citation.score)

    assert best.quote.startswith("Error 809")
    assert f"**{best.quote}**" in claim.text


async def test_never_all_lines_of_a_list_are_marked() -> None:
    items = [f"badge number {n} is printed" for n in range(8)]
    marked = said(await compose("badge printed", passage("\n".join(f"- {i}" for i in items))))

    assert 0 < "\n".join(marked).count("**") / 2 <= MOST_KEY_LINES


async def test_a_list_that_answers_comes_with_its_lead_in() -> None:
    answer = said(await compose("which photo do I need to get a badge", BADGE))

    (shown,) = (text for text in answer if "a photo" in text)
    assert shown.index("To get a badge you need:") < shown.index("your contract")


@pytest.mark.mended(id="teams-4")
async def test_a_table_that_answers_is_shown_with_its_header() -> None:
    composition = await compose("badge desk room in the South building", BADGE)

    (table,) = (claim for claim in composition.claims if claim.kind == "table")
    assert table.citations[0].quote.splitlines()[0] == "| Building | Badge desk |"
    assert table.citations[0].quote.splitlines()[-1] == "| South | room S3 |"


async def test_chunks_of_a_section_are_shown_in_page_order_whatever_their_rank() -> None:
    first = passage("Open the portal with the badge.", ordinal=0, score=0.8)
    second = passage("Open the portal, then press the badge button.", ordinal=1, score=0.9)

    composition = await compose("open the portal badge button", second, first)

    quoted = [claim.citations[0].quote for claim in composition.claims]
    assert quoted == [first.chunk.text, second.chunk.text]


@pytest.mark.mended(id="slack-3")
async def test_steps_that_go_on_in_a_chunk_that_was_not_found_are_complete() -> None:
    found = passage("To badge in:\n\n1. Open the portal.\n2. Press badge.", ordinal=0)
    rest = passage("3. Wait.\n4. Walk in.", ordinal=1, score=0.0)

    (steps,) = (await compose("badge in the portal", found, rest)).claims

    assert steps.kind == "step"
    assert steps.omission is None
    assert [citation.quote for citation in steps.citations[:2]] == [
        found.chunk.text,
        rest.chunk.text,
    ]


async def test_a_line_of_a_chunk_that_two_sections_share_is_shown_once() -> None:
    found = passage("Ask for a badge. Bring photos. Wait. Go.", ordinal=0, signals={"keyword": 1})
    best = "Badge desk: North N12."
    rest = passage(f"{best} Knock. Wait. Go.\n\nParking\n\nIt is free.", ordinal=1, score=0.0)

    (*_, shown) = said(await compose("badge desk North N12", found, rest))

    assert shown.count(best) == 1
    assert f"**{best}**" in shown


async def test_a_second_section_that_repeats_the_first_is_not_shown() -> None:
    again = passage("A session ends after 12 hours.", page="old.md", title="Old", score=0.3)

    composition = await compose("when does a session end", VPN, again)

    cited = {citation.chunk_id for claim in composition.claims for citation in claim.citations}
    assert cited == {"vpn-md-0"}


async def test_a_second_section_far_behind_the_first_is_not_shown() -> None:
    composition = await compose("what does vpn error 809 mean", VPN, BADGE)

    cited = {citation.chunk_id for claim in composition.claims for citation in claim.citations}
    assert cited == {"vpn-md-0"}


@pytest.mark.mended(id="slack-3")
async def test_a_long_section_is_cut_around_what_answers_and_says_so() -> None:
    filler = "\n\n".join(f"Parking place {n} is free. " + "Ask there. " * 20 for n in range(9))
    composition = await compose(
        "vpn error 809", passage(f"{filler}\n\nError 809: call the VPN desk.")
    )

    assert "Error 809" in "\n".join(said(composition))
    assert composition.claims[-1].omission == Omission()


async def test_an_amount_is_preferred_when_one_is_asked_for() -> None:
    vague = "Hotel costs are paid back."
    exact = "Hotel costs are capped, at 140 euros."
    composition = await compose("how much are hotel costs", passage(f"{vague} {exact}"))

    assert composition.signals["answer_type_missing"] == 0.0
    assert exact in said(composition)[0].replace("**", "")


async def test_nothing_is_said_when_no_passage_shares_a_word() -> None:
    composer = ExtractiveComposer(None)

    assert (await composer.compose("parental leave", [VPN])).claims == ()
    assert (await composer.compose("parental leave", [])).claims == ()
    assert (await composer.compose("", [])).claims == ()


async def test_code_of_several_lines_is_an_answer_and_speaks_for_it() -> None:
    code = "```\ninstall vpn\nvpn start\n```"
    beside = passage(f"Offices open at nine. They close at five.\n\n{code}")

    assert said(await compose("vpn start", passage(code))) == [code]
    assert (await compose("vpn start", beside)).signals["quotes_coverage"] == 1.0


async def test_nothing_is_said_of_pages_with_nothing_but_heads() -> None:
    heads = passage("| Badge | Fee |\n| --- | --- |", page="a.md")
    label = passage("Badge lost. Phone us", page="b.md")

    assert (await compose("badge fee", heads)).claims == ()
    assert (await compose("badge lost", label)).claims == ()


async def test_a_heading_stands_above_its_text_and_never_alone() -> None:
    headed = passage("Lost badges\n\nReport a lost badge: extension 5500.\n\nFound badges")

    (claim,) = (await compose("lost badges", headed)).claims

    assert claim.citations[0].quote == "Lost badges\n\nReport a lost badge: extension 5500."


def test_a_line_is_read_below_the_heading_right_above_it() -> None:
    shared = passage("Lost badges\n\nPhone at once.\n\nParking\n\nOn Monday.", title="Desk")

    first, second = candidates_of([shared])

    assert (first.heading, second.heading) == ("Lost badges", "Parking")
    assert first.in_context == "Desk > Lost badges\nPhone at once."
    assert {"lost", "badg"} <= first.breadcrumb - second.breadcrumb


async def test_a_row_is_read_with_its_column_heads() -> None:
    (row,) = (
        candidate for candidate in candidates_of([BADGE]) if candidate.quote.startswith("| North")
    )

    assert {"north", "build"} <= row.stems


@pytest.mark.parametrize(
    ("question", "defined"),
    [
        ("what does TOIL mean", True),
        ("what is TOIL", True),
        ("what does low tide mean", True),
        ("what is low tide", False),
        ("how much TOIL is there", False),
        ("what does TOIL mean for pay", False),
    ],
)
async def test_a_definition_counts_where_its_term_is_asked_for(
    question: str, *, defined: bool
) -> None:
    rows = "| TOIL | Time off in lieu |\n| Low tide | Bookings close |"
    glossary = passage(f"| Word | Means |\n|---|---|\n{rows}", page="words.md")

    assert ("defines_term" in (await compose(question, glossary)).signals) is defined


async def test_a_heading_that_asks_the_same_makes_its_lines_count() -> None:
    pages = [
        passage("A permit is 25 euros.", page="a.md", title="Rules"),
        passage("A permit is 30 euros.", page="b.md", title="Fee"),
    ]

    claims = (await compose("what does a permit cost", *pages)).claims

    assert claims[0].citations[0].chunk_id == pages[1].chunk.id


async def test_words_alone_decide_without_an_embedder() -> None:
    composition = await ExtractiveComposer(None).compose("error 809", [VPN, BADGE])

    assert any("809" in quote for quote in said(composition))
    assert "best_quote_cosine" not in composition.signals


async def test_no_more_than_the_shortlist_is_embedded_and_at_once() -> None:
    embedder = WordEmbedder()
    many = passage(" ".join(f"Sentence number {n} on badges." for n in range(500)))

    await ExtractiveComposer(embedder).compose("badges", [many])

    assert embedder.embedded == MAX_CANDIDATES


pieces = st.lists(
    st.sampled_from(
        ["Badges are free.", "- a photo", "| North | N12 |", "You need:", "```", "", "**VPN** 809!"]
    )
    | st.text(max_size=40),
    max_size=12,
)


@given(st.lists(pieces, min_size=1, max_size=4), st.text(max_size=60))
async def test_every_quote_is_in_its_passage_and_the_answer_is_short(
    texts: list[list[str]], question: str
) -> None:
    passages = [
        passage("\n".join(lines), page=f"{n}.md", score=1 / (n + 1))
        for n, lines in enumerate(texts)
    ]
    stored = {p.chunk.id: p.chunk.text.encode(errors="surrogatepass") for p in passages}

    composition = await ExtractiveComposer(WordEmbedder()).compose(question, passages)

    for claim in composition.claims:
        for citation in claim.citations:
            assert citation.quote.encode(errors="surrogatepass") in stored[citation.chunk_id]
    assert sum(len(without_markdown(text).split()) for text in said(composition)) <= MOST_WORDS


@pytest.mark.parametrize(
    ("question", "given", "lacking"),
    [
        ("How many days do I get?", "You get 25 days.", "You get days off."),
        ("When is payday?", "On the last Friday of the month.", "Payday is a good thing."),
        ("Who do I ask?", "Write to desk@quillmoor.example.", "Somebody knows it."),
        ("Where is it?", "See https://quillmoor.example/x", "it is somewhere"),
    ],
)
def test_a_question_wants_a_kind_of_thing(question: str, given: str, lacking: str) -> None:
    assert has_answer_type(given, expected_answer_types(question))
    assert not has_answer_type(lacking, expected_answer_types(question))


def test_most_questions_want_nothing_in_particular() -> None:
    assert expected_answer_types("Can I bring my dog?") == ()
    assert not has_answer_type("25 dogs", ())


@pytest.mark.parametrize(
    ("question", "heading", "same"),
    [
        ("How many days do I get?", "How much", True),
        ("Who do I ask?", "Contacts and e-mail", True),
        ("How many days do I get?", "Ask for it", False),
        ("Can I bring my dog?", "Dogs", False),
    ],
)
def test_a_heading_may_ask_for_the_same(question: str, heading: str, *, same: bool) -> None:
    assert asks_for_same_type(question, heading) is same
