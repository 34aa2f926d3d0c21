"""Speak OpenAI's protocol in the dialect that a server accepts: chat completions and embeddings.

Servers that speak the same protocol differ in three things: the name of the output limit,
whether a temperature may be given (reasoning models reject it), and how JSON is asked for. Each
is learned from a server's refusals. Replies are read strictly where it matters, else leniently;
vectors are taken only when they can be compared.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from rag.ports import ChatMessage, Prompt
from rag.types import Vectors

LimitField = Literal["max_completion_tokens", "max_tokens"]
JsonFormat = Literal["json_schema", "json_object", "text"]

REASONING_RESERVE_TOKENS = 4096
"""Added to the output limit of models that reject a temperature: they think within the limit."""

_NEXT_FORMAT: Mapping[JsonFormat, JsonFormat] = {
    "json_schema": "json_object",
    "json_object": "text",
}
_NOT_ABOUT_THE_DIALECT = frozenset(
    {"context_length_exceeded", "model_not_found", "string_above_max_length"}
)


@dataclass(frozen=True, slots=True)
class WantedShape:
    """The JSON that an answer must be."""

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rejection:
    """What a server said with status 400 or 422; ``code`` and ``param`` are "" when absent."""

    message: str
    code: str = ""
    param: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to ask."""

    limit: LimitField
    temperature: bool = True
    format: JsonFormat = "json_schema"

    def after(self, rejection: Rejection, *, structured: bool) -> Dialect | None:
        """Return what to try next, or None when asking otherwise would not help."""
        if rejection.code in _NOT_ABOUT_THE_DIALECT:
            return None
        about = f"{rejection.param} {rejection.message}".lower()
        if self.temperature and "temperature" in about:
            return replace(self, temperature=False)
        if self.limit in about:
            return self._with_other_limit()
        if structured and self.format in _NEXT_FORMAT:
            return replace(self, format=_NEXT_FORMAT[self.format])
        return None

    def body(
        self, model: str, prompt: Prompt, messages: Sequence[ChatMessage], shape: WantedShape | None
    ) -> dict[str, object]:
        """Return the request's JSON."""
        limit = prompt.max_output_tokens + (0 if self.temperature else REASONING_RESERVE_TOKENS)
        body: dict[str, object] = {
            "model": model,
            "messages": _message_body((*messages, *self._reminder(shape))),
            self.limit: limit,
        }
        if self.temperature:
            body["temperature"] = prompt.temperature
        if shape is not None and self.format != "text":
            body["response_format"] = self._response_format(shape)
        return body

    def _with_other_limit(self) -> Dialect:
        other: LimitField = "max_tokens"
        if self.limit == "max_tokens":
            other = "max_completion_tokens"
        return replace(self, limit=other)

    def _response_format(self, shape: WantedShape) -> dict[str, object]:
        if self.format == "json_object":
            return {"type": "json_object"}
        schema = {"name": shape.name, "strict": True, "schema": dict(shape.schema)}
        return {"type": "json_schema", "json_schema": schema}

    def _reminder(self, shape: WantedShape | None) -> tuple[ChatMessage, ...]:
        """Say in words what the server does not enforce."""
        if shape is None or self.format == "json_schema":
            return ()
        schema = json.dumps(shape.schema, ensure_ascii=False)
        text = f"Answer with one JSON object that matches this JSON schema, nothing else:\n{schema}"
        return (ChatMessage("system", text),)


def _message_body(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


VectorFormat = Literal["base64", "float"]

_TOO_LONG = ("context length", "too long", "too large", "maximum", "exceed", "less than", "tokens")


@dataclass(frozen=True, slots=True)
class EmbeddingDialect:
    """One way to ask. ``dimensions`` None leaves the length of a vector to the model."""

    format: VectorFormat
    dimensions: int | None = None

    def after(self, rejection: Rejection) -> EmbeddingDialect | None:
        """Return what to try next, or None when asking otherwise would not help."""
        about = f"{rejection.param} {rejection.message}".lower()
        if self.format == "base64" and ("encoding_format" in about or "base64" in about):
            return replace(self, format="float")
        if self.dimensions is not None and "dimension" in about:
            return replace(self, dimensions=None)
        return None


def says_too_long(rejection: Rejection) -> bool:
    """Whether a server refuses a text for its length."""
    about = f"{rejection.code} {rejection.message}".lower().replace("_", " ")
    return any(words in about for words in _TOO_LONG)


FilterResults = dict[str, object]


class CachedTokens(BaseModel):
    """How much of the input was served from the vendor's cache."""

    cached_tokens: int | None = None


class Usage(BaseModel):
    """Tokens as the server counts them; reasoning counts as output."""

    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    prompt_tokens_details: CachedTokens | None = None

    @property
    def cached_tokens(self) -> int:
        return (self.prompt_tokens_details.cached_tokens or 0) if self.prompt_tokens_details else 0


class ReplyMessage(BaseModel):
    """``refusal`` is set instead of ``content`` when the model declines."""

    content: str | None = None
    refusal: str | None = None


class Choice(BaseModel):
    """``content_filter_results`` is Azure's verdict on the output."""

    message: ReplyMessage
    finish_reason: str | None = None
    content_filter_results: FilterResults | None = None


class PromptFilter(BaseModel):
    """Azure's verdict on the input."""

    content_filter_results: FilterResults | None = None


class ChatReply(BaseModel):
    """One answer of ``/chat/completions``."""

    choices: list[Choice] = Field(min_length=1)
    model: str | None = None
    usage: Usage | None = None
    prompt_filter_results: list[PromptFilter] | None = None

    @property
    def choice(self) -> Choice:
        return self.choices[0]

    @property
    def text(self) -> str:
        return self.choice.message.content or ""

    @property
    def finish_reason(self) -> str:
        return self.choice.finish_reason or "stop"


def read_reply(body: bytes) -> ChatReply | None:
    """Parse a response body; None when it is cut, no JSON, or no chat completion."""
    try:
        return ChatReply.model_validate_json(body)
    except ValidationError:
        return None


class _UsageOnly(BaseModel):
    usage: Usage


def read_usage(body: bytes) -> Usage | None:
    """Return what a body that is no chat completion says it took; None where it does not say."""
    try:
        return _UsageOnly.model_validate_json(body).usage
    except ValidationError:
        return None


def joined_results(filters: Sequence[PromptFilter] | None) -> tuple[FilterResults, ...]:
    """Return the verdicts of all parts of the input that have one."""
    return tuple(
        part.content_filter_results for part in filters or () if part.content_filter_results
    )


class EmbeddingRow(BaseModel):
    """One vector: numbers, or the bytes of little-endian float32 in base64."""

    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """Tokens as the server counts them."""

    prompt_tokens: int = Field(0, ge=0)


class EmbeddingReply(BaseModel):
    """One answer of ``/embeddings``; ``model`` is what stands behind an Azure deployment."""

    data: list[EmbeddingRow]
    model: str | None = None
    usage: EmbeddingUsage | None = None


class VectorsInvalid(ValueError):
    """Vectors that cannot be compared; the text says why."""


def read_embeddings(body: bytes) -> EmbeddingReply | None:
    """Parse a response body; None when it is cut, no JSON, or no embeddings."""
    try:
        return EmbeddingReply.model_validate_json(body)
    except ValidationError:
        return None


def vectors_of(reply: EmbeddingReply, texts: int) -> Vectors:
    """Return one vector of unit length a text, in the order of the texts.

    Raises VectorsInvalid for a wrong number of them, vectors of several lengths, numbers that are
    none, and vectors without a direction.
    """
    ordered = sorted(reply.data, key=lambda row: row.index)
    if [row.index for row in ordered] != list(range(texts)):
        raise VectorsInvalid(f"{len(ordered)} vectors came back for {texts} texts")
    rows = [_numbers(row.embedding) for row in ordered]
    if len({row.shape for row in rows}) != 1 or not rows[0].size:
        raise VectorsInvalid("the vectors have different lengths, or none")
    return _unit(np.stack(rows))


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if not isinstance(embedding, str):
        return np.asarray(embedding, dtype=np.float64)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(
            np.float64
        )
    except (binascii.Error, ValueError):
        raise VectorsInvalid("a vector is neither numbers nor base64 of float32") from None


def _unit(vectors: NDArray[np.float64]) -> Vectors:
    """Divide each vector by its length, in double precision."""
    if not np.isfinite(vectors).all():
        raise VectorsInvalid("a vector holds something that is no finite number")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise VectorsInvalid("a vector is zero, or beyond measure")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
