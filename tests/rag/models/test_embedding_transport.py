"""What embeddings are asked for by: base64 where a server knows it, else numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from rag.models.client import Endpoint, connect
from rag.models.embedding.transport import EmbeddedTexts, EmbeddingTransport
from rag.models.protocol import EmbeddingDialect, Rejection, says_too_long
from rag.retrying import Deadline
from tests.rag.models.asking import FAST
from tests.rag.models.embedding_server import LENGTH, NAMES, embeds, refuses, unit, vector_of
from tests.rag.models.openai_server import KEY, Answer, OpenAIServer, openai_server


@asynccontextmanager
async def transport(answer: Answer) -> AsyncIterator[tuple[EmbeddingTransport, OpenAIServer]]:
    async with openai_server(answer) as server:
        connection = connect(Endpoint(server.url, KEY, NAMES), 5)
        dialect = EmbeddingDialect("base64")
        try:
            yield EmbeddingTransport(connection.client, "small", dialect, NAMES), server
        finally:
            await connection.close()


async def test_base64_gives_the_same_vectors_as_numbers() -> None:
    async with transport(embeds()) as (sending, server):
        answer = await sending.send(["one", "two"], FAST, Deadline(5))

    assert isinstance(answer, EmbeddedTexts)
    assert server.seen[0].body["encoding_format"] == "base64"
    expected = np.array([unit(vector_of("one")), unit(vector_of("two"))])
    assert answer.vectors == pytest.approx(expected, abs=1e-6)
    assert answer.vectors.shape == (2, LENGTH)


async def test_a_server_that_knows_no_base64_is_asked_for_numbers_from_then_on() -> None:
    def base64(body: dict[str, object]) -> bool:
        return body["encoding_format"] == "base64"

    picky = refuses(base64, "encoding_format must be float", embeds())
    async with transport(picky) as (sending, server):
        await sending.send(["one"], FAST, Deadline(5))
        await sending.send(["two"], FAST, Deadline(5))

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
