"""What an embeddings server answers, well or badly, and an embedder of ours that asks it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np
from aiohttp import web

from rag.models.client import Endpoint, SettingNames
from rag.models.embedding.openai_compatible import (
    EmbedderSettings,
    OpenAIEmbedder,
    RetryBudget,
    open_openai_embedder,
)
from tests.rag.models.asking import FAST
from tests.rag.models.openai_server import KEY, Answer, OpenAIServer, openai_server

LENGTH = 8
NAMES = SettingNames("EMBEDDING_MODEL", "EMBEDDING_BASE_URL", "EMBEDDING_API_KEY")
SMALL = "text-embedding-3-small"

Change = Callable[[dict[str, object]], object]


def vector_of(text: str, length: int = LENGTH) -> list[float]:
    """Return the vector that the server has for a text, of any length but one."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte - 127.5 for byte in digest[:length]]


def unit(numbers: Sequence[float]) -> list[float]:
    """Return a vector's direction."""
    array = np.asarray(numbers, dtype=np.float64)
    return [float(number) for number in array / np.linalg.norm(array)]


def texts_of(body: dict[str, object]) -> list[str]:
    """Return the texts of a request."""
    texts = body["input"]
    assert isinstance(texts, list)
    return texts


def reply_to(body: dict[str, object], length: int = LENGTH) -> dict[str, object]:
    """The JSON of a good answer: as it was asked for, in reverse order, three tokens a text."""
    rows: list[dict[str, object]] = []
    for index, text in enumerate(texts_of(body)):
        vector = vector_of(text, length)
        encoded = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
        wanted = encoded if body.get("encoding_format") == "base64" else vector
        rows.insert(0, {"object": "embedding", "index": index, "embedding": wanted})
    usage = {"prompt_tokens": 3 * len(rows), "total_tokens": 3 * len(rows)}
    return {"object": "list", "data": rows, "model": SMALL, "usage": usage}


def embeds(length: int | None = None, *, changed: Change | None = None) -> Answer:
    """Answer properly, with vectors as long as was asked for, else as ``length`` says.

    ``changed`` makes the answer what it should not be.
    """

    async def answer(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
        wanted = body.get("dimensions", LENGTH)
        assert isinstance(wanted, int)
        reply = reply_to(body, length or wanted)
        if changed is not None:
            changed(reply)
        return web.Response(text=json.dumps(reply), content_type="application/json")

    return answer


def refuses(
    when: Callable[[dict[str, object]], bool], message: str, otherwise: Answer, status: int = 400
) -> Answer:
    """Answer with an error where ``when`` holds of a request, else properly."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        if when(body):
            error = {"message": message, "type": "invalid_request_error", "code": None}
            return web.json_response({"error": error}, status=status)
        return await otherwise(request, body)

    return answer


@asynccontextmanager
async def embedding(
    *answers: Answer, seconds: float = 5.0, **changes: object
) -> AsyncIterator[tuple[OpenAIEmbedder, OpenAIServer]]:
    """Open an embedder of vectors of LENGTH numbers that asks a server with these answers."""
    async with openai_server(*answers) as server:
        settings = EmbedderSettings(
            **{
                "model": "small",
                "endpoint": Endpoint(server.url, KEY, NAMES),
                "dimensions": LENGTH,
                "queries": RetryBudget(seconds, FAST),
                "texts": RetryBudget(seconds, FAST),
                **changes,
            }  # type: ignore[arg-type]  # a test says what it changes
        )
        embedder = await open_openai_embedder(settings)
        try:
            yield embedder, server
        finally:
            await embedder.close()
