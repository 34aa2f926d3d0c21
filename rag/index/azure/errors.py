"""The SDK's errors in our words: what happened, which setting to look at, and no secret.

Nothing that the service wrote is quoted: its errors repeat filters, and those name people.
"""

from __future__ import annotations

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
)

from rag import retrying
from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.documents import Facts
from rag.retry_after import requested_wait_seconds
from rag.types import Fingerprint

NOT_ACCEPTED = 400
TOO_LARGE = 413

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_ROLES = (
    "give the identity the role `Search Index Data Reader` (whoever answers), or `Search Index "
    "Data Contributor` and `Search Service Contributor` (whoever indexes), or set AZURE_SEARCH_KEY"
)
_CURES = {
    401: f"it takes neither key nor token; check AZURE_SEARCH_KEY, or {_ROLES}",
    403: f"that is not allowed; {_ROLES}; a query key may only search",
    NOT_ACCEPTED: "the request is not accepted; an index that something else made or changed needs "
    "`python -m ingestion rebuild`",
    TOO_LARGE: "one document is larger than the service takes",
}
_REDIRECT = (
    "it redirects elsewhere, which is not followed, so that the key stays where it belongs; set "
    "AZURE_SEARCH_ENDPOINT to the final address"
)


class TryAgain(retrying.TryAgain, IndexUnavailable):
    """A failure of the service that may pass."""


class IndexAbsent(IndexUnavailable):
    """There is no index of this name."""


class Refused(IndexUnavailable):
    """The service will not do what it was asked to; ``status`` is what it answered."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def translated(error: AzureError, index: str) -> IndexUnavailable:
    """Return our error for the SDK's; a TryAgain where trying again may help."""
    if isinstance(error, DecodeError):
        return foreign()
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
    cure = _REDIRECT if status in range(300, 400) else _CURES.get(status, _CURES[NOT_ACCEPTED])
    return Refused(f"Azure AI Search answered {status} for index {index!r}: {cure}.", status)


def foreign() -> IndexUnavailable:
    """Return the error for an answer that the service does not give."""
    return IndexUnavailable(
        "Azure AI Search answered with something that is not its own; check "
        "AZURE_SEARCH_ENDPOINT (https://NAME.search.windows.net), and proxies on the way."
    )


def late(seconds: float) -> IndexUnavailable:
    """Return the error for a service that let a deadline pass."""
    return IndexUnavailable(
        f"Azure AI Search did not answer within {seconds:.3g} seconds (all tries together have "
        "AZURE_SEARCH_TIMEOUT_SECONDS); look at its load, or add a replica."
    )


def mismatch(facts: Facts, expected: Fingerprint) -> IndexMismatch:
    """Return the error for an index that was built with something else."""
    return IndexMismatch(
        f"The index {facts.index!r} was built with {facts.embedder!r} ({facts.dimensions!r} "
        f"dimensions, schema {facts.schema!r}), but {expected.embedder!r} "
        f"({expected.dimensions!r} dimensions, schema {expected.schema!r}) is configured. To "
        "rebuild it while it is in use, run the ingestion again with `python -m ingestion "
        "rebuild`, or configure the former embedder."
    )
