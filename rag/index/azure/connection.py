"""Call Azure AI Search: credentials, clients, deadlines, retries, and translation of errors.

Messages give the cause and the setting to check. They never quote the service, because its errors
repeat filters, which name people.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
)
from azure.identity.aio import DefaultAzureCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from pydantic import SecretStr

from rag import retrying
from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.documents import Facts
from rag.retrying import Deadline, RetryPolicy, requested_wait_seconds, with_retries
from rag.types import Fingerprint

BAD_REQUEST = 400
CONTENT_TOO_LARGE = 413

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_ROLES = (
    "give the identity the role `Search Index Data Reader` (whoever answers), or `Search Index "
    "Data Contributor` and `Search Service Contributor` (whoever indexes), or set AZURE_SEARCH_KEY"
)
_CURES = {
    401: f"it takes neither key nor token; check AZURE_SEARCH_KEY, or {_ROLES}",
    403: f"that is not allowed; {_ROLES}; a query key may only search",
    BAD_REQUEST: "the request is not accepted; an index that something else made or changed needs "
    "`python -m ingestion rebuild`",
    CONTENT_TOO_LARGE: "one document is larger than the service takes",
}
_REDIRECT = (
    "it redirects elsewhere, which is not followed, so that the key stays where it belongs; set "
    "AZURE_SEARCH_ENDPOINT to the final address"
)


class TryAgain(retrying.TryAgain, IndexUnavailable):
    """A transient failure of the service."""


class IndexAbsent(IndexUnavailable):
    """The index does not exist."""


class RequestRefused(IndexUnavailable):
    """The service rejects the request; ``status`` is the response status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def translate_error(error: AzureError, index: str) -> IndexUnavailable:
    """Return our error for the SDK's; a TryAgain where a retry may help."""
    if isinstance(error, DecodeError):
        return unexpected_answer()
    if isinstance(error, ClientAuthenticationError) and error.status_code is None:
        return IndexUnavailable(
            "Azure gave no token for Azure AI Search. Set AZURE_SEARCH_KEY, or run `az login`, or "
            "give the workload a managed identity (AZURE_CLIENT_ID names a user-assigned one)."
        )
    if not isinstance(error, HttpResponseError) or error.status_code is None:
        return TryAgain(
            "Azure AI Search cannot be reached; check AZURE_SEARCH_ENDPOINT and the network."
        )
    return _answered(error, error.status_code, index)


def _answered(error: HttpResponseError, status: int, index: str) -> IndexUnavailable:
    if status == 404:  # noqa: PLR2004 - as HTTP calls it
        return IndexAbsent(
            f"There is no index {index!r} in Azure AI Search yet; run the ingestion (`python -m "
            "ingestion sync`), or check AZURE_SEARCH_INDEX and AZURE_SEARCH_ENDPOINT."
        )
    if status in _TRANSIENT:
        headers = getattr(error.response, "headers", {})
        wait = requested_wait_seconds(headers)
        return TryAgain(f"Azure AI Search answered {status} and is busy or broken.", wait)
    cure = _REDIRECT if status in range(300, 400) else _CURES.get(status, _CURES[BAD_REQUEST])
    return RequestRefused(f"Azure AI Search answered {status} for index {index!r}: {cure}.", status)


def unexpected_answer() -> IndexUnavailable:
    """Return the error for a malformed response."""
    return IndexUnavailable(
        "Azure AI Search answered with something that is not its own; check "
        "AZURE_SEARCH_ENDPOINT (https://NAME.search.windows.net), and proxies on the way."
    )


def deadline_passed(seconds: float) -> IndexUnavailable:
    """Return the error for an exceeded deadline."""
    return IndexUnavailable(
        f"Azure AI Search did not answer within {seconds:.3g} seconds (all tries together have "
        "AZURE_SEARCH_TIMEOUT_SECONDS); look at its load, or add a replica."
    )


def index_mismatch(facts: Facts, expected: Fingerprint) -> IndexMismatch:
    """Return the error for an index built with another embedder or schema."""
    return IndexMismatch(
        f"The index {facts.index!r} was built with {facts.embedder!r} ({facts.dimensions!r} "
        f"dimensions, schema {facts.schema!r}), but {expected.embedder!r} "
        f"({expected.dimensions!r} dimensions, schema {expected.schema!r}) is configured. To "
        "rebuild it while it is in use, run the ingestion again with `python -m ingestion "
        "rebuild`, or configure the former embedder."
    )


Result = TypeVar("Result")
Credential = AzureKeyCredential | AsyncTokenCredential

NO_RETRIES = RetryPolicy(attempts=1)

_TRY_SHARE = 0.6
"""Share of the deadline for the first try: one that hangs leaves time for another."""

_OPTIONS: dict[str, Any] = {"retry_total": 0, "permit_redirects": False}
"""The SDK's own retries miss important errors, and its redirects would forward the key."""


class Connection:
    """Clients of one service with one credential; one client per index, created on first use.

    ``authority`` is the CA file for the service's certificate; None: the system's trust store.
    ``compares_texts`` is whether filters support ordering of texts; unknown until tried.
    """

    def __init__(
        self,
        endpoint: str,
        credential: Credential,
        *,
        timeout_seconds: float,
        policy: RetryPolicy | None = None,
        authority: str | None = None,
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._options = _OPTIONS | ({"connection_verify": authority} if authority else {})
        self._credential = credential
        self.timeout_seconds = timeout_seconds
        self.compares_texts = True
        self._policy = policy or RetryPolicy()
        self._documents: dict[str, SearchClient] = {}
        self._definitions: SearchIndexClient | None = None
        self._closed = False

    def documents(self, index: str) -> SearchClient:
        """Return the client for an index's documents."""
        self._check_open()
        if index not in self._documents:
            self._documents[index] = SearchClient(
                self._endpoint, index, self._credential, **self._options
            )
        return self._documents[index]

    def definitions(self) -> SearchIndexClient:
        """Return the client for indexes and aliases; read-only roles have no right to it."""
        self._check_open()
        if self._definitions is None:
            self._definitions = SearchIndexClient(self._endpoint, self._credential, **self._options)
        return self._definitions

    async def call(
        self,
        index: str,
        ask: Callable[[], Awaitable[Result]],
        *,
        seconds: float | None = None,
        policy: RetryPolicy | None = None,
    ) -> Result:
        """Await an SDK call within a deadline, with retries.

        Args:
            index: Name of the index, for error messages.
            ask: The call; must be safe to repeat.
            seconds: For all tries together; None for AZURE_SEARCH_TIMEOUT_SECONDS.
            policy: The retry policy; None for the connection's own.

        Raises IndexUnavailable.
        """
        seconds = seconds or self.timeout_seconds
        deadline = Deadline(seconds)

        async def once() -> Result:
            return await _one_try(index, ask, max(_TRY_SHARE * deadline.remaining_seconds, 0.0))

        try:
            async with asyncio.timeout(seconds):
                return await with_retries(once, policy or self._policy, deadline)
        except TimeoutError:
            raise deadline_passed(seconds) from None

    async def close(self) -> None:
        """Close the clients, and the credential where it can be closed."""
        self._closed = True
        async with AsyncExitStack() as closing:
            if not isinstance(self._credential, AzureKeyCredential):
                closing.push_async_callback(self._credential.close)
            if self._definitions is not None:
                closing.push_async_callback(self._definitions.close)
            for client in self._documents.values():
                closing.push_async_callback(client.close)
        self._documents.clear()
        self._definitions = None

    def _check_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("The index in Azure AI Search is closed.")


async def _one_try(index: str, ask: Callable[[], Awaitable[Result]], seconds: float) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await ask()
    except TimeoutError:
        raise TryAgain(str(deadline_passed(seconds))) from None
    except json.JSONDecodeError:
        raise unexpected_answer() from None
    except AzureError as error:
        # Raised from None: the service's message may repeat a filter, which names people.
        raise translate_error(error, index) from None


def credential_of(endpoint: str, key: SecretStr | None) -> Credential:
    """Return the key, or the process's identity (AZURE_CLIENT_ID names a user-assigned one).

    Raises IndexUnavailable where a token would be sent over an unencrypted connection.
    """
    if key is not None:
        return AzureKeyCredential(key.get_secret_value())
    if not endpoint.lower().startswith("https://"):
        raise IndexUnavailable(
            f"AZURE_SEARCH_ENDPOINT {endpoint!r} needs https://, for without AZURE_SEARCH_KEY a "
            "token is sent there."
        )
    return DefaultAzureCredential()
