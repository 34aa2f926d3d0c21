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
    """A CredentialsFactory that keeps what another one made."""

    def __init__(self, factory: CredentialsFactory) -> None:
        self._factory = factory
        self._made: dict[tuple[str, str, str, bool], Credentials] = {}

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
        if not await self.is_authentication_disabled():
            for credentials in list(self._made.values()):
                await asyncio.to_thread(credentials.get_access_token)
