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
        Path("data"), alias="FRONTDESK_DATA_DIR", description="All that is written goes here."
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
        description="BCP-47 tag of the language of the pages: questions in another one are "
        "translated for the search (docs/languages.md); `mul`: never.",
    )

    # Azure AI Search: docs/azure.md
    azure_search_endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+/?$",
        description="https://NAME.search.windows.net; none: the index is one SQLite file in "
        "FRONTDESK_DATA_DIR.",
    )
    azure_search_key: SecretStr | None = Field(
        None, description="Its key; none for azure-identity (roles in docs/azure.md)."
    )
    azure_search_index: str = Field(
        "confluence-chunks",
        min_length=2,
        max_length=LONGEST_INDEX_NAME,
        pattern=INDEX_NAME,
        description="The index, or the alias of it.",
    )
    azure_search_semantic: bool = Field(
        default=False,
        description="Order what was found once more by the service's semantic ranker, which is "
        "charged for.",
    )
    azure_search_quantization: Literal["none", "scalar", "binary"] = Field(
        "none", description="Compress the vectors of a new index; worth it above a million chunks."
    )
    azure_search_timeout_seconds: float = Field(
        10.0, gt=0, le=300, description="Deadline of a search with all its tries."
    )

    # Embeddings
    embedding_model: str | None = Field(
        None,
        description="Model or deployment that embeds, at EMBEDDING_BASE_URL; none: the embedder "
        "that comes with Frontdesk.",
    )
    embedding_base_url: str | None = Field(
        None, description="Any compatible server; none: OPENAI_BASE_URL."
    )
    embedding_api_key: SecretStr | None = Field(
        None,
        description="Its key; none: OPENAI_API_KEY where that is for the same server, or "
        "azure-identity.",
    )
    embedding_dimensions: int | None = Field(
        None, ge=8, le=4096, description="Length of a vector, where the model lets one choose."
    )
    embedding_max_tokens: int = Field(
        8191, ge=64, le=1_000_000, description="Tokens of a text that the model sees."
    )
    embedding_tokens_per_minute: int = Field(
        0, ge=0, description="Tokens that indexing may send in a minute; 0: as many as are taken."
    )

    # The model
    openai_base_url: str | None = Field(
        None,
        description="Any compatible server; for Azure https://NAME.openai.azure.com/openai/v1/",
    )
    openai_api_key: SecretStr | None = Field(
        None, description="Key of the model's server; none for azure-identity."
    )

    @property
    def azure_search_configured(self) -> bool:
        return self.azure_search_endpoint is not None
