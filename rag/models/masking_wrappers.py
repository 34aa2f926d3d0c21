"""Mask personal data before a call of a model leaves the machine, and put it back in the reply.

A mapping from placeholders to values lives as long as its call: it is neither kept nor logged, and
the next call has another one. The company's own text is sent as it is, but for values that the
people's text has, too, so that a model still sees that both speak of the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from pydantic import ValidationError

from rag.errors import ModelAnswerInvalid
from rag.personal_data.masking import Masker, Masking
from rag.ports import (
    ChatMessage,
    ChatModel,
    Completion,
    Embedder,
    Prompt,
    Shape,
    Structured,
    ToolCall,
)
from rag.types import Vectors

_Change = Callable[[str], str]


class MaskingModel:
    """Calls another chat model with masked prompts. Implements `ChatModel`.

    A text of the reply with a placeholder that stands for nothing becomes "": a model invented it.
    A prompt without personal data is sent unchanged.

    Args:
        model: the model to call.
        masker: finds what to mask in the prompt's ``personal`` inputs.
        reversible: False leaves the kind of what was masked in replies that people read.
    """

    def __init__(self, model: ChatModel, masker: Masker, *, reversible: bool = True) -> None:
        self._model = model
        self._masker = masker
        self._reversible = reversible

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Completion:
        masking = self._mask(prompt)
        completion = await self._model.complete(_masked_prompt(prompt, masking))
        if completion.refused:
            return completion
        back = self._putting_back(prompt, masking)
        calls = tuple(_with_arguments(call, back) for call in completion.tool_calls)
        return replace(completion, text=back(completion.text), tool_calls=calls)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        masking = self._mask(prompt)
        answered = await self._model.structured(_masked_prompt(prompt, masking), shape)
        if answered.value is None:
            return answered
        told = answered.value.model_dump(mode="json")
        read = _changed(told, self._putting_back(prompt, masking))
        if read == told:
            return answered
        try:
            return replace(answered, value=shape.model_validate(read))
        except ValidationError:
            error = ModelAnswerInvalid(
                f"The model {self.name!r} gave no usable answer to {prompt.id!r}: it invented "
                "placeholders for personal data. Choose a model that follows its input."
            )
            error.calls = (answered.call,)
            raise error from None

    def _mask(self, prompt: Prompt) -> Masking:
        called = (call.arguments for each in prompt.messages for call in each.tool_calls)
        others = (*(each.content for each in prompt.messages), *called)
        return self._masker.mask(prompt.personal, others)

    def _putting_back(self, prompt: Prompt, masking: Masking) -> _Change:
        put_back = self._reversible or not prompt.shown

        def change(text: str) -> str:
            if masking.has_unknown(text):
                return ""
            return masking.restored(text) if put_back else masking.without_values(text)

        return change


def _masked_prompt(prompt: Prompt, masking: Masking) -> Prompt:
    if not masking.values:
        return prompt
    pairs = [
        (personal, masked)
        for personal, masked in zip(prompt.personal, masking.texts, strict=True)
        if personal != masked
    ]
    messages = tuple(_masked_message(each, pairs, masking) for each in prompt.messages)
    return replace(prompt, messages=messages, personal=masking.texts)


def _masked_message(
    message: ChatMessage, pairs: Sequence[tuple[str, str]], masking: Masking
) -> ChatMessage:
    if message.role == "system":
        return message
    content = message.content
    for personal, masked in pairs:
        # An input stands on lines of its own, between its marks (prompts.files).
        content = content.replace(f"\n{personal}\n", f"\n{masked}\n")
    calls = tuple(_with_arguments(call, masking.masked) for call in message.tool_calls)
    return replace(message, content=masking.masked(content), tool_calls=calls)


def _with_arguments(call: ToolCall, change: _Change) -> ToolCall:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return replace(call, arguments=change(call.arguments))
    changed = _changed(arguments, change)
    if changed == arguments:
        return call
    return replace(call, arguments=json.dumps(changed, ensure_ascii=False))


def _changed(node: object, change: _Change) -> object:
    """Return a JSON value with all its texts changed."""
    if isinstance(node, str):
        return change(node)
    if isinstance(node, list):
        return [_changed(each, change) for each in node]
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        return {name: _changed(each, change) for name, each in members.items()}
    return node


class MaskingEmbedder:
    """Embeds questions with another embedder, without their personal data. Implements `Embedder`.

    Values are left out: an embedder has no reply to put them back in. Pages are not embedded with
    this one.
    """

    def __init__(self, embedder: Embedder, masker: Masker) -> None:
        self._embedder = embedder
        self._masker = masker

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return await self._embedder.embed_query(self._masker.without_personal_data(text))

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(list(map(self._masker.without_personal_data, texts)))
