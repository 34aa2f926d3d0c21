from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag.candidates import MAX_CANDIDATES
from rag.extractive import MAX_WORDS, ExtractiveComposer
from rag.ports import Composition
from rag.sentences import plain
from rag.types import Passage
from tests.fakes import WordEmbedder
from tests.rag.passages import passage

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


async def test_the_sentence_that_answers_is_quoted_from_its_passage() -> None:
    composition = await compose("what does vpn error 809 mean", VPN, BADGE)

    best = [claim for claim in composition.claims if "809" in claim.text]
    assert [claim.citations[0].chunk_id for claim in best] == ["vpn-md-0"]
    assert best[0].citations[0].quote == best[0].text


async def test_a_list_that_answers_comes_with_its_lead_in() -> None:
    answer = said(await compose("which photo do I need to get a badge", BADGE))

    assert answer.index("To get a badge you need:") < answer.index("a photo")


async def test_a_row_that_answers_comes_with_its_header() -> None:
    answer = said(await compose("badge desk room in the South building", BADGE))

    assert answer.index("| Building | Badge desk |") < answer.index("| South | room S3 |")


async def test_quotes_stand_in_reading_order_whatever_the_order_of_passages() -> None:
    first = passage("Open the portal with the badge.", ordinal=0, score=0.8)
    second = passage("Open the portal, then press the badge button.", ordinal=1, score=0.9)

    answer = said(await compose("open the portal badge button", second, first))

    assert answer == [first.chunk.text, second.chunk.text]


async def test_a_sentence_that_two_passages_hold_is_quoted_once() -> None:
    again = passage("A session ends after 12 hours.", page="old.md", score=0.5)

    answer = said(await compose("when does a session end", VPN, again))

    assert answer.count("A session ends after 12 hours.") == 1


async def test_an_amount_is_preferred_when_one_is_asked_for() -> None:
    vague = "Hotel costs are paid back."
    exact = "Hotel costs are capped, at 140 euros."
    composition = await compose("how much are hotel costs", passage(f"{vague} {exact}"))

    assert composition.signals["answer_type_missing"] == 0.0
    assert exact in said(composition)


async def test_nothing_is_said_when_no_passage_shares_a_word() -> None:
    composer = ExtractiveComposer(None)

    assert (await composer.compose("parental leave", [VPN])).claims == ()
    assert (await composer.compose("parental leave", [])).claims == ()
    assert (await composer.compose("", [])).claims == ()


async def test_a_heading_in_the_text_is_left_out() -> None:
    headed = passage("Lost badges\n\nReport a lost badge at once: extension 5500.")

    assert said(await compose("lost badges", headed)) == [
        "Report a lost badge at once: extension 5500."
    ]


async def test_a_sentence_too_long_to_be_an_answer_is_left_out() -> None:
    endless = passage(f"A badge {'and a badge ' * MAX_WORDS}. Badges are free.")

    assert said(await compose("badge", endless)) == ["Badges are free."]


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
        (citation,) = claim.citations
        assert claim.text == citation.quote
        assert citation.quote.encode(errors="surrogatepass") in stored[citation.chunk_id]
    assert sum(len(plain(text).split()) for text in said(composition)) <= MAX_WORDS
