"""How a server wants to be asked, learned from its refusals.

Servers that speak the same protocol differ in three things: the name of the output limit, whether
a temperature may be given (reasoning models reject it), and how JSON is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag.ports import ChatMessage, Prompt

LimitField = Literal["max_completion_tokens", "max_tokens"]
Format = Literal["json_schema", "json_object", "text"]

REASONING_RESERVE_TOKENS = 4096
"""Added to the output limit of models that reject a temperature: they think within the limit."""

_NEXT_FORMAT: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "text"}
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
    format: Format = "json_schema"

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
            "messages": _on_the_wire((*messages, *self._reminder(shape))),
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


def _on_the_wire(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
