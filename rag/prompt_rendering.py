"""Render prompt files as prompts for a chat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prompts.files import PromptFile
from rag.ports import ChatMessage, Prompt

DEFAULT_TEMPERATURE = 0.1
DEFAULT_MAX_OUTPUT_TOKENS = 1024


_COMPANY_INPUTS = frozenset({"today", "passages", "results", "spaces", "wiki", "language"})
"""Inputs of prompts that hold the company's own text, and settings; people write all others."""
_FIRST_INPUTS = ("question", "message")


def to_prompt(prompt: PromptFile, **inputs: str | Sequence[str]) -> Prompt:
    """Render a prompt file as a Prompt; every input is fenced as data. Raises PromptInvalid."""
    messages = tuple(ChatMessage(role, text) for role, text in prompt.render(**inputs))
    return Prompt(
        id=prompt.id,
        messages=messages,
        temperature=DEFAULT_TEMPERATURE if prompt.temperature is None else prompt.temperature,
        max_output_tokens=prompt.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
        personal=_personal(inputs),
    )


def _personal(inputs: Mapping[str, str | Sequence[str]]) -> tuple[str, ...]:
    kept = [name for name in inputs if name not in _COMPANY_INPUTS]
    names = sorted(kept, key=lambda name: name not in _FIRST_INPUTS)
    values = (inputs[name] for name in names)
    return tuple(
        text for value in values for text in ([value] if isinstance(value, str) else value)
    )
