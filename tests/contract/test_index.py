"""What every index does, whatever it is made of."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from rag.errors import IndexMismatch
from rag.index.embedded.index import EmbeddedIndex
from rag.ports import SearchIndex, Vocabulary
from rag.types import EVERYONE, Fingerprint, Page, Passage, Principal, Question
from tests.contract.conftest import OpenIndex
from tests.fakes.passages import EMBEDDER, Draft, ask, draft, page_ids, put
from tests.fakes.rag_ports import WordEmbedder

VPN = draft("vpn", "The VPN client is installed from the software centre.", "VPN needs a token.")
LEAVE = draft("leave", "Annual leave is requested in the portal.")


IN_ACME = Question(text="", tenant="acme")
ALL_OF_US = frozenset({EVERYONE})


async def test_a_page_is_found_by_its_words(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)

    assert page_ids(await ask(index, "how do I request annual leave?"))[0] == "leave"


async def test_a_chunk_comes_back_as_it_went_in(index: SearchIndex) -> None:
    (whole,) = draft("whole", "Quoted “byte for byte” –\t  with\r\nodd spaces 🙂").chunks
    chunk = replace(
        whole,
        section="Odds",
        breadcrumb=("it", "Hand > book", "Odds"),
        document_page=7,
        updated_at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC),
        labels=("a", "b c"),
        readers=(frozenset({EVERYONE}), frozenset({Principal("user:1"), EVERYONE})),
    )
    page = Page("acme", "it", "whole", "1", chunk.readers)
    await index.upsert_page(page, [chunk], await EMBEDDER.embed([chunk.text]))

    (passage,) = await ask(index, "odd spaces")

    found = passage.chunk
    assert set(found.readers) == set(chunk.readers)
    assert replace(found, readers=chunk.readers) == chunk


async def test_a_new_version_replaces_the_page(index: SearchIndex) -> None:
    await put(index, VPN, replace(VPN, texts=("Tunnels are closed.",), version="2"))

    assert [p.chunk.text for p in await ask(index, "VPN client tunnels")] == ["Tunnels are closed."]
    assert (await index.pages("acme", "it"))["vpn"].version == "2"
    assert await index.spaces("acme") == {"it": 1}


async def test_a_page_without_chunks_is_known_and_not_found(index: SearchIndex) -> None:
    await put(index, VPN, replace(VPN, texts=(), version="2"))

    assert await ask(index, "VPN client") == ()
    assert (await index.pages("acme", "it"))["vpn"].version == "2"


async def test_a_deleted_page_is_gone(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)

    assert await index.delete_pages("acme", "it", ["vpn", "never-there"]) == 1
    assert page_ids(await ask(index, "VPN client or leave")) == ["leave"]
    assert set(await index.pages("acme", "it")) == {"leave"}
    assert await index.spaces("acme") == {"it": 1}


async def test_a_deleted_page_can_come_back(index: SearchIndex) -> None:
    await put(index, VPN)
    await index.delete_pages("acme", "it", ["vpn"])
    await put(index, VPN)

    assert set(page_ids(await ask(index, "VPN"))) == {"vpn"}


@pytest.mark.parametrize("other", [("other", "it"), ("acme", "hr")], ids=["tenant", "space"])
async def test_deleting_spares_pages_of_the_same_id_elsewhere(
    index: SearchIndex, other: tuple[str, str]
) -> None:
    elsewhere = replace(VPN, tenant=other[0], space=other[1])
    await put(index, VPN, elsewhere)

    await index.delete_pages("acme", "it", ["vpn"])

    assert set(page_ids(await ask(index, "VPN", tenant=other[0]))) == {"vpn"}
    assert await index.pages("acme", "it") == {}


async def test_pages_and_spaces_of_an_unknown_tenant_are_empty(index: SearchIndex) -> None:
    await put(index, VPN)

    assert await index.pages("other", "it") == {}
    assert await index.spaces("other") == {}


async def test_an_empty_index_has_nothing_to_say(index: SearchIndex) -> None:
    assert await ask(index, "VPN") == ()
    assert await index.fingerprint() is None
    vocabulary = await index.vocabulary(IN_ACME, ALL_OF_US, ["vpn"])
    assert vocabulary is None or vocabulary.chunks == 0


async def test_the_order_is_the_same_every_time_and_for_every_length(index: SearchIndex) -> None:
    await put(index, *(draft(f"p{number}", "VPN token", f"Words {number}") for number in range(30)))

    whole = await ask(index, "VPN token words", k=60)

    assert await ask(index, "VPN token words", k=60) == whole
    for k in (1, 5, 17):
        assert await ask(index, "VPN token words", k=k) == whole[:k]


async def test_the_order_does_not_depend_on_the_order_of_writing(index: SearchIndex) -> None:
    alike = [draft(f"p{number}", "VPN token") for number in range(9)]
    await put(index, *alike)
    first = page_ids(await ask(index, "VPN token"))
    await index.delete_pages("acme", "it", [page.id for page in alike])
    await put(index, *reversed(alike))

    assert page_ids(await ask(index, "VPN token")) == first


async def test_scores_fall_with_the_order(index: SearchIndex) -> None:
    await put(index, draft("long", *(f"VPN token {n}" for n in range(9))), VPN, LEAVE)

    scores = [passage.score for passage in await ask(index, "VPN token", k=20)]

    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 12


async def test_one_page_takes_no_more_than_three_places_while_others_wait(
    index: SearchIndex,
) -> None:
    long = draft("long", *(f"VPN token {number}" for number in range(9)))
    await put(index, long, draft("other", "Some other text on a token"))

    assert page_ids(await ask(index, "VPN token", k=4)) == ["long", "long", "long", "other"]
    assert page_ids(await ask(index, "VPN token", k=10)).count("long") == 9


async def test_each_sheet_of_a_paged_document_counts_for_itself(index: SearchIndex) -> None:
    texts = tuple(f"VPN token {number}" for number in range(5))
    paged = Draft("pdf", texts, document_pages=(1, 1, 2, 2, 3))
    await put(index, paged, draft("other", "Some other text on a token"))

    assert page_ids(await ask(index, "VPN token", k=5)) == ["pdf"] * 5


async def test_every_passage_says_what_each_search_made_of_it(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)

    passages = await ask(index, "VPN token", k=10)

    assert len(passages) == 3
    by_text = {passage.chunk.text: passage.signals for passage in passages}
    best = by_text["VPN needs a token."]
    assert best["keyword_rank"] == best["vector_rank"] == 1
    assert best["keyword"] > 0
    assert 0 < best["vector"] <= 1.0001
    unrelated = by_text["Annual leave is requested in the portal."]
    assert {"keyword", "keyword_rank"}.isdisjoint(unrelated)
    assert unrelated["vector_rank"] == 3


async def test_without_a_vector_keywords_alone_are_searched(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)

    (passage,) = await ask(index, "annual leave", vector=False)

    assert passage.chunk.page_id == "leave"
    assert {"vector", "vector_rank"}.isdisjoint(passage.signals)


async def test_pages_without_vectors_are_found_by_their_words(index: SearchIndex) -> None:
    await put(index, VPN)
    await put(index, LEAVE, vectors=False)

    passages = await ask(index, "annual leave")

    assert page_ids(passages)[0] == "leave"
    assert "vector" not in passages[0].signals


async def test_a_word_is_found_in_its_other_forms(index: SearchIndex) -> None:
    await put(index, LEAVE, VPN)

    assert page_ids(await ask(index, "requesting", vector=False)) == ["leave"]


async def test_titles_are_searched(index: SearchIndex) -> None:
    await put(index, replace(LEAVE, title="Sabbatical"), VPN)

    assert page_ids(await ask(index, "sabbatical", vector=False)) == ["leave"]


async def test_words_that_stand_together_as_asked_put_a_passage_first(index: SearchIndex) -> None:
    apart = draft("apart", "policy leave parental")
    await put(index, apart, draft("together", "parental leave policy"))

    found = await ask(index, "parental leave policy")

    assert page_ids(found) == ["together", "apart"]
    assert [passage.signals["pairs"] for passage in found] == [1.0, 0.0]


async def test_tokens_that_come_nearer_put_a_passage_first(index: SearchIndex) -> None:
    """Optional: an index that keeps tokens compares the best passages by them once more."""
    if not isinstance(index, EmbeddedIndex):
        pytest.skip("This index does not keep tokens.")
    pages = [draft("first", "VPN token"), draft("second", "VPN token")]
    question = np.eye(EMBEDDER.dimensions, dtype=np.float32)[:1]
    for page, bits in zip(pages, (0, 255), strict=True):
        vectors = await EMBEDDER.embed(page.texts)
        tokens = [np.full((2, EMBEDDER.dimensions // 8), bits, dtype=np.uint8)]
        await index.upsert_page(page.page, page.chunks, vectors, tokens)
    assert page_ids(await ask(index, "VPN token")) == ["first", "second"]

    refined = await ask(index, "VPN token", tokens=question)

    assert page_ids(refined) == ["second", "first"]
    assert refined[0].signals["tokens"] > refined[1].signals["tokens"]
    assert await ask(index, "VPN token", tokens=question[:0]) == await ask(index, "VPN token")


async def test_tokens_that_do_not_fit_the_chunks_are_refused(index: SearchIndex) -> None:
    if not isinstance(index, EmbeddedIndex):
        pytest.skip("This index does not keep tokens.")
    vectors = await EMBEDDER.embed(VPN.texts)
    for tokens in ([np.zeros((2, 8), dtype=np.uint8)], [np.zeros((2, 7), dtype=np.uint8)] * 2):
        with pytest.raises(ValueError, match="needs 2 times tokens of 8 bytes"):
            await index.upsert_page(VPN.page, VPN.chunks, vectors, tokens)


ODD = [
    '"vpn',
    "vpn AND OR NOT NEAR(vpn token)",
    "title:vpn",
    "vpn*",
    "^vpn",
    "(vpn",
    "-vpn",
    "{vpn}",
    "vpn + token",
    "vpn; DROP TABLE chunks; --",
    "vpn 🙂",
    "vpn\x00token",
    "vpn _ __ token",
    "vpn's token",
    "vpn \ud83d token",
    "vpn " * 2500,
    " ".join(f"word{number}" for number in range(1500)) + " vpn",
    "ＶＰＮ vpn ﬁle",
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_questions_find_what_their_words_say(index: SearchIndex, text: str) -> None:
    await put(index, VPN, LEAVE)

    passages = await _ask_without_embedding(index, text)

    assert page_ids(passages)[0] == "vpn"


@pytest.mark.parametrize("text", ["", " \n\t", "🙂", "?!…", "\x00", '""', "_", "\ud83d"])
async def test_a_question_without_words_finds_nothing(index: SearchIndex, text: str) -> None:
    await put(index, VPN, LEAVE)

    assert await _ask_without_embedding(index, text) == ()


async def test_a_question_of_stop_words_alone_is_still_a_question(index: SearchIndex) -> None:
    await put(index, draft("who", "Who we are and what we do"), VPN)

    assert page_ids(await ask(index, "who are we", vector=False)) == ["who"]


async def test_no_passages_are_asked_for_and_none_come(index: SearchIndex) -> None:
    await put(index, VPN)

    assert await ask(index, "VPN", k=0) == ()


async def test_a_search_can_be_limited_to_spaces(index: SearchIndex) -> None:
    await put(index, VPN, replace(VPN, space="hr"), replace(VPN, space="fin"))

    found = await ask(index, "VPN", spaces=frozenset({"hr", "fin", "absent"}))

    assert {passage.chunk.space for passage in found} == {"hr", "fin"}
    assert await ask(index, "VPN", spaces=frozenset()) == ()


@pytest.mark.parametrize("vector", [True, False])
async def test_a_search_can_be_limited_to_a_source_type(
    index: SearchIndex,
    vector: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The limit is inside both searches: 150 better matches of another type push nothing out."""
    crowd = [replace(VPN, id=f"c{n}", texts=("VPN token",) * 5, title="VPN") for n in range(30)]
    sent = replace(VPN, id="sent", texts=("One token in a longer text",), source_type="upload")
    await put(index, *crowd, sent)

    found = await ask(index, "VPN token", source_type="upload", vector=vector)

    assert page_ids(found) == ["sent"]
    assert await ask(index, "VPN token", source_type="absent", vector=vector) == ()


async def test_words_are_counted_in_a_source_type_alone(index: SearchIndex) -> None:
    await put(index, VPN, replace(LEAVE, source_type="upload"))

    asked = replace(IN_ACME, source_type="upload")
    vocabulary = await index.vocabulary(asked, ALL_OF_US, ["vpn", "leave"])

    assert vocabulary in (None, Vocabulary(1, {"vpn": 0, "leave": 1}))


async def test_a_search_can_be_limited_to_a_label(index: SearchIndex) -> None:
    await put(index, VPN, replace(VPN, id="old", labels=("vpn", "retired")))

    assert page_ids(await ask(index, "VPN token", label="Retired")) == ["old", "old"]
    assert await ask(index, "VPN token", label="it's, never|there") == ()


async def test_a_search_can_be_limited_to_recently_changed_pages(index: SearchIndex) -> None:
    day = datetime(2026, 3, 4, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    await put(
        index,
        VPN,
        *(
            replace(VPN, id=f"p{hour}", updated_at=day + timedelta(hours=hour))
            for hour in (-1, 0, 1)
        ),
    )

    found = await ask(index, "VPN token", changed_since=day.astimezone(UTC))

    assert set(page_ids(found)) == {"p0", "p1"}


async def test_excluded_pages_are_left_out(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)

    found = await ask(index, "VPN or annual leave", excluded=frozenset({"vpn", "absent"}))

    assert page_ids(found) == ["leave"]


async def test_exclusion_leaves_the_places_to_others(index: SearchIndex) -> None:
    """Left out inside the searches: what is excluded uses up none of their candidates."""
    crowd = [draft(f"crowd{number:02}", *["VPN token"] * 10) for number in range(25)]
    await put(index, *crowd, draft("last", "VPN token once, in a longer text than the others"))

    found = await ask(index, "VPN token", excluded=frozenset(page.id for page in crowd))

    assert page_ids(found) == ["last"]


async def test_another_opening_sees_what_was_written(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    other = await open_again()
    await put(index, VPN)
    assert set(page_ids(await ask(other, "VPN"))) == {"vpn"}

    await put(index, replace(VPN, texts=("VPN is no more",), version="2"), LEAVE)
    assert [p.chunk.text for p in await ask(other, "VPN", k=1)] == ["VPN is no more"]

    await index.delete_pages("acme", "it", ["vpn"])
    assert page_ids(await ask(other, "VPN")) == ["leave"]


@pytest.mark.replaces_at_once
async def test_a_reader_sees_the_old_page_or_the_new_never_half(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    other = await open_again()
    versions = [
        Draft("vpn", tuple(f"VPN {word} {n}" for n in range(4)), version=word)
        for word in ("old", "new")
    ]
    await put(index, versions[0])
    writing = asyncio.create_task(_alternate(index, versions, times=20))

    searches = 0
    while not writing.done():
        for reader in (index, other):
            found = await ask(reader, "VPN", k=50)
            assert len(found) == 4
            assert len({passage.chunk.text.split()[1] for passage in found}) == 1
            assert all("vector" in passage.signals for passage in found)
            searches += 1
    await writing
    assert searches > 2


async def test_two_writers_take_turns(index: SearchIndex, open_again: OpenIndex) -> None:
    other = await open_again()

    await asyncio.gather(
        *(put(index, draft(f"a{number}", "VPN token")) for number in range(15)),
        *(put(other, draft(f"b{number}", "VPN token")) for number in range(15)),
    )

    assert await index.spaces("acme") == {"it": 30}


async def test_the_fingerprint_names_embedder_and_dimensions(index: SearchIndex) -> None:
    await put(index, VPN)

    kept = await index.fingerprint()

    assert isinstance(kept, Fingerprint)
    assert (kept.embedder, kept.dimensions) == ("words@1", 64)


class OtherEmbedder(WordEmbedder):
    name = "words@2"


async def test_an_index_of_another_embedder_is_refused_with_the_cure(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    await put(index, VPN)

    with pytest.raises(IndexMismatch, match=r"'words@1'.*'words@2'.*run the ingestion again"):
        await open_again(OtherEmbedder())


async def test_the_first_of_two_embedders_to_write_keeps_the_index(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    other = await open_again(OtherEmbedder())
    await put(index, VPN)

    with pytest.raises(IndexMismatch):
        await put(other, LEAVE)

    assert set(await index.pages("acme", "it")) == {"vpn"}


async def test_an_index_emptied_of_pages_takes_another_embedder(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    await put(index, VPN)
    await index.delete_pages("acme", "it", ["vpn"])

    other = await open_again(OtherEmbedder())
    await put(other, VPN)

    assert (await ask(other, "VPN"))[0].signals["vector_rank"] == 1


async def test_an_index_opens_without_an_embedder_for_keywords_alone(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    await put(index, VPN)

    bare = await open_again(None)

    assert set(page_ids(await ask(bare, "VPN token", vector=False))) == {"vpn"}
    assert await bare.delete_pages("acme", "it", ["vpn"]) == 1


async def test_pages_written_without_an_embedder_get_vectors_as_they_come(
    open_again: OpenIndex,
) -> None:
    await put(await open_again(None), VPN, LEAVE, vectors=False)

    later = await open_again()
    await put(later, VPN)

    found = {passage.chunk.page_id: passage.signals for passage in await ask(later, "VPN leave")}
    assert "vector" in found["vpn"]
    assert "vector" not in found["leave"]


async def test_the_vocabulary_counts_chunks_by_the_stem_of_a_word(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE, replace(LEAVE, tenant="other"))

    asked = ["requesting", "vpn", "absent", '"', "🙂"]

    vocabulary = await index.vocabulary(IN_ACME, ALL_OF_US, asked)

    if vocabulary is None:
        pytest.skip("This index does not count words.")
    assert vocabulary.chunks == 3
    assert vocabulary.frequencies == {"requesting": 1, "vpn": 2, "absent": 0, '"': 0, "🙂": 0}


async def test_no_count_tells_of_a_page_that_may_not_be_found(index: SearchIndex) -> None:
    await put(index, VPN, LEAVE)
    without = await index.vocabulary(IN_ACME, ALL_OF_US, ["vpn", "secretword"])
    if without is None:
        pytest.skip("This index does not count words.")

    secret = replace(draft("secret", "secretword vpn"), readers=(frozenset({Principal("user:1")}),))
    await put(index, secret)

    assert await index.vocabulary(IN_ACME, ALL_OF_US, ["vpn", "secretword"]) == without
    left_out = replace(IN_ACME, excluded_pages=frozenset({"vpn"}))
    counted = await index.vocabulary(left_out, ALL_OF_US, ["vpn"])
    assert counted is not None
    assert counted.frequencies["vpn"] < without.frequencies["vpn"]


async def test_the_vocabulary_counts_what_changed_since_it_was_asked(index: SearchIndex) -> None:
    async def count() -> int:
        vocabulary = await index.vocabulary(IN_ACME, ALL_OF_US, ["vpn"])
        if vocabulary is None:
            pytest.skip("This index does not count words.")
        return vocabulary.chunks

    await put(index, VPN)
    before = await count()
    await put(index, LEAVE)
    added = await count()
    await index.set_readers("acme", "it", "vpn", (frozenset({Principal("user:1")}),))
    restricted = await count()
    await index.delete_pages("acme", "it", ["leave"])

    assert (added - before, restricted, await count()) == (1, 1, 0)


async def test_chunks_of_another_page_are_refused(index: SearchIndex) -> None:
    with pytest.raises(ValueError, match="does not belong to page 'leave'"):
        await index.upsert_page(LEAVE.page, VPN.chunks, None)


async def test_chunks_with_other_readers_than_their_page_are_refused(index: SearchIndex) -> None:
    secret = replace(VPN, readers=(frozenset({Principal("user:1")}),))
    with pytest.raises(ValueError, match="other readers than its page 'vpn'"):
        await index.upsert_page(VPN.page, secret.chunks, None)


async def test_a_chunk_id_taken_by_another_page_is_refused(index: SearchIndex) -> None:
    await put(index, VPN)
    thief = [replace(LEAVE.chunks[0], id=VPN.chunks[0].id)]

    with pytest.raises(ValueError, match="already in the index"):
        await index.upsert_page(LEAVE.page, thief, None)

    assert set(await index.pages("acme", "it")) == {"vpn"}


async def test_vectors_that_do_not_fit_the_chunks_are_refused(index: SearchIndex) -> None:
    for shape in ((1, 64), (2, 63), (64,)):
        with pytest.raises(ValueError, match="vectors of shape"):
            await index.upsert_page(VPN.page, VPN.chunks, np.zeros(shape, dtype=np.float32))


async def _alternate(index: SearchIndex, versions: list[Draft], times: int) -> None:
    for number in range(times):
        await put(index, versions[number % 2])


async def _ask_without_embedding(index: SearchIndex, text: str) -> tuple[Passage, ...]:
    vector = await EMBEDDER.embed_query("vpn")
    question = Question(text=text, tenant="acme", vector=vector)
    return await index.search(question, frozenset({EVERYONE}), 10)
