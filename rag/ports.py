"""Protocols of the index, embedders, chat models and composers, and the prompts they are sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from prompts.files import PromptFile
from rag.types import (
    Chunk,
    Claim,
    EmbeddingUse,
    Fingerprint,
    ModelCall,
    Page,
    PageSummary,
    Passage,
    Principal,
    Question,
    Readers,
    SpaceSummary,
    TokenSigns,
    Vectors,
)

Shape = TypeVar("Shape", bound=BaseModel)


class Index(Protocol):
    """Where chunks are kept and found; tenant and readers are inside every query.

    Raises rag.errors.IndexUnavailable when the store cannot be reached or read.
    """

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        """Return at most ``k`` passages, best first, that one of ``readers`` may read.

        The order is stable: the same question against the same content gives the same passages.
        Any text is a valid question; one with nothing to search for gives an empty tuple.
        """
        ...

    async def upsert_page(
        self, page: Page, chunks: Sequence[Chunk], vectors: Vectors | None
    ) -> None:
        """Replace a page and all its chunks at once; other readers see the old or the new.

        An index without transactions says so; it shows each chunk to nobody but its own readers.
        """
        ...

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        """Remove pages; return how many there were."""
        ...

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        """Change who may read a page and its chunks, at once, without new embeddings."""
        ...

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        """Return what the index holds of a space, by page id."""
        ...

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        """Return the number of chunks by space."""
        ...

    async def fingerprint(self) -> Fingerprint | None:
        """Return what the index was built with, or None while it is empty."""
        ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How many chunks could be found, and how many of them hold each (stemmed) term asked for."""

    chunks: int
    frequencies: Mapping[str, int]


@runtime_checkable
class KnowsVocabulary(Protocol):
    """Optional capability of an index: how rare a word is."""

    async def vocabulary(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Vocabulary:
        """Count the chunks that hold each word (by the index's own stemming).

        Only what a search for the question could find is counted, so that no count tells of a
        page that may not be read.
        """
        ...


@runtime_checkable
class ListsPages(Protocol):
    """Optional capability of an index: tells what it holds, for those who look after it.

    ``readers`` are the principals of who looks; None sees everything. Raises IndexUnavailable.
    """

    async def space_summaries(
        self, tenant: str, readers: frozenset[Principal] | None
    ) -> tuple[SpaceSummary, ...]:
        """Return the spaces that hold a page to be seen, by name."""
        ...

    async def page_summaries(
        self,
        tenant: str,
        space: str,
        readers: frozenset[Principal] | None,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> tuple[PageSummary, ...]:
        """Return pages by id: those after ``after`` whose id or title holds all ``words``."""
        ...

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        """Return one page; None when there is none or it may not be seen."""
        ...

    async def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        """Return the page at the first of these addresses that has one; None as above.

        A page without text has no address.
        """
        ...


@runtime_checkable
class ReadsPages(Protocol):
    """Optional capability of an index: a page's chunks, to be shown or checked again.

    Raises IndexUnavailable.
    """

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        """Return a page's chunks in order; empty when there is none or it may not be read."""
        ...


@runtime_checkable
class ReadsChunks(Protocol):
    """Optional capability of an index: chunks by their ids, in few requests.

    Raises IndexUnavailable.
    """

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id those that are there and may be read; the others are left out."""
        ...


class SearchIndex(Index, ListsPages, ReadsPages, Protocol):
    """An index that a server needs: found in, listed and read from."""

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class Embedder(Protocol):
    """Text to unit vectors; never blocks the event loop.

    Raises rag.errors.ModelUnavailable.
    """

    @property
    def name(self) -> str:
        """What identifies the vectors: model and revision."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are seen; the rest is cut off."""
        ...

    def count_tokens(self, text: str) -> int: ...

    async def embed_query(self, text: str) -> Vectors:
        """Return one vector, shape (dimensions,)."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dimensions), in order."""
        ...


@runtime_checkable
class EmbedsTokens(Protocol):
    """Optional capability of an embedder: vectors of the tokens, from the same run.

    Raises rag.errors.ModelUnavailable.
    """

    async def embed_query_tokens(self, text: str) -> tuple[Vectors, Vectors]:
        """Return the text's vector, and those of its tokens, shape (tokens, dimensions)."""
        ...

    async def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        """Return what ``embed`` returns, and the signs of each text's distinct tokens."""
        ...


@runtime_checkable
class CountsUse(Protocol):
    """Optional capability of an embedder: knows what it has taken, and what more would take."""

    @property
    def use(self) -> EmbeddingUse:
        """What this embedder was asked for since it was opened."""
        ...

    def estimate(self, tokens: int) -> EmbeddingUse:
        """Return what embedding so many tokens would take."""
        ...


@runtime_checkable
class KeepsTokens(Protocol):
    """Optional capability of an index: ranks the best passages once more, token by token."""

    async def upsert_page_with_tokens(
        self,
        page: Page,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        tokens: Sequence[TokenSigns],
    ) -> None:
        """Do what ``upsert_page`` does, and keep the tokens' signs of each chunk."""
        ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent to a model: messages, and the version of the prompt file ("answer@1")."""

    id: str
    messages: tuple[ChatMessage, ...]
    temperature: float = 0.1
    max_output_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text; ``refused`` when it or its content filter declined."""

    text: str
    call: ModelCall
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Structured(Generic[Shape]):
    """A model's answer in the shape asked for; ``value`` is None exactly when it was refused."""

    value: Shape | None
    call: ModelCall
    refusal: str | None = None


class ChatModel(Protocol):
    """A chat model behind any compatible server.

    Raises rag.errors.ModelUnavailable (deadline, connection, limits after retries) and
    rag.errors.ModelAnswerInvalid (not in the shape asked for, after one repair).
    """

    @property
    def name(self) -> str: ...

    async def complete(self, prompt: Prompt) -> Completion: ...

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]: ...


@dataclass(frozen=True, slots=True)
class Composition:
    """What a composer made of the passages; no claims means they do not answer.

    ``reading`` says how an ambiguous question was understood, ``missing`` what of it the passages
    leave open, also where nothing is claimed. ``signals`` are the composer's own features for the
    gate, by name. ``dropped_claims`` counts claims that failed the checks, those whose lines are
    shown in their place included.
    """

    claims: tuple[Claim, ...]
    calls: tuple[ModelCall, ...] = ()
    reading: str | None = None
    missing: str | None = None
    refusal: str | None = None
    dropped_claims: int = 0
    signals: Mapping[str, float] = field(default_factory=dict)


class Composer(Protocol):
    """Turns passages into claims, each with verbatim quotes; nothing else may be said."""

    @property
    def name(self) -> Literal["extractive", "model"]: ...

    async def compose(self, question: str, passages: Sequence[Passage]) -> Composition: ...


@runtime_checkable
class ReadsAttached(Protocol):
    """Optional capability of a composer: understands a question better by files that came with it.

    What they say is data and supports nothing: every claim still rests on the passages alone.
    """

    async def compose_with(
        self, question: str, passages: Sequence[Passage], attached: Sequence[str]
    ) -> Composition: ...


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
