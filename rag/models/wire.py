"""What a chat completion looks like on the wire; read strictly where it matters, else leniently."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field, ValidationError

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


class _Counted(BaseModel):
    usage: Usage


def read_usage(body: bytes) -> Usage | None:
    """Return what a body that is no chat completion says it took; None where it does not say."""
    try:
        return _Counted.model_validate_json(body).usage
    except ValidationError:
        return None


def joined_results(filters: Sequence[PromptFilter] | None) -> tuple[FilterResults, ...]:
    """Return the verdicts of all parts of the input that have one."""
    return tuple(
        part.content_filter_results for part in filters or () if part.content_filter_results
    )
