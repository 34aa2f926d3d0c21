"""The token for Microsoft Graph, of the identity that this process has."""

from __future__ import annotations

from azure.core.exceptions import AzureError
from azure.identity.aio import DefaultAzureCredential

from ingestion.confluence.directory.errors import DirectoryUnavailable
from ingestion.confluence.directory.graph import SCOPE


class GraphToken:
    """Managed or workload identity, environment or command line; made when first asked for."""

    def __init__(self) -> None:
        self._credential: DefaultAzureCredential | None = None

    async def __call__(self) -> str:
        """Return a token. Raises DirectoryUnavailable."""
        if self._credential is None:
            self._credential = DefaultAzureCredential()
        try:
            return (await self._credential.get_token(SCOPE)).token
        except AzureError as error:
            # Its text lists all that was tried, with paths and ids.
            raise DirectoryUnavailable(
                f"There is no token for Microsoft Graph ({type(error).__name__}). Give this "
                "process a managed identity, or sign in by `az login`."
            ) from None

    async def close(self) -> None:
        if self._credential is not None:
            await self._credential.close()
