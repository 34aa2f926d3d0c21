"""A question is searched for, and the sections of what was found are read whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pytest
from structlog.testing import capture_logs

from rag.answer.extractive import ExtractiveComposer
from rag.errors import ModelUnavailable
from rag.index.embedded.index import fingerprint_of, open_index
from rag.pipeline import MOST_ADDED, Pipeline
from rag.ports import Composer, Composition
from rag.search_scope import Asked, Scope
from rag.text.spelling import MOST_WORDS
from rag.types import EVERYONE, Answer, Passage, Principal, Vectors
from tests.fakes.passages import Draft, draft, put
from tests.fakes.rag_ports import WordEmbedder


class Away(WordEmbedder):
    async def embed_query(self, text: str) -> Vectors:
        raise ModelUnavailable("The model 'small' answered 503 and is busy or broken.")


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
async def test_an_embedder_that_is_away_costs_the_vectors_and_not_the_answer(
    tmp_path: Path, *, away: bool
) -> None:
    embedder = Away() if away else WordEmbedder()
    stored = draft("vpn", "Error 809 means that UDP port 4500 is blocked.")
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(embedder))
    vectors = await embedder.embed([chunk.text for chunk in stored.chunks])
    await index.upsert_page(stored.page, stored.chunks, vectors)
    pipeline = Pipeline(index, embedder, ExtractiveComposer(None))

    with capture_logs() as logs:
        found = await pipeline.retrieve("error 809", Scope("acme", frozenset({EVERYONE})))
    await index.close()

    (passage,) = found.passages
    assert "keyword" in passage.signals
    assert ("vector" in passage.signals) is not away
    assert (found.vector is None) is away
    assert [each["event"] for each in logs] == (["retrieval.by_words_alone"] if away else [])


@dataclass(frozen=True)
class Recorder:
    """A composer that says nothing and keeps what it was given."""

    name: Literal["extractive", "model"]
    given: list[Passage] = field(default_factory=list)

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        del question, attached, asked
        self.given.extend(passages)
        return Composition(claims=())


@pytest.mark.parametrize("name", ["extractive", "model"])
async def test_a_composer_reads_the_whole_section_of_what_was_found(
    tmp_path: Path, name: Literal["extractive", "model"]
) -> None:
    texts = ("Error 809 on the way in.", "Second.", "Third.", "Fourth.")
    recorder = Recorder(name)
    pipeline = await _over(tmp_path, draft("vpn", *texts), recorder)

    await _asked(pipeline, "error 809")

    assert [passage.chunk.text for passage in recorder.given] == list(texts)


async def test_a_section_for_a_model_is_bounded(tmp_path: Path) -> None:
    texts = ["Error 809 on the way in.", *(f"Part {n}." for n in range(40))]
    recorder = Recorder("model")
    pipeline = await _over(tmp_path, draft("vpn", *texts), recorder)

    found = await _asked(pipeline, "error 809")

    assert len(recorder.given) <= len(found.passages) + MOST_ADDED


async def test_of_what_completes_a_section_only_what_is_quoted_is_recorded(tmp_path: Path) -> None:
    texts = ["1. Error 809: open.", "2. Press.", *(f"{'More words here. ' * 30}" for _ in range(4))]
    pipeline = await _over(tmp_path, draft("vpn", *texts), ExtractiveComposer(None))

    answer = await _asked(pipeline, "error 809")

    cited = {citation.chunk_id for claim in answer.claims for citation in claim.citations}
    assert len(cited) > 1
    assert {passage.chunk.id for passage in answer.passages} == cited


async def _over(tmp_path: Path, stored: Draft, composer: Composer) -> Pipeline:
    index = await open_index(tmp_path / "index.sqlite", None)
    await index.upsert_page(stored.page, stored.chunks, None)
    return Pipeline(index, None, composer)


async def _asked(pipeline: Pipeline, question: str) -> Answer:
    scope = Scope("acme", frozenset({EVERYONE}))
    return await pipeline.compose(await pipeline.retrieve(question, scope), scope)


async def _corrector(path: Path, *stored: Draft) -> Pipeline:
    """Return a pipeline over pages for which no word is common English."""
    embedder = WordEmbedder()
    index = await open_index(path / "index.sqlite", fingerprint_of(embedder))
    await put(index, *stored)
    return Pipeline(index, embedder, ExtractiveComposer(None), is_word="tower".__eq__)


async def test_a_mistyped_question_is_searched_for_as_pages_spell_it(tmp_path: Path) -> None:
    pipeline = await _corrector(tmp_path, draft("a", "The printer."), draft("b", "The towel."))
    scope = Scope("acme", frozenset({EVERYONE}))

    found = await pipeline.retrieve("Prnter?", scope)
    typed = await pipeline.retrieve("prnter", scope, corrects=False)

    assert (found.question, found.corrected) == ("Printer?", True)
    assert found.passages[0].signals["vector"] > 0.4
    assert (typed.question, typed.corrected) == ("prnter", False)
    assert "keyword" not in typed.passages[0].signals


async def test_a_question_whose_words_are_known_is_searched_for_as_typed(tmp_path: Path) -> None:
    pipeline = await _corrector(tmp_path, draft("a", "The printer."), draft("b", "The towel."))
    scope = Scope("acme", frozenset({EVERYONE}))

    for question in ("Where is the printer", "a tower", "INC0012345 prnter7"):
        found = await pipeline.retrieve(question, scope)
        typed = await pipeline.retrieve(question, scope, corrects=False)
        assert found == replace(typed, timings_ms=found.timings_ms)


async def test_a_page_that_only_others_may_read_corrects_nothing(tmp_path: Path) -> None:
    staff = Principal("group:staff")
    hidden = Draft("h", ("The printer.",), readers=(frozenset({staff}),))
    pipeline = await _corrector(tmp_path, hidden, draft("b", "The towel."))

    found = await pipeline.retrieve("prnter", Scope("acme", frozenset({EVERYONE})))
    of_staff = await pipeline.retrieve("prnter", Scope("acme", frozenset({EVERYONE, staff})))

    assert (found.question, found.corrected) == ("prnter", False)
    assert of_staff.question == "printer"


async def test_a_message_of_very_many_words_names_nothing(tmp_path: Path) -> None:
    words = [f"widget{number}" for number in range(MOST_WORDS + 1)]
    titles = [" ".join(words[:-1]), " ".join(words)]
    drafts = [Draft(f"p{n}", ("Read on.",), title=title) for n, title in enumerate(titles)]
    pipeline, scope = await _corrector(tmp_path, *drafts), Scope("acme", frozenset({EVERYONE}))

    assert await pipeline.names_something(titles[0], scope)
    assert not await pipeline.names_something(titles[1], scope)


async def test_the_row_that_defines_a_term_comes_first_when_its_meaning_is_asked(
    tmp_path: Path,
) -> None:
    glossary = "| Short | Long |\n|---|---|\n| TOIL | Time off in lieu |\n| WFH | Work from home |"
    used = "What TOIL does: TOIL, TOIL and more TOIL mean rest."
    pipeline = await _corrector(tmp_path, draft("used", used), draft("words", glossary))
    scope = Scope("acme", frozenset({EVERYONE}))

    meaning = await pipeline.retrieve("what does TOIL mean", scope)
    use = await pipeline.retrieve("how much TOIL may I take", scope)

    assert [each.chunk.page_id for each in meaning.passages] == ["words", "used"]
    assert [each.chunk.page_id for each in use.passages] == ["used", "words"]
    assert [each.score for each in meaning.passages] == sorted(
        (each.score for each in meaning.passages), reverse=True
    )


@pytest.mark.parametrize(
    ("question", "further"), [("leave", 2), ("is it", 0), ("leave for sick children", 0)]
)
async def test_what_a_broad_question_also_names_is_kept_apart(
    tmp_path: Path, question: str, further: int
) -> None:
    named = [Draft(f"p{n}", ("It is leave.",), title="Leave") for n in range(7)]
    pipeline = await _corrector(tmp_path, *named)

    found = await pipeline.retrieve(question, Scope("acme", frozenset({EVERYONE})))

    assert (len(found.passages), len(found.further)) == (5, further)
    pages = [each.chunk.page_id for each in (*found.passages, *found.further)]
    assert len(set(pages)) == len(pages)
