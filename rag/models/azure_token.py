"""Bearer tokens for Azure OpenAI from whatever identity the process has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.identity.aio import get_bearer_token_provider

from rag.errors import ModelUnavailable
from rag.models.setting_names import CHAT, SettingNames

SCOPE = "https://cognitiveservices.azure.com/.default"

_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")

TokenProvider = Callable[[], Awaitable[str]]


def is_azure(base_url: str) -> bool:
    """Whether a base URL is Azure's, by its host and over https, so that tokens go nowhere else."""
    parts = urlsplit(base_url)
    return parts.scheme == "https" and (parts.hostname or "").endswith(_HOSTS)


def azure_tokens(credential: AsyncTokenCredential, names: SettingNames = CHAT) -> TokenProvider:
    """Return what gives a valid token at each request; tokens are kept until they near their end.

    The provider raises ModelUnavailable when the identity gets none.
    """
    provider = get_bearer_token_provider(credential, SCOPE)

    async def token() -> str:
        try:
            return await provider()
        except AzureError as error:
            raise ModelUnavailable(
                f"Azure gave no token for the model. Set {names.api_key}, or run `az login`, or "
                "give the workload a managed identity (AZURE_CLIENT_ID names a user-assigned one) "
                "with the role `Cognitive Services OpenAI User`."
            ) from error

    return token
