"""The bot's own credentials: made once, and their token fetched off the event loop.

botbuilder makes new ones for every turn, each with a token request of its own, and asks for the
token in a blocking call on the event loop.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from bot.adapters.teams.calling.errors import NoToken
from bot.adapters.teams.calling.refusals import Refusal, refusal_of
from bot.adapters.teams.calling.threads import Threads


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


class Fetched:
    """Credentials that sign with the token fetched last; botbuilder's fetch whenever they sign."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._token = ""

    def get_access_token(self, force_refresh: bool = False) -> str:  # noqa: FBT001, FBT002  # its signature
        """Fetch a token, which blocks; MSAL keeps it as long as it is valid."""
        self._token = self._credentials.get_access_token(force_refresh)
        return self._token

    def signed_session(self, session: Any) -> Any:  # noqa: ANN401  # msrest has no types
        """Sign what a session sends; without a token, as in development mode, with nothing."""
        session.headers.pop("Authorization", None)
        if self._token:
            session.headers["Authorization"] = f"Bearer {self._token}"
        return session


class CachedCredentials:
    """A CredentialsFactory that keeps what another one made.

    ``trouble`` is why there was no token when one was last needed, None when there was.
    """

    def __init__(self, factory: CredentialsFactory) -> None:
        self._factory = factory
        self._made: dict[tuple[str, str, str, bool], Fetched] = {}
        self._fetching = asyncio.Lock()
        self._thread = Threads(1)
        self.trouble: Refusal | None = None

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
    ) -> Fetched:
        key = (app_id, oauth_scope, login_endpoint, validate_authority)
        if key not in self._made:
            self._made[key] = Fetched(await self._factory.create_credentials(*key))
        return self._made[key]

    async def warm(self) -> None:
        """Have a valid token in everything made so far. Raises NoToken."""
        async with self._fetching:
            if await self.is_authentication_disabled():
                return
            loop = asyncio.get_running_loop()
            try:
                for credentials in list(self._made.values()):
                    await loop.run_in_executor(self._thread, credentials.get_access_token)
            except Exception as error:
                # botbuilder raises many kinds, among them PermissionError for a refused secret.
                raise self.refused(error) from error
            self.trouble = None

    def refused(self, error: Exception) -> NoToken:
        """Remember why there is no token; return it as an error of ours."""
        self.trouble = refusal_of(error)
        return NoToken(str(self.trouble))
