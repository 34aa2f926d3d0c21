"""How this process proves to the service who it is: a key, or whatever identity it has."""

from __future__ import annotations

from azure.core.credentials import AzureKeyCredential
from azure.identity.aio import DefaultAzureCredential
from pydantic import SecretStr

from rag.errors import IndexUnavailable
from rag.index.azure.connection import Credential


def credential_of(endpoint: str, key: SecretStr | None) -> Credential:
    """Return the key, or the process's identity (AZURE_CLIENT_ID names a user-assigned one).

    Raises IndexUnavailable where a token would go over a connection that anybody can read.
    """
    if key is not None:
        return AzureKeyCredential(key.get_secret_value())
    if not endpoint.lower().startswith("https://"):
        raise IndexUnavailable(
            f"AZURE_SEARCH_ENDPOINT {endpoint!r} needs https://, for without AZURE_SEARCH_KEY a "
            "token is sent there."
        )
    return DefaultAzureCredential()
