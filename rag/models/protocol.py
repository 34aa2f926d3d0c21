"""Requests and replies of OpenAI's chat completions and embeddings, in a server's dialect.

Compatible servers differ in four ways: the name of the output limit, whether a temperature is
accepted (reasoning models reject it), how little reasoning can be asked for, and how JSON output is
requested. Each is learned from the server's rejections. Replies are validated strictly where it
matters, else leniently; vectors are accepted only if they can be compared.
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

from rag.ports import ChatMessage, Prompt, Tool, ToolCall
from rag.types import Vectors

LimitField = Literal["max_completion_tokens", "max_tokens"]
JsonFormat = Literal["json_schema", "json_object", "text"]
ReasoningEffort = Literal["none", "minimal", "low", "medium", "high"]

REASONING_RESERVE_TOKENS = 4096
"""Added to the output limit of reasoning models: reasoning counts as output."""

_LEAST_EFFORT: ReasoningEffort = "minimal"
"""What reasoning models are asked for first; an answer from given lines needs hardly any."""
_NEXT_EFFORT: Mapping[ReasoningEffort, ReasoningEffort] = {"none": "minimal", "minimal": "low"}

_NEXT_FORMAT: Mapping[JsonFormat, JsonFormat] = {
    "json_schema": "json_object",
    "json_object": "text",
}
_NOT_ABOUT_THE_DIALECT = frozenset(
    {"context_length_exceeded", "model_not_found", "string_above_max_length"}
)
"""Error codes of rejections that no other dialect would avoid."""


@dataclass(frozen=True, slots=True)
class WantedShape:
    """The name and JSON schema that an answer must match."""

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A server's error for a bad request (400, 413, 422); ``code`` and ``param`` may be ""."""

    message: str
    code: str = ""
    param: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The variant of chat completions that a server accepts.

    ``effort`` is sent if it is not None. A model that rejects a temperature is a reasoning model.
    """

    limit: LimitField
    temperature: bool = True
    effort: ReasoningEffort | None = None
    format: JsonFormat = "json_schema"

    def after(self, rejection: Rejection, *, structured: bool) -> Dialect | None:
        """Return the dialect to try after a rejection, or None if no other would help."""
        if rejection.code in _NOT_ABOUT_THE_DIALECT:
            return None
        about = f"{rejection.param} {rejection.message}".lower()
        # A refused temperature may be explained by the reasoning, so it is looked for first.
        if self.temperature and "temperature" in about:
            return replace(self, temperature=False, effort=self.effort or _LEAST_EFFORT)
        if self.effort is not None and "reasoning" in about:
            return replace(self, effort=_NEXT_EFFORT.get(self.effort))
        if self.limit in about:
            return self._with_other_limit()
        if structured and self.format in _NEXT_FORMAT:
            return replace(self, format=_NEXT_FORMAT[self.format])
        return None

    def body(
        self, model: str, prompt: Prompt, messages: Sequence[ChatMessage], shape: WantedShape | None
    ) -> dict[str, object]:
        """Return the JSON body of a request."""
        reasons = self.effort is not None or not self.temperature
        limit = prompt.max_output_tokens + (REASONING_RESERVE_TOKENS if reasons else 0)
        body: dict[str, object] = {
            "model": model,
            "messages": _message_body((*messages, *self._reminder(shape))),
            self.limit: limit,
        }
        if self.temperature:
            body["temperature"] = prompt.temperature
        if self.effort is not None:
            body["reasoning_effort"] = self.effort
        if shape is not None and self.format != "text":
            body["response_format"] = self._response_format(shape)
        if prompt.tools:
            body["tools"] = [_tool_body(tool) for tool in prompt.tools]
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
        """Return a system message with the schema, if the server does not enforce it."""
        if shape is None or self.format == "json_schema":
            return ()
        schema = json.dumps(shape.schema, ensure_ascii=False)
        text = f"Answer with one JSON object that matches this JSON schema, nothing else:\n{schema}"
        return (ChatMessage("system", text),)


def _message_body(messages: Sequence[ChatMessage]) -> list[dict[str, object]]:
    return [_one_message(message) for message in messages]


def _one_message(message: ChatMessage) -> dict[str, object]:
    body: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool_body(tool: Tool) -> dict[str, object]:
    described = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": {**described, "parameters": dict(tool.parameters)}}


def says_tools_rejected(rejection: Rejection) -> bool:
    """Return whether a rejection of a request with tools is about the tools."""
    if rejection.code in _NOT_ABOUT_THE_DIALECT:
        return False
    about = f"{rejection.param} {rejection.message}".lower()
    return "tool" in about or "function" in about


VectorFormat = Literal["base64", "float"]

_TOO_LONG = ("context length", "too long", "too large", "maximum", "exceed", "less than", "tokens")
"""Words of error messages about the length of a text, from various servers."""


@dataclass(frozen=True, slots=True)
class EmbeddingDialect:
    """The variant of embeddings that a server accepts; ``dimensions`` None: the model decides."""

    format: VectorFormat
    dimensions: int | None = None

    def after(self, rejection: Rejection) -> EmbeddingDialect | None:
        """Return the dialect to try after a rejection, or None if no other would help."""
        about = f"{rejection.param} {rejection.message}".lower()
        if self.format == "base64" and ("encoding_format" in about or "base64" in about):
            return replace(self, format="float")
        if self.dimensions is not None and "dimension" in about:
            return replace(self, dimensions=None)
        return None


def says_too_long(rejection: Rejection) -> bool:
    """Return whether a rejection is about the length of a text."""
    about = f"{rejection.code} {rejection.message}".lower().replace("_", " ")
    return any(words in about for words in _TOO_LONG)


FilterResults = dict[str, object]


class CachedTokens(BaseModel):
    """The number of input tokens served from the vendor's prompt cache."""

    cached_tokens: int | None = None


class Usage(BaseModel):
    """The token counts of a chat completion; reasoning counts as output."""

    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    prompt_tokens_details: CachedTokens | None = None

    @property
    def cached_tokens(self) -> int:
        return (self.prompt_tokens_details.cached_tokens or 0) if self.prompt_tokens_details else 0


@dataclass(frozen=True, slots=True)
class Prices:
    """What a server charges, in US dollars for a million tokens of input and of output."""

    input_usd: float
    output_usd: float

    def micro_usd(self, usage: Usage) -> int:
        """Return the price of a call in millionths of a US dollar."""
        # Dollars a million tokens are millionths of a dollar a token.
        return round(
            usage.prompt_tokens * self.input_usd + usage.completion_tokens * self.output_usd
        )


class _CalledFunction(BaseModel):
    name: str
    arguments: str | dict[str, object] = ""


class _CalledTool(BaseModel):
    id: str = ""
    function: _CalledFunction


class ReplyMessage(BaseModel):
    """The message of a choice; ``refusal`` replaces ``content`` if the model declines."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: object = None

    def called_tools(self) -> tuple[ToolCall, ...]:
        """Return the calls that have a name; servers write malformed ones that no tool can take."""
        calls = self.tool_calls if isinstance(self.tool_calls, list) else []
        found = (_called_tool(call, number) for number, call in enumerate(calls, 1))
        return tuple(call for call in found if call)


class Choice(BaseModel):
    """One choice of a reply; ``content_filter_results`` is Azure's verdict on the output."""

    message: ReplyMessage
    finish_reason: str | None = None
    content_filter_results: FilterResults | None = None


class PromptFilter(BaseModel):
    """Azure's content-filter verdict on one part of the input."""

    content_filter_results: FilterResults | None = None


class ChatReply(BaseModel):
    """A response of ``/chat/completions``."""

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


def _called_tool(call: object, number: int) -> ToolCall | None:
    try:
        called = _CalledTool.model_validate(call)
    except ValidationError:
        return None
    arguments = called.function.arguments
    # Some servers send an object where the protocol has its JSON text, or leave the id out.
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(called.id or f"call_{number}", called.function.name, text)


def read_reply(body: bytes) -> ChatReply | None:
    """Parse a response body; None if it is truncated, not JSON, or not a chat completion."""
    try:
        return ChatReply.model_validate_json(body)
    except ValidationError:
        return None


class _UsageOnly(BaseModel):
    usage: Usage


def read_usage(body: bytes) -> Usage | None:
    """Return the usage in a body that is not a chat completion; None if it has none."""
    try:
        return _UsageOnly.model_validate_json(body).usage
    except ValidationError:
        return None


def joined_results(filters: Sequence[PromptFilter] | None) -> tuple[FilterResults, ...]:
    """Return the content-filter results of the input parts that have some."""
    return tuple(
        part.content_filter_results for part in filters or () if part.content_filter_results
    )


class EmbeddingRow(BaseModel):
    """One vector: numbers, or little-endian float32 bytes in base64."""

    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """The token count of an embeddings request."""

    prompt_tokens: int = Field(0, ge=0)


class EmbeddingReply(BaseModel):
    """A response of ``/embeddings``; ``model`` is the model behind an Azure deployment."""

    data: list[EmbeddingRow]
    model: str | None = None
    usage: EmbeddingUsage | None = None


class VectorsInvalid(ValueError):
    """Vectors cannot be compared; the message gives the reason."""


def read_embeddings(body: bytes) -> EmbeddingReply | None:
    """Parse a response body; None if it is truncated, not JSON, or not embeddings."""
    try:
        return EmbeddingReply.model_validate_json(body)
    except ValidationError:
        return None


def vectors_of(reply: EmbeddingReply, texts: int) -> Vectors:
    """Return one unit-length vector per text, in the order of the texts.

    Raises VectorsInvalid for a wrong number of vectors, vectors of different dimensions, values
    that are not finite numbers, and zero vectors.
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
    """Normalize each vector to unit length, in double precision."""
    if not np.isfinite(vectors).all():
        raise VectorsInvalid("a vector holds something that is no finite number")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all() or not np.isfinite(lengths).all():
        raise VectorsInvalid("a vector is zero, or beyond measure")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
