"""Embedder on any server with OpenAI's embeddings API, opened from the settings.

Only the key that belongs to the embedding server's own origin is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
import structlog
from azure.core.credentials_async import AsyncTokenCredential

from rag.config import SearchSettings
from rag.errors import ModelUnavailable
from rag.models.client import OPENAI_BASE_URL, Connection, Endpoint, SettingNames, connect
from rag.models.embedding_transport import (
    MOST_TEXTS,
    EmbeddedTexts,
    EmbeddingTransport,
    TokenRate,
    batches,
    estimate_tokens,
    truncate,
)
from rag.models.protocol import EmbeddingDialect, Rejection, says_too_long
from rag.retrying import Deadline, RetryPolicy
from rag.types import EmbeddingUse, Vectors

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """The deadline in seconds of all attempts together, and the retry policy."""

    seconds: float
    policy: RetryPolicy


QUERY_RETRIES = RetryBudget(20.0, RetryPolicy())
"""For questions: short, because a user waits."""

TEXT_RETRIES = RetryBudget(
    900.0,
    RetryPolicy(
        attempts=200, first_wait_seconds=1.0, longest_wait_seconds=30.0, jitter_seconds=2.0
    ),
)
"""For indexing: long enough to outlast an exhausted quota or a restart of the server."""

_LEAST_TOKENS = 16
_EMPTY_TEXT = "-"
"""Sent for a blank text, which servers reject."""


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """The model, server, limits and retries of an embedder.

    Args:
        model: the model's name; on Azure the deployment's.
        endpoint: its server.
        dimensions: the number of dimensions to request; None leaves it to the model.
        max_tokens: the most tokens of a text that the model accepts; the rest is truncated.
        tokens_per_minute: the rate limit of indexing; 0 for none.
        queries: retries for a question.
        texts: retries for each request of indexing.
    """

    model: str
    endpoint: Endpoint = field(default_factory=Endpoint)
    dimensions: int | None = None
    max_tokens: int = 8191
    tokens_per_minute: int = 0
    queries: RetryBudget = QUERY_RETRIES
    texts: RetryBudget = TEXT_RETRIES


class OpenAIEmbedder:
    """Embeds texts on a server with OpenAI's API. Implements `Embedder` and `CountsUse`.

    Created by ``open_openai_embedder``; the owner calls ``close``. Texts over the model's limit
    are truncated, which is counted and logged. Texts and vectors are not cached: ingestion writes
    each page as soon as it is embedded, and resumes an interrupted run with the missing pages.
    """

    def __init__(
        self,
        transport: EmbeddingTransport,
        settings: EmbedderSettings,
        dimensions: int,
        connection: Connection,
    ) -> None:
        self.name = f"{settings.model}@{dimensions}"
        self.dimensions = dimensions
        self.max_tokens = settings.max_tokens
        self._transport = transport
        self._settings = settings
        self._connection = connection
        self._rate = TokenRate(settings.tokens_per_minute)
        self._most_texts = MOST_TEXTS

    @property
    def use(self) -> EmbeddingUse:
        return self._transport.use

    def estimate(self, tokens: int) -> EmbeddingUse:
        return EmbeddingUse(tokens=tokens, cost_micro_usd=self._transport.cost(tokens))

    def count_tokens(self, text: str) -> int:
        """Estimate the number of tokens of a text, rather too many than too few."""
        return estimate_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        answer = await self._embedded([self._seen(text)], self._settings.queries)
        return _row(answer.vectors)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        seen = [self._seen(text) for text in texts]
        vectors: Vectors = np.zeros((0, self.dimensions), dtype=np.float32)
        for batch in batches(seen, estimate_tokens, self._most_texts):
            vectors = np.concatenate([vectors, await self._paced(batch)])
        return vectors

    async def close(self) -> None:
        """Close the client, and the credential created for it."""
        await self._connection.close()

    async def _paced(self, texts: Sequence[str]) -> Vectors:
        estimated = sum(map(estimate_tokens, texts))
        await self._rate.take(estimated)
        answer = await self._embedded(texts, self._settings.texts)
        self._rate.give_back(estimated - answer.tokens)
        return answer.vectors

    async def _embedded(self, texts: Sequence[str], patience: RetryBudget) -> EmbeddedTexts:
        return await self._accepted(texts, patience.policy, Deadline(patience.seconds))

    async def _accepted(
        self, texts: Sequence[str], policy: RetryPolicy, deadline: Deadline
    ) -> EmbeddedTexts:
        """Embed texts in one request; if rejected, in halves, and a single text truncated."""
        answer = await self._transport.send(texts, policy, deadline)
        if isinstance(answer, EmbeddedTexts):
            return self._checked(answer)
        if len(texts) == 1:
            return await self._shorter(texts[0], answer, policy, deadline)
        half = len(texts) // 2
        if "batch" in answer.message.lower():
            # The server limits the number of texts: send smaller batches from now on.
            self._most_texts = half
        first = await self._accepted(texts[:half], policy, deadline)
        return first + await self._accepted(texts[half:], policy, deadline)

    async def _shorter(
        self, text: str, answer: EmbeddedTexts | Rejection, policy: RetryPolicy, deadline: Deadline
    ) -> EmbeddedTexts:
        """Embed ever shorter prefixes of a text that is rejected for its length."""
        seen = text
        while isinstance(answer, Rejection):
            seen = self._half(seen, answer)
            answer = await self._transport.send([seen], policy, deadline)
        self._say_cut(text, seen)
        return self._checked(answer)

    def _checked(self, answer: EmbeddedTexts) -> EmbeddedTexts:
        length = answer.vectors.shape[1]
        if length != self.dimensions:
            raise ModelUnavailable(
                f"The model {self._settings.model!r} gave vectors of {length} numbers instead of "
                f"{self.dimensions}. Set EMBEDDING_DIMENSIONS={length}, and build the index anew."
            )
        return answer

    def _seen(self, text: str) -> str:
        """Return the text to send: valid Unicode, truncated to the model's limit, not blank."""
        sent = text.encode(errors="replace").decode()
        shorter = truncate(sent, self.max_tokens)
        if len(shorter) < len(sent):
            self._say_cut(sent, shorter)
        return shorter if shorter.strip() else _EMPTY_TEXT

    def _half(self, text: str, rejection: Rejection) -> str:
        tokens = estimate_tokens(text) // 2
        if not says_too_long(rejection) or tokens < _LEAST_TOKENS:
            raise request_not_accepted(self._transport)
        return truncate(text, tokens)

    def _say_cut(self, text: str, shorter: str) -> None:
        self._transport.count_cut()
        log.warning(
            "embedding.cut",
            model=self._settings.model,
            characters=len(text),
            seen=len(shorter),
            cure="lower EMBEDDING_MAX_TOKENS to what the model sees",
        )


def request_not_accepted(transport: EmbeddingTransport) -> ModelUnavailable:
    """Return the error for a request that the server rejects in every dialect."""
    return ModelUnavailable(
        f"The model {transport.model!r} does not accept the request; check that "
        f"{transport.names.model} is a model for embeddings."
    )


def _row(vectors: Vectors) -> Vectors:
    row: Vectors = vectors[0]
    return row


def embedder_settings(settings: SearchSettings, model: str) -> EmbedderSettings:
    """Return the settings of an embedder for ``model``."""
    return EmbedderSettings(
        model=model,
        endpoint=_endpoint(settings),
        dimensions=settings.embedding_dimensions,
        max_tokens=settings.embedding_max_tokens,
        tokens_per_minute=settings.embedding_tokens_per_minute,
    )


def _endpoint(settings: SearchSettings) -> Endpoint:
    own = settings.embedding_base_url
    # The chat model's key stays with the chat model's server.
    shared = own is None or _origin(own) == _origin(settings.openai_base_url)
    key = settings.embedding_api_key or (settings.openai_api_key if shared else None)
    return Endpoint(
        base_url=own or settings.openai_base_url,
        api_key=key.get_secret_value() if key else None,
        names=SettingNames(
            model="EMBEDDING_MODEL",
            base_url="EMBEDDING_BASE_URL" if own else "OPENAI_BASE_URL",
            api_key="OPENAI_API_KEY"
            if shared and settings.embedding_api_key is None
            else "EMBEDDING_API_KEY",
        ),
    )


def _origin(address: str | None) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address or OPENAI_BASE_URL)
    return parts.scheme, parts.hostname, parts.port


REQUEST_SECONDS = 60.0
"""The timeout of one request; a question's deadline is shorter."""

_KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Dimensions of OpenAI's models, so that opening the embedder needs no request."""


async def open_openai_embedder(
    settings: EmbedderSettings, credential: AsyncTokenCredential | None = None
) -> OpenAIEmbedder:
    """Open an embedder; a request is sent only to measure unknown dimensions.

    Args:
        settings: the model and its server.
        credential: identity to use when there is no key (rag.models.client.connect).

    Raises:
        ModelUnavailable: the settings are invalid, with the one to change named, or the dimensions
            must be measured and the server does not answer.
    """
    connection = connect(settings.endpoint, REQUEST_SECONDS, credential)
    dialect = EmbeddingDialect(
        "base64" if settings.endpoint.is_vendor else "float", settings.dimensions
    )
    transport = EmbeddingTransport(
        connection.client, settings.model, dialect, settings.endpoint.names
    )
    try:
        dimensions = settings.dimensions or _KNOWN_DIMENSIONS.get(settings.model)
        if dimensions is None:
            dimensions = await _measure_dimensions(transport, settings.queries)
    except BaseException:
        await connection.close()
        raise
    return OpenAIEmbedder(transport, settings, dimensions, connection)


async def _measure_dimensions(transport: EmbeddingTransport, patience: RetryBudget) -> int:
    answer = await transport.send(
        ["How long is a vector?"], patience.policy, Deadline(patience.seconds)
    )
    if isinstance(answer, Rejection):
        raise request_not_accepted(transport)
    return int(answer.vectors.shape[1])
