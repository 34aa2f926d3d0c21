"""Turns a prompt file and its inputs into what a ChatModel takes."""

from __future__ import annotations

from collections.abc import Sequence

from prompts import PromptFile
from rag.ports import ChatMessage, Prompt

DEFAULT_TEMPERATURE = 0.1
DEFAULT_MAX_OUTPUT_TOKENS = 1024


def to_prompt(prompt: PromptFile, **inputs: str | Sequence[str]) -> Prompt:
    """Render a prompt file; every input is fenced as data. Raises prompts.PromptInvalid."""
    messages = tuple(ChatMessage(role, text) for role, text in prompt.render(**inputs))
    return Prompt(
        id=prompt.id,
        messages=messages,
        temperature=DEFAULT_TEMPERATURE if prompt.temperature is None else prompt.temperature,
        max_output_tokens=prompt.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
    )
