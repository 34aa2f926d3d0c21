"""Sends texts to an embeddings server, again where that helps, and counts what that takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2
import numpy as np
from openai import APIError, APIStatusError, AsyncOpenAI, omit

from rag.errors import ModelUnavailable
from rag.models.bodies import whole_body
from rag.models.dialect import Rejection
from rag.models.embedding_dialect import EmbeddingDialect
from rag.models.embedding_wire import EmbeddingReply, VectorsInvalid, read_embeddings, vectors_of
from rag.models.pricing import cost_micro_usd
from rag.models.retrying import Deadline, RetryPolicy, TryAgain, with_retries
from rag.models.setting_names import SettingNames
from rag.models.token_bounds import most_tokens
from rag.models.vendor_errors import translated
from rag.models.wire import Usage
from rag.types import EmbeddingUse, Vectors

LARGEST_REPLY_BYTES = 32 * 1024 * 1024
_REJECTIONS = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some texts, and the tokens that they were."""

    vectors: Vectors
    tokens: int

    def __add__(self, other: Embedded) -> Embedded:
        vectors = np.concatenate([self.vectors, other.vectors])
        return Embedded(vectors, self.tokens + other.tokens)


@dataclass(slots=True)
class _Spent:
    tokens: int = 0
    requests: int = 0
    cut: int = 0
    answered_by: str = ""


class EmbeddingTransport:
    """One model behind one client; remembers the dialect that its server accepts."""

    def __init__(
        self, client: AsyncOpenAI, model: str, dialect: EmbeddingDialect, names: SettingNames
    ) -> None:
        self.model = model
        self.names = names
        self._client = client
        self._dialect = dialect
        self._spent = _Spent()

    @property
    def use(self) -> EmbeddingUse:
        """What was sent so far, and what that costs."""
        spent = self._spent
        return EmbeddingUse(spent.tokens, spent.requests, self.cost(spent.tokens), spent.cut)

    def cost(self, tokens: int) -> int | None:
        """Return what so many tokens cost, by the model that answers where that is known."""
        names = tuple(filter(None, (self._spent.answered_by, self.model)))
        return cost_micro_usd(Usage(prompt_tokens=tokens), names, str(self._client.base_url))

    def count_cut(self) -> None:
        """Note that the end of a text was left out."""
        self._spent.cut += 1

    async def send(
        self, texts: Sequence[str], policy: RetryPolicy, deadline: Deadline
    ) -> Embedded | Rejection:
        """Return the texts' vectors, or why the server does not take them.

        Raises ModelUnavailable.
        """
        try:
            async with asyncio.timeout(deadline.remaining_seconds):
                return await self._send(texts, policy, deadline)
        except TimeoutError:
            raise ModelUnavailable(
                f"The model {self.model!r} gave no vectors within {deadline.seconds:g} seconds; "
                f"check {self.names.base_url} and the model's limits there."
            ) from None

    async def _send(
        self, texts: Sequence[str], policy: RetryPolicy, deadline: Deadline
    ) -> Embedded | Rejection:
        dialect = self._dialect
        while True:
            answer = await self._tried(texts, dialect, policy, deadline)
            if isinstance(answer, EmbeddingReply):
                self._dialect = dialect
                return await self._taken(answer, texts)
            other = dialect.after(answer)
            if other is None:
                return answer
            dialect = other

    async def _tried(
        self,
        texts: Sequence[str],
        dialect: EmbeddingDialect,
        policy: RetryPolicy,
        deadline: Deadline,
    ) -> EmbeddingReply | Rejection:
        async def post() -> EmbeddingReply | Rejection:
            return await self._post(texts, dialect)

        return await with_retries(post, policy, deadline)

    async def _post(
        self, texts: Sequence[str], dialect: EmbeddingDialect
    ) -> EmbeddingReply | Rejection:
        self._spent.requests += 1
        try:
            content = await self._read(texts, dialect)
        except APIStatusError as error:
            if error.status_code in _REJECTIONS and error.code != "insufficient_quota":
                return Rejection(error.message, error.code or "", error.param or "")
            # From nothing: error bodies may repeat the key or the texts.
            raise translated(error, self.model, self.names) from None
        except APIError as error:
            raise translated(error, self.model, self.names) from None
        except httpx2.HTTPError:
            raise TryAgain(f"The answer of the model {self.model!r} was cut off.") from None
        reply = await asyncio.to_thread(read_embeddings, content)
        if reply is None:
            raise TryAgain(
                f"The model {self.model!r} answered with something that is no embeddings; check "
                f"{self.names.base_url}, which usually ends in /v1."
            )
        return reply

    async def _read(self, texts: Sequence[str], dialect: EmbeddingDialect) -> bytes:
        request = self._client.embeddings.with_streaming_response.create(
            model=self.model,
            input=list(texts),
            encoding_format=dialect.format,
            dimensions=omit if dialect.dimensions is None else dialect.dimensions,
        )
        async with request as response:
            content = await whole_body(response.iter_bytes(), LARGEST_REPLY_BYTES)
        if content is None:
            raise ModelUnavailable(
                f"The model {self.model!r} sent more than {LARGEST_REPLY_BYTES} bytes; check "
                f"{self.names.base_url}."
            )
        return content

    async def _taken(self, reply: EmbeddingReply, texts: Sequence[str]) -> Embedded:
        tokens = reply.usage.prompt_tokens if reply.usage else 0
        tokens = tokens or sum(map(most_tokens, texts))
        self._spent.tokens += tokens
        self._spent.answered_by = reply.model or ""
        try:
            return Embedded(await asyncio.to_thread(vectors_of, reply, len(texts)), tokens)
        except VectorsInvalid as error:
            raise ModelUnavailable(
                f"The model {self.model!r} gave no usable vectors: {error}. Check that "
                f"{self.names.model} is a model for embeddings."
            ) from None
