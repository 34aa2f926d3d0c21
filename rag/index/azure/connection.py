"""The way to the service: its clients, each call in its time, tried again where that helps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from rag.errors import IndexUnavailable
from rag.index.azure.errors import TryAgain, foreign, late, translated
from rag.retrying import Deadline, RetryPolicy, with_retries

Result = TypeVar("Result")
Credential = AzureKeyCredential | AsyncTokenCredential

ONCE = RetryPolicy(attempts=1)

_TRY_SHARE = 0.6
"""Of the deadline, for the first try: one that hangs leaves time for another."""

_OPTIONS: dict[str, Any] = {"retry_total": 0, "permit_redirects": False}
"""The SDK's own retries leave out what matters most, and its redirects would take the key along."""


class Connection:
    """Clients of one service with one credential; a client an index, made when it is needed.

    ``authority`` is the file of who vouches for the service's certificate; None: whom all trust.
    ``compares_texts`` is whether filters may compare texts by order, as far as the service has
    been asked.
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
        """Return the client of an index's documents."""
        self._check_open()
        if index not in self._documents:
            self._documents[index] = SearchClient(
                self._endpoint, index, self._credential, **self._options
            )
        return self._documents[index]

    def definitions(self) -> SearchIndexClient:
        """Return the client of indexes and aliases; whoever only reads has no right to it."""
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
        """Await a call of the SDK's within a deadline, again where that may help.

        Args:
            index: What it is about, for the words of an error.
            ask: The call; called again it must do no harm.
            seconds: For all tries together; None for AZURE_SEARCH_TIMEOUT_SECONDS.
            policy: How often it is tried; None for the connection's own.

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
            raise late(seconds) from None

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
        raise TryAgain(str(late(seconds))) from None
    except json.JSONDecodeError:
        raise foreign() from None
    except AzureError as error:
        # From nothing: what the service wrote may repeat a filter, and that names people.
        raise translated(error, index) from None
