"""Protocols of the index, embedders, chat models and composers, and the prompts for models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from rag.parts import Translation
from rag.search_scope import Asked, KnowsRevisions
from rag.text.spelling import Spelling
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
    """A search index of chunks; every query filters by tenant and readers.

    Raises rag.errors.IndexUnavailable when the index cannot be reached or read.
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
        self,
        page: Page,
        chunks: Sequence[Chunk],
        vectors: Vectors | None,
        tokens: Sequence[TokenSigns] | None = None,
    ) -> None:
        """Replace a page and all its chunks atomically: a query sees the old or the new ones.

        An index without transactions documents that it can't; even then, each chunk is shown to
        its own readers only. ``tokens`` are the signs of each chunk's tokens, for reranking the
        best passages; an index that does not compare tokens ignores them.
        """
        ...

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        """Delete pages and their chunks; return the number of pages deleted."""
        ...

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        """Change the readers of a page and its chunks atomically, without embedding again."""
        ...

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        """Return the indexed pages of a space by page id."""
        ...

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        """Return the number of chunks by space."""
        ...

    async def fingerprint(self) -> Fingerprint | None:
        """Return the embedder and schema the index was built with; None while it is empty."""
        ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The number of searchable chunks, and how many of them contain each (stemmed) term."""

    chunks: int
    frequencies: Mapping[str, int]


@runtime_checkable
class ReadsChunks(Protocol):
    """Optional capability of an index: return chunks by their ids, in few requests.

    Raises IndexUnavailable.
    """

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return chunks by id; those that don't exist or are not readable are left out."""
        ...


class KnowsWords(Protocol):
    """Looks up words in the chunks that a search for a question could find.

    No word that is returned, and no count, is of a chunk that the readers may not read. An index
    that reads only the best of many chunks documents it. Raises IndexUnavailable.
    """

    async def similar_words(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Mapping[str, tuple[Spelling, ...]]:
        """Return, for each word that no chunk holds in any form, the words that are spelt alike.

        A word that some chunk holds is left out.
        """
        ...

    async def name_in(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> frozenset[str]:
        """Return the stems of those words that make up whole titles, headings or defined terms."""
        ...


@runtime_checkable
class SearchIndex(Index, ReadsChunks, KnowsWords, KnowsRevisions, Protocol):
    """The index of a server: can also look up words, read pages and list them for administrators.

    In lists, ``readers`` are the principals of the caller; None lists everything.
    """

    async def vocabulary(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Vocabulary | None:
        """Count the chunks that contain each word (by the index's own stemming).

        Only chunks that a search for the question could find are counted, so that no count
        reveals a page the reader may not see. None from an index that can't count.
        """
        ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        """Return a page's chunks in order; empty if it does not exist or is not readable."""
        ...

    async def space_summaries(
        self, tenant: str, readers: frozenset[Principal] | None
    ) -> tuple[SpaceSummary, ...]:
        """Return the spaces with at least one readable page, ordered by name."""
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
        """Return pages in order of their ids, from after ``after``.

        Only pages whose id or title contains all ``words``.
        """
        ...

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        """Return one page; None if it does not exist or is not readable."""
        ...

    async def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        """Return the page at the first of ``urls`` that has one; None as in `page_summary`.

        A page without text has no URL.
        """
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


class Embedder(Protocol):
    """Embeds texts as unit vectors; never blocks the event loop.

    Raises rag.errors.ModelUnavailable.
    """

    @property
    def name(self) -> str:
        """The model and its revision; vectors of different names can't be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The most tokens of a text that are embedded; the rest is truncated."""
        ...

    def count_tokens(self, text: str) -> int: ...

    async def embed_query(self, text: str) -> Vectors:
        """Return one vector, shape (dimensions,)."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order; shape (len(texts), dimensions)."""
        ...


@runtime_checkable
class EmbedsTokens(Protocol):
    """Optional capability of an embedder: return token vectors from the same model run.

    Raises rag.errors.ModelUnavailable.
    """

    async def embed_query_tokens(self, text: str) -> tuple[Vectors, Vectors]:
        """Return the vector of a text and those of its tokens, shape (tokens, dimensions)."""
        ...

    async def embed_tokens(self, texts: Sequence[str]) -> tuple[Vectors, tuple[TokenSigns, ...]]:
        """Return the vectors as ``embed`` does, and the signs of each text's distinct tokens."""
        ...


@runtime_checkable
class CountsUse(Protocol):
    """Optional capability of an embedder: report and estimate tokens, requests and cost."""

    @property
    def use(self) -> EmbeddingUse:
        """The use of this embedder since it was opened."""
        ...

    def estimate(self, tokens: int) -> EmbeddingUse:
        """Return the estimated use of embedding ``tokens`` tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call; ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool; ``arguments`` is the JSON text that it wrote, unchecked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat prompt.

    An assistant's may call tools; the results follow as messages of the role ``tool``, each with
    the ``tool_call_id`` of its call.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a chat model; ``id`` is the prompt file and its version ("answer@1").

    ``repairs``: an answer that can't be used is asked for once more. ``personal`` are the inputs in
    its messages that people wrote, the question first: a model that masks personal data looks there
    (rag.models.masking_wrappers). ``shown``: people read the reply; another one is searched with.
    """

    id: str
    messages: tuple[ChatMessage, ...]
    temperature: float = 0.1
    max_output_tokens: int = 1024
    tools: tuple[Tool, ...] = ()
    repairs: bool = True
    personal: tuple[str, ...] = field(default=(), repr=False)
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text; ``refused`` if the model or its content filter declined.

    If the prompt has tools, the model may call some instead; the text may be empty then.
    """

    text: str
    call: ModelCall
    refused: bool = False
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Structured(Generic[Shape]):
    """A model's answer in the requested shape; ``value`` is None exactly when it was refused."""

    value: Shape | None
    call: ModelCall
    refusal: str | None = None


class ChatModel(Protocol):
    """A chat model behind any compatible server.

    Raises rag.errors.ModelUnavailable (deadline, connection, limits after retries; its subclass
    ToolsRejected if only the prompt's tools are not accepted) and rag.errors.ModelAnswerInvalid
    (not in the requested shape, even after one repair).
    """

    @property
    def name(self) -> str: ...

    async def complete(self, prompt: Prompt) -> Completion: ...

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]: ...


@dataclass(frozen=True, slots=True)
class Composition:
    """A composer's result; no claims if the passages do not answer the question.

    ``reading`` is how an ambiguous question was understood; ``missing`` the part of it that the
    passages leave open, also without claims. ``signals`` are the composer's own features for the
    gate, by name. ``dropped_claims`` counts claims that failed the checks, including those
    replaced by lines of the page. ``translation`` is the answer in the asker's language, for a
    question that was translated: its claims are quotations alone.
    """

    claims: tuple[Claim, ...]
    calls: tuple[ModelCall, ...] = ()
    reading: str | None = None
    missing: str | None = None
    refusal: str | None = None
    dropped_claims: int = 0
    translation: Translation | None = None
    signals: Mapping[str, float] = field(default_factory=dict)


class Composer(Protocol):
    """Composes an answer from passages alone, as claims that each have verbatim quotes."""

    @property
    def name(self) -> Literal["extractive", "model"]: ...

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        """Compose an answer; ``attached`` are the texts of the question's files.

        The files may help to understand the question; they are data, never evidence. ``asked`` are
        the words that the question is a translation of, if it is one.
        """
        ...
