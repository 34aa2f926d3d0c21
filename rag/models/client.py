"""Clients of model servers: endpoint, key or Azure token, errors, and the price of a call.

Error messages name the cause and the setting to check, and contain no secret. They never quote a
server's response, because error bodies may repeat keys and questions. Prices come from the table
that genai-prices ships, never from the network.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from urllib.parse import urlsplit

import openai
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
from genai_prices import calc_price
from genai_prices import types as prices
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from rag import retrying
from rag.errors import ModelUnavailable
from rag.models.protocol import Rejection, Usage
from rag.retrying import requested_wait_seconds


@dataclass(frozen=True, slots=True)
class SettingNames:
    """The environment variables of a model, for error messages."""

    model: str = "OPENAI_MODEL"
    base_url: str = "OPENAI_BASE_URL"
    api_key: str = "OPENAI_API_KEY"
    timeout: str = "OPENAI_TIMEOUT_SECONDS"


CHAT_SETTINGS = SettingNames()


class TryAgain(retrying.TryAgain, ModelUnavailable):
    """A transient failure of a model."""


AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"

_AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")

TokenProvider = Callable[[], Awaitable[str]]


def is_azure(base_url: str) -> bool:
    """Return whether a base URL is https on an Azure host, so that tokens go nowhere else."""
    parts = urlsplit(base_url)
    return parts.scheme == "https" and (parts.hostname or "").endswith(_AZURE_HOSTS)


def azure_tokens(
    credential: AsyncTokenCredential, names: SettingNames = CHAT_SETTINGS
) -> TokenProvider:
    """Return a function that returns a valid token, cached until shortly before it expires.

    The function raises ModelUnavailable if the identity gets no token.
    """
    provider = get_bearer_token_provider(credential, AZURE_SCOPE)

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


OPENAI_BASE_URL = "https://api.openai.com/v1/"
_NO_KEY = "no-key"
"""Sent to servers without keys, because the SDK requires a key."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and credentials of a model server.

    ``base_url`` None is OpenAI itself. ``api_key`` None is for servers without keys, and on Azure
    for the process's identity. ``names`` are the settings' names in error messages.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    names: SettingNames = CHAT_SETTINGS

    @property
    def address(self) -> str:
        return self.base_url or OPENAI_BASE_URL

    @property
    def is_vendor(self) -> bool:
        """Whether the server is OpenAI's or Azure's, which support the whole protocol."""
        return is_azure(self.address) or is_openai(self.address)


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client, and the credential created for it, if any."""

    client: AsyncOpenAI
    credential: AsyncTokenCredential | None

    async def close(self) -> None:
        await self.client.close()
        if self.credential is not None:
            await self.credential.close()


def connect(
    endpoint: Endpoint, timeout_seconds: float, credential: AsyncTokenCredential | None = None
) -> Connection:
    """Create a client; nothing is sent yet.

    Args:
        endpoint: the server.
        timeout_seconds: the timeout of one request.
        credential: identity to use when there is no key, whatever the host; the caller closes it.
            None uses azure.identity.DefaultAzureCredential on Azure hosts only, which is closed
            with the connection.

    Raises:
        ModelUnavailable: the settings are invalid; the message names the one to change.
    """
    _check(endpoint)
    needs_identity = endpoint.api_key is None and credential is None and is_azure(endpoint.address)
    own = DefaultAzureCredential() if needs_identity else None
    client = AsyncOpenAI(
        api_key=_key(endpoint, credential or own),
        base_url=endpoint.address,
        max_retries=0,  # rag.retrying retries, within one deadline
        timeout=timeout_seconds,
        # Not following redirects keeps the key with the origin that it was given for.
        http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=timeout_seconds),
    )
    return Connection(client, own)


def is_openai(base_url: str) -> bool:
    """Return whether the host of a base URL is OpenAI's."""
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


async def read_body(parts: AsyncIterable[bytes], most_bytes: int) -> bytes | None:
    """Join the parts of a body; None if it is larger than ``most_bytes``."""
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > most_bytes:
            return None
    return bytes(content)


_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})


def rejection_of(error: openai.APIStatusError) -> Rejection | None:
    """Return the rejection of a bad request (status 400 or 422), else None."""
    if error.status_code not in {400, 422}:
        return None
    return Rejection(error.message, error.code or "", error.param or "")


def translate_error(
    error: openai.APIError, model: str, names: SettingNames = CHAT_SETTINGS
) -> ModelUnavailable:
    """Return the ModelUnavailable for an SDK error; a TryAgain if a retry may help."""
    if not isinstance(error, openai.APIStatusError):
        return TryAgain(
            f"The model {model!r} cannot be reached; check {names.base_url}, the network and "
            "whether the server runs."
        )
    status = error.status_code
    if error.code != "insufficient_quota" and status in _TRANSIENT:
        wait = requested_wait_seconds(error.response.headers)
        return TryAgain(f"The model {model!r} answered {status} and is busy or broken.", wait)
    return ModelUnavailable(f"The model {model!r} answered {status}: {_cure(error, names)}.")


def _cure(error: openai.APIStatusError, names: SettingNames) -> str:
    """Return the cause of an error and the setting to check."""
    if error.code == "insufficient_quota":
        return f"the account has no credit left; check the billing of {names.api_key}'s account"
    match error.status_code:
        case 401:
            return f"the key is not accepted; check {names.api_key}"
        case 403:
            return (
                f"the key or identity may not use it; check {names.api_key}, or give the identity "
                "the role `Cognitive Services OpenAI User`"
            )
        case 404:
            return f"there is no such model or address; check {names.model} and {names.base_url}"
        case status if status in range(300, 400):
            return (
                "it redirects elsewhere, which is not followed, so that the key stays where it "
                f"belongs; set {names.base_url} to the final address"
            )
        case _:
            return f"the request is not accepted; check {names.model} and {names.base_url}"


_MICRO = Decimal(1_000_000)


def cost_micro_usd(usage: Usage, models: tuple[str, ...], base_url: str) -> int | None:
    """Return the price in millionths of a US dollar at the vendor behind ``base_url``.

    Args:
        usage: the token counts of the server.
        models: names to look up, the likeliest first; an Azure deployment may have any name,
            while its reply names the model behind it.
        base_url: selects the vendor whose prices apply.

    Returns:
        None if the table has no price for vendor and model, as for a self-hosted server.
    """
    counted = prices.Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
    )
    for model in models:
        try:
            price = calc_price(counted, model, provider_api_url=base_url)
        except LookupError:
            continue
        return int((price.total_price * _MICRO).to_integral_value(ROUND_HALF_UP))
    return None
