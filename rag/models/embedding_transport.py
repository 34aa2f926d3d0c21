"""Send texts to an embeddings server: estimate tokens, batch, rate-limit, retry, count use.

Tokens are estimated because the tokenizers of hosted models are downloaded at first use. The
estimate errs upwards: whole pages of English and code are counted 15 to 55 % higher than by
WordPiece, single lines of odd words sometimes a little lower (tests/unit/rag/models). A text that
is too long nevertheless is rejected by the server, and truncated then.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import httpx2
import numpy as np
from openai import APIError, APIStatusError, AsyncOpenAI, omit

from rag.errors import ModelUnavailable
from rag.models.client import SettingNames, TryAgain, cost_micro_usd, read_body, translate_error
from rag.models.protocol import (
    EmbeddingDialect,
    EmbeddingReply,
    Rejection,
    Usage,
    VectorsInvalid,
    read_embeddings,
    vectors_of,
)
from rag.retrying import Deadline, RetryPolicy, with_retries
from rag.types import EmbeddingUse, Vectors

_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]{1,24})|(?P<capitals>[A-Z]{1,24})|(?P<digits>[0-9]{1,24})"
    r"|(?P<space>[ \t]{1,24})|(?P<mark>[\x00-\x7f])|(?P<other>[^\x00-\x7f])"
)
# Estimated characters per token, by kind of piece.
_LETTERS_OF_A_WORD = 4
_LETTERS_OF_A_LONG_WORD = 3
_LONG_WORD = 12
_CAPITALS = 2
_DIGITS = 2
# The first code points that UTF-8 encodes in three and four bytes.
_THREE_BYTES = 0x800
_FOUR_BYTES = 0x10000


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text, rather too many than too few.

    Estimates are additive: that of a text is the sum of those of its lines.
    """
    return sum(_tokens(piece) for piece in _PIECE.finditer(text))


def truncate(text: str, tokens: int) -> str:
    """Return the longest prefix of a text, in whole pieces, of at most ``tokens`` tokens."""
    total = 0
    for piece in _PIECE.finditer(text):
        total += _tokens(piece)
        if total > tokens:
            return text[: piece.start()]
    return text


def _tokens(piece: re.Match[str]) -> int:
    length = piece.end() - piece.start()
    match piece.lastgroup:
        case "word":
            # Long words (compounds) split into shorter pieces than short ones do.
            letters = _LETTERS_OF_A_WORD if length <= _LONG_WORD else _LETTERS_OF_A_LONG_WORD
            return -(-length // letters)
        case "capitals":
            return -(-length // _CAPITALS)
        case "digits":
            return -(-length // _DIGITS)
        case "space":
            # One space is part of the next word's token; an indent is a token of its own.
            return 0 if length == 1 else 1
        case "other":
            return _of_letter(piece.group())
        case _:
            return 1


def _of_letter(letter: str) -> int:
    """Estimate the tokens of a non-ASCII character, which vocabularies may split into bytes."""
    if ord(letter) < _THREE_BYTES:
        return 1
    return 2 if ord(letter) < _FOUR_BYTES else 4


MOST_TEXTS = 64
MOST_TOKENS = 250_000
"""The most tokens of a request, below the 300,000 that OpenAI accepts."""


def batches(
    texts: Sequence[str], count_tokens: Callable[[str], int], most_texts: int = MOST_TEXTS
) -> Iterator[Sequence[str]]:
    """Split texts into batches for one request each; a text over the limit is a batch alone."""
    batch: list[str] = []
    total = 0
    for text in texts:
        tokens = count_tokens(text)
        if batch and (len(batch) == most_texts or total + tokens > MOST_TOKENS):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += tokens
    if batch:
        yield batch


_MINUTE = 60.0


class TokenRate:
    """A rate limiter of tokens per minute: each request waits until the earlier ones are paid off.

    ``tokens_per_minute`` 0 means no limit. For use in one event loop.
    """

    def __init__(self, tokens_per_minute: int) -> None:
        self._a_second = tokens_per_minute / _MINUTE
        self._free_at = 0.0

    async def take(self, tokens: int) -> None:
        """Wait until a request of ``tokens`` tokens may be sent."""
        if not self._a_second:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._free_at)
        self._free_at = start + tokens / self._a_second
        await asyncio.sleep(start - now)

    def give_back(self, tokens: int) -> None:
        """Credit the tokens by which a request's estimate exceeded the server's count."""
        if self._a_second:
            self._free_at -= tokens / self._a_second


LARGEST_REPLY_BYTES = 32 * 1024 * 1024
_REJECTIONS = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """The vectors of texts, and the number of their tokens."""

    vectors: Vectors
    tokens: int

    def __add__(self, other: EmbeddedTexts) -> EmbeddedTexts:
        vectors = np.concatenate([self.vectors, other.vectors])
        return EmbeddedTexts(vectors, self.tokens + other.tokens)


@dataclass(slots=True)
class _Use:
    tokens: int = 0
    requests: int = 0
    cut: int = 0
    answered_by: str = ""


class EmbeddingTransport:
    """Sends embeddings requests for one model; remembers the dialect its server accepts."""

    def __init__(
        self, client: AsyncOpenAI, model: str, dialect: EmbeddingDialect, names: SettingNames
    ) -> None:
        self.model = model
        self.names = names
        self._client = client
        self._dialect = dialect
        self._spent = _Use()

    @property
    def use(self) -> EmbeddingUse:
        """The tokens, requests, cost and truncated texts so far."""
        spent = self._spent
        return EmbeddingUse(spent.tokens, spent.requests, self.cost(spent.tokens), spent.cut)

    def cost(self, tokens: int) -> int | None:
        """Return the price of ``tokens`` in millionths of a US dollar; None if unknown.

        Priced by the model that the server names in its replies, if known.
        """
        names = tuple(filter(None, (self._spent.answered_by, self.model)))
        return cost_micro_usd(Usage(prompt_tokens=tokens), names, str(self._client.base_url))

    def count_cut(self) -> None:
        """Count a truncated text."""
        self._spent.cut += 1

    async def send(
        self, texts: Sequence[str], policy: RetryPolicy, deadline: Deadline
    ) -> EmbeddedTexts | Rejection:
        """Return the vectors of texts, or the server's rejection in its last dialect.

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
    ) -> EmbeddedTexts | Rejection:
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
            # ``from None``: error bodies may repeat the key or the texts.
            raise translate_error(error, self.model, self.names) from None
        except APIError as error:
            raise translate_error(error, self.model, self.names) from None
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
            content = await read_body(response.iter_bytes(), LARGEST_REPLY_BYTES)
        if content is None:
            raise ModelUnavailable(
                f"The model {self.model!r} sent more than {LARGEST_REPLY_BYTES} bytes; check "
                f"{self.names.base_url}."
            )
        return content

    async def _taken(self, reply: EmbeddingReply, texts: Sequence[str]) -> EmbeddedTexts:
        tokens = reply.usage.prompt_tokens if reply.usage else 0
        tokens = tokens or sum(map(estimate_tokens, texts))
        self._spent.tokens += tokens
        self._spent.answered_by = reply.model or ""
        try:
            return EmbeddedTexts(await asyncio.to_thread(vectors_of, reply, len(texts)), tokens)
        except VectorsInvalid as error:
            raise ModelUnavailable(
                f"The model {self.model!r} gave no usable vectors: {error}. Check that "
                f"{self.names.model} is a model for embeddings."
            ) from None
