"""Makes the client of a model server: where it is, and who asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.identity.aio import DefaultAzureCredential
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from rag.errors import ModelUnavailable
from rag.models.azure_token import TokenProvider, azure_tokens, is_azure
from rag.models.setting_names import CHAT, SettingNames

OPENAI_BASE_URL = "https://api.openai.com/v1/"
_NO_KEY = "no-key"
"""Sent to servers that need none; the SDK insists on something."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server and the way in.

    ``base_url`` None is OpenAI itself. ``api_key`` None is for servers without keys, and on Azure
    for the process's identity. ``names`` are what errors call these settings.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    names: SettingNames = CHAT

    @property
    def address(self) -> str:
        return self.base_url or OPENAI_BASE_URL

    @property
    def is_vendor(self) -> bool:
        """Whether it is OpenAI or Azure, whose servers know all of the protocol."""
        return is_azure(self.address) or is_openai(self.address)


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and the identity that was made for it."""

    client: AsyncOpenAI
    credential: AsyncTokenCredential | None

    async def close(self) -> None:
        await self.client.close()
        if self.credential is not None:
            await self.credential.close()


def connect(
    endpoint: Endpoint, timeout_seconds: float, credential: AsyncTokenCredential | None = None
) -> Connection:
    """Make a client; nothing is sent yet.

    Args:
        endpoint: the server.
        timeout_seconds: how long one request may take.
        credential: identity to use when there is no key, whatever the host; it stays the caller's
            to close. None takes the process's own (azure.identity.DefaultAzureCredential) for
            Azure's hosts alone, which is closed with the connection.

    Raises:
        ModelUnavailable: when the settings cannot work, naming the one to change.
    """
    _check(endpoint)
    needs_identity = endpoint.api_key is None and credential is None and is_azure(endpoint.address)
    own = DefaultAzureCredential() if needs_identity else None
    client = AsyncOpenAI(
        api_key=_key(endpoint, credential or own),
        base_url=endpoint.address,
        max_retries=0,
        timeout=timeout_seconds,
        # Not following redirects keeps the key with the origin that it was given for.
        http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=timeout_seconds),
    )
    return Connection(client, own)


def is_openai(base_url: str) -> bool:
    """Whether a base URL is OpenAI's, by its host."""
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def _check(endpoint: Endpoint) -> None:
    parts = urlsplit(endpoint.address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ModelUnavailable(
            f"{endpoint.names.base_url} is {endpoint.address!r}; write a whole address such as "
            f"{OPENAI_BASE_URL!r}."
        )


def _key(endpoint: Endpoint, credential: AsyncTokenCredential | None) -> str | TokenProvider:
    if endpoint.api_key:
        return endpoint.api_key
    if credential is not None:
        return azure_tokens(credential, endpoint.names)
    if is_openai(endpoint.address):
        names = endpoint.names
        raise ModelUnavailable(f"OpenAI needs a key; set {names.api_key}, or {names.base_url}.")
    return _NO_KEY
