"""Which embedder the settings name, with the key that belongs to its server and no other."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import SecretStr

from rag.config import SearchSettings
from rag.models.connecting import OPENAI_BASE_URL, Endpoint
from rag.models.openai_embedder import EmbedderSettings
from rag.models.setting_names import SettingNames


def embedder_settings(settings: SearchSettings, model: str) -> EmbedderSettings:
    """Return how ``model`` is asked for vectors."""
    return EmbedderSettings(
        model=model,
        endpoint=_endpoint(settings),
        dimensions=settings.embedding_dimensions,
        max_tokens=settings.embedding_max_tokens,
        tokens_per_minute=settings.embedding_tokens_per_minute,
    )


def _endpoint(settings: SearchSettings) -> Endpoint:
    own = settings.embedding_base_url
    # The chat model's key stays with the chat model's server.
    shared = own is None or _origin(own) == _origin(settings.openai_base_url)
    key = settings.embedding_api_key or (settings.openai_api_key if shared else None)
    return Endpoint(
        base_url=own or settings.openai_base_url,
        api_key=_plain(key),
        names=SettingNames(
            model="EMBEDDING_MODEL",
            base_url="EMBEDDING_BASE_URL" if own else "OPENAI_BASE_URL",
            api_key="OPENAI_API_KEY"
            if shared and settings.embedding_api_key is None
            else "EMBEDDING_API_KEY",
        ),
    )


def _origin(address: str | None) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address or OPENAI_BASE_URL)
    return parts.scheme, parts.hostname, parts.port


def _plain(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None
