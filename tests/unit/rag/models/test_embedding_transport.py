"""Encodings of vectors that a server knows, and bounds of tokens and batches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from rag.models.client import Endpoint, connect
from rag.models.embedding_transport import (
    MOST_TEXTS,
    MOST_TOKENS,
    EmbeddedTexts,
    EmbeddingTransport,
    batches,
    estimate_tokens,
    truncate,
)
from rag.models.model_files import TOKENIZER, find_model_file
from rag.models.protocol import EmbeddingDialect, Rejection, says_too_long
from rag.retrying import Deadline
from tests.fakes.model_server import (
    KEY,
    QUICK_RETRIES,
    SETTING_NAMES,
    VECTOR_LENGTH,
    Answer,
    OpenAIServer,
    embeds,
    openai_server,
    refuses,
    unit,
    vector_of,
)


@asynccontextmanager
async def transport(answer: Answer) -> AsyncIterator[tuple[EmbeddingTransport, OpenAIServer]]:
    async with openai_server(answer) as server:
        connection = connect(Endpoint(server.url, KEY, SETTING_NAMES), 5)
        dialect = EmbeddingDialect("base64")
        try:
            yield EmbeddingTransport(connection.client, "small", dialect, SETTING_NAMES), server
        finally:
            await connection.close()


async def test_base64_gives_the_same_vectors_as_numbers() -> None:
    async with transport(embeds()) as (sending, server):
        answer = await sending.send(["one", "two"], QUICK_RETRIES, Deadline(5))

    assert isinstance(answer, EmbeddedTexts)
    assert server.seen[0].body["encoding_format"] == "base64"
    expected = np.array([unit(vector_of("one")), unit(vector_of("two"))])
    assert answer.vectors == pytest.approx(expected, abs=1e-6)
    assert answer.vectors.shape == (2, VECTOR_LENGTH)


async def test_a_server_that_knows_no_base64_is_asked_for_numbers_from_then_on() -> None:
    def base64(body: dict[str, object]) -> bool:
        return body["encoding_format"] == "base64"

    picky = refuses(base64, "encoding_format must be float", embeds())
    async with transport(picky) as (sending, server):
        await sending.send(["one"], QUICK_RETRIES, Deadline(5))
        await sending.send(["two"], QUICK_RETRIES, Deadline(5))

    assert [each.body["encoding_format"] for each in server.seen] == ["base64", "float", "float"]


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
        "the input length exceeds the context length",
        "input is too large to process. increase the physical batch size",
        "Input validation error: `inputs` must have less than 512 tokens. Given: 900",
    ],
)
def test_servers_say_in_many_words_that_a_text_is_too_long(message: str) -> None:
    assert says_too_long(Rejection(message))


def test_what_is_not_about_the_way_of_asking_is_not_asked_otherwise() -> None:
    assert EmbeddingDialect("base64", 256).after(Rejection("input is empty")) is None
    assert EmbeddingDialect("float").after(Rejection("bad dimensions")) is None


ROOT = Path(__file__).parents[4]
PAGES = sorted((ROOT / "infra" / "sample").rglob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
CODE = sorted((ROOT / "rag").glob("*.py"))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    opened = Tokenizer.from_file(str(find_model_file(TOKENIZER)))
    opened.no_padding()
    opened.no_truncation()
    return opened


def counted(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("page", PAGES + CODE, ids=lambda page: page.name)
def test_a_page_is_never_counted_too_low_nor_absurdly_high(
    tokenizer: Tokenizer, page: Path
) -> None:
    text = page.read_text()
    real = counted(tokenizer, text)

    assert real <= estimate_tokens(text) <= 1.7 * real


def test_paragraphs_counted_too_low_are_few_and_short_of_little(tokenizer: Tokenizer) -> None:
    paragraphs = [part for page in PAGES for part in page.read_text().split("\n\n") if part.strip()]
    low = [part for part in paragraphs if estimate_tokens(part) < counted(tokenizer, part)]

    assert len(low) <= len(paragraphs) / 100
    assert all(counted(tokenizer, part) - estimate_tokens(part) <= 4 for part in low)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Как сбросить пароль от учётной записи?", 1.0),
        ("重置密码的方法是什么", 1.0),
        ("パスワードを再設定するにはどうすればいいですか", 1.0),
        ("Die Benutzerkontensteuerung verhindert das Passwortzurücksetzen", 0.85),
        ("a8f5f167f44f4964e6c998dee827110c", 0.85),
    ],
    ids=["Russian", "Chinese", "Japanese", "German compounds", "a hash"],
)
def test_other_scripts_and_odd_words_are_counted_nearly_as_high(
    tokenizer: Tokenizer, text: str, share: float
) -> None:
    assert estimate_tokens(text) >= share * counted(tokenizer, text)


@given(st.text(), st.text())
def test_counts_of_lines_add_up(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") == estimate_tokens(one) + 1 + estimate_tokens(other)


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_a_cut_text_is_a_beginning_that_fits(text: str, tokens: int) -> None:
    shorter = truncate(text, tokens)

    assert text.startswith(shorter)
    assert estimate_tokens(shorter) <= tokens
    assert shorter == text or estimate_tokens(text) > tokens


@given(st.lists(st.text(max_size=20)))
def test_batches_are_the_texts_in_order_and_within_bounds(texts: list[str]) -> None:
    cut_up = list(batches(texts, lambda text: len(text) * 10_000, most_texts=5))

    assert [text for batch in cut_up for text in batch] == texts
    for batch in cut_up:
        assert 0 < len(batch) <= 5
        assert len(batch) == 1 or sum(map(len, batch)) * 10_000 <= MOST_TOKENS


def test_64_texts_go_in_one_request() -> None:
    assert [len(batch) for batch in batches(["x"] * 65, len)] == [MOST_TEXTS, 1]
