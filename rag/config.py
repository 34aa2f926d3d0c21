"""The settings of search and embedding, shared by every process that opens an index."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

INDEX_NAME = r"^[a-z0-9]+(?:-[a-z0-9]+)*$"
LONGEST_INDEX_NAME = 110
"""Azure AI Search allows 128 characters; the rest is reserved for a version suffix."""


class SearchSettings(BaseSettings):
    """Settings of the index and the embedder; bot and ingestion extend them with their own."""

    data_dir: Path = Field(
        Path("data"),
        alias="FRONTDESK_DATA_DIR",
        description="Folder for all files that Frontdesk writes.",
    )
    cache_dir: Path | None = Field(
        None,
        alias="FRONTDESK_CACHE_DIR",
        description="Folder on a local disk for files that Frontdesk can make again, such as its "
        "embedder in the form that starts fastest; unset: `cache` in FRONTDESK_DATA_DIR.",
    )
    tenant: str = Field(
        "default",
        alias="FRONTDESK_TENANT",
        pattern=r"^[a-z0-9][a-z0-9-]{0,62}$",
        description="The company's name in the index and the record.",
    )

    wiki_language: str = Field(
        "en",
        pattern=r"^[a-z]{2,3}$",
        description="BCP-47 tag of the pages' language: questions in other languages are "
        "translated for the search (docs/languages.md); `mul`: never.",
    )

    # Azure AI Search: docs/azure.md
    azure_search_endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+/?$",
        description="https://NAME.search.windows.net; unset: the index is an SQLite file in "
        "FRONTDESK_DATA_DIR.",
    )
    azure_search_key: SecretStr | None = Field(
        None, description="Its key; unset: azure-identity (roles in docs/azure.md)."
    )
    azure_search_index: str = Field(
        "confluence-chunks",
        min_length=2,
        max_length=LONGEST_INDEX_NAME,
        pattern=INDEX_NAME,
        description="Name of the index or its alias.",
    )
    azure_search_semantic: bool = Field(
        default=False,
        description="Rerank results with the service's semantic ranker, which costs extra.",
    )
    azure_search_quantization: Literal["none", "scalar", "binary"] = Field(
        "none", description="Compress the vectors of a new index; worth it above a million chunks."
    )
    azure_search_timeout_seconds: float = Field(
        10.0, gt=0, le=300, description="Time limit of a search, including retries."
    )

    # Embeddings
    embedding_model: str | None = Field(
        None,
        description="Embedding model or deployment at EMBEDDING_BASE_URL; unset: the embedder "
        "included in Frontdesk.",
    )
    embedding_base_url: str | None = Field(
        None, description="Its server, any compatible one; unset: OPENAI_BASE_URL."
    )
    embedding_api_key: SecretStr | None = Field(
        None,
        description="Its key; unset: OPENAI_API_KEY if that is for the same server, or "
        "azure-identity.",
    )
    embedding_dimensions: int | None = Field(
        None, ge=8, le=4096, description="Length of a vector, if the model supports several."
    )
    embedding_max_tokens: int = Field(
        8191, ge=64, le=1_000_000, description="Maximum number of tokens per text."
    )
    embedding_tokens_per_minute: int = Field(
        0, ge=0, description="Maximum number of tokens per minute for indexing; 0: no limit."
    )

    # The model
    openai_base_url: str | None = Field(
        None,
        description="Address of the model's server; for Azure "
        "https://NAME.openai.azure.com/openai/v1/",
    )
    openai_api_key: SecretStr | None = Field(
        None, description="API key of the model's server; unset: azure-identity."
    )

    @property
    def model_cache(self) -> Path:
        """The folder of optimized models, which need not exist."""
        return (self.cache_dir or self.data_dir / "cache") / "frontdesk-embedder"

    @property
    def azure_search_configured(self) -> bool:
        return self.azure_search_endpoint is not None
