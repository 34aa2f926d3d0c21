"""Fake the ports of rag: an embedder that counts words and a model that follows a script."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import ValidationError

from rag.errors import ModelAnswerInvalid
from rag.ports import Completion, Prompt, Shape, Structured
from rag.types import ModelCall, Vectors

WORDS = re.compile(r"\w+")


class WordEmbedder:
    """Embeds a text as its hashed bag of words: equal words give close vectors."""

    name = "words@1"
    dimensions = 64
    max_tokens = 256

    def __init__(self) -> None:
        self.embedded = 0

    def count_tokens(self, text: str) -> int:
        return len(WORDS.findall(text))

    async def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for word in WORDS.findall(text.lower()):
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimensions] += 1
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else vector


Script = Callable[[Prompt], str]


def understood(
    intent: str = "DOMAIN", question: str = "", *, language: str = "en", search_query: str = ""
) -> str:
    """Return what a model says that was asked how it understands a message."""
    told = {"language": language, "question": question, "search_query": search_query}
    return json.dumps({**told, "intent": intent})


class ScriptedModel:
    """A model that says what a function of the prompt says; remembers what it was sent."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self.script = script
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        return Completion(text=self.script(prompt), call=self._call(prompt))

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        self.prompts.append(prompt)
        try:
            value = shape.model_validate_json(self.script(prompt))
        except ValidationError as invalid:
            error = ModelAnswerInvalid(f"{prompt.id!r} got no {shape.__name__!r}.")
            error.calls = (self._call(prompt),)
            raise error from invalid
        return Structured(value=value, call=self._call(prompt))

    def _call(self, prompt: Prompt) -> ModelCall:
        words = sum(len(WORDS.findall(message.content)) for message in prompt.messages)
        return ModelCall(
            purpose=prompt.id.partition("@")[0],
            model=self.name,
            prompt=prompt.id,
            input_tokens=words,
            output_tokens=1,
            duration_ms=0.0,
        )
