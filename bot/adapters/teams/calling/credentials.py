"""The bot's own credentials: made once, and their token fetched off the event loop.

botbuilder makes new ones for every turn, each with a token request of its own, and asks for the
token in a blocking call on the event loop.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Credentials(Protocol):
    """What botbuilder signs requests with."""

    def get_access_token(self, force_refresh: bool = False) -> str: ...  # noqa: FBT001, FBT002  # its signature


class CredentialsFactory(Protocol):
    """botbuilder's ServiceClientCredentialsFactory."""

    async def is_valid_app_id(self, app_id: str) -> bool: ...

    async def is_authentication_disabled(self) -> bool: ...

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001  # its signature
    ) -> Credentials: ...


class CachedCredentials:
    """A CredentialsFactory that keeps what another one made.

    ``trouble`` is why there was no token when one was last needed, "" when there was.
    """

    def __init__(self, factory: CredentialsFactory) -> None:
        self._factory = factory
        self._made: dict[tuple[str, str, str, bool], Credentials] = {}
        self.trouble = ""

    async def is_valid_app_id(self, app_id: str) -> bool:
        return await self._factory.is_valid_app_id(app_id)

    async def is_authentication_disabled(self) -> bool:
        return await self._factory.is_authentication_disabled()

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001  # its signature
    ) -> Credentials:
        key = (app_id, oauth_scope, login_endpoint, validate_authority)
        if key not in self._made:
            self._made[key] = await self._factory.create_credentials(*key)
        return self._made[key]

    async def warm(self) -> None:
        """Have a valid token in the cache of everything made so far."""
        if await self.is_authentication_disabled():
            return
        try:
            for credentials in list(self._made.values()):
                await asyncio.to_thread(credentials.get_access_token)
        except Exception as error:
            # botbuilder raises many kinds, among them PermissionError for a refused secret.
            self.trouble = f"Microsoft gives no token ({type(error).__name__})."
            raise
        self.trouble = ""
