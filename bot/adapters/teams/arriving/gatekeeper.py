"""Who may send activities: Microsoft, for our bot, from our company."""

from __future__ import annotations

from urllib.parse import urlsplit

import jwt
import structlog
from aiohttp import web
from botbuilder.schema import Activity
from botframework.connector.auth import AuthenticateRequestResult, BotFrameworkAuthentication

from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.errors import KeysUnavailable
from bot.adapters.teams.wire.body import Body, tenant_of, text_at

_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})

log = structlog.get_logger(__name__)


class Gatekeeper:
    """Refuses with 401 (no valid token), 403 (not ours) or 503 (cannot tell now), never 500.

    ``keys`` None is for development: everyone whose connector is on this machine is let in.
    """

    def __init__(
        self,
        authentication: BotFrameworkAuthentication,
        keys: SigningKeys | None,
        *,
        issuer: str,
        entra_tenant: str | None,
    ) -> None:
        self._authentication = authentication
        self._keys = keys
        self._issuer = issuer
        self._entra_tenant = entra_tenant

    async def admit(self, header: str, body: Body, activity: Activity) -> AuthenticateRequestResult:
        """Return what botbuilder needs to handle the activity. Raises aiohttp's HTTP errors."""
        if self._keys is None:
            if urlsplit(text_at(body, "serviceUrl")).hostname not in _LOCAL:
                raise web.HTTPForbidden(text="Development mode answers this machine only.")
            return await self._authentication.authenticate_request(activity, None)
        await self._check_key(header, self._keys)
        admitted = await self._authenticated(header, activity)
        if self._entra_tenant is not None and tenant_of(body) != self._entra_tenant:
            log.warning("teams.tenant_refused", cure="Set MICROSOFT_APP_TENANT_ID to serve it.")
            raise web.HTTPForbidden(text="This company is not served.")
        return admitted

    async def _check_key(self, header: str, keys: SigningKeys) -> None:
        """Refuse what botbuilder would fail on: no token, another issuer, a key unknown."""
        scheme, _, token = header.partition(" ")
        if scheme != "Bearer":
            raise web.HTTPUnauthorized(text="A token is needed.")
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError) as error:
            raise web.HTTPUnauthorized(text="The token cannot be read.") from error
        if claims.get("iss") != self._issuer or not isinstance(key_id, str):
            raise web.HTTPUnauthorized(text="The token is not from the bot service.")
        try:
            known = await keys.has(key_id)
        except KeysUnavailable as error:
            log.warning("teams.keys_unavailable", error=str(error))
            raise web.HTTPServiceUnavailable(text="Tokens cannot be checked now.") from error
        if not known:
            raise web.HTTPUnauthorized(text="The token's key is unknown.")

    async def _authenticated(self, header: str, activity: Activity) -> AuthenticateRequestResult:
        try:
            return await self._authentication.authenticate_request(activity, header)
        except Exception as error:  # botbuilder raises whatever it stumbles over
            log.info("teams.token_refused", error=type(error).__name__)
            raise web.HTTPUnauthorized(text="The token is not valid.") from error
