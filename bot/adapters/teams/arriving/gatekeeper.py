"""Who may send activities: Microsoft, for our bot, from our company."""

from __future__ import annotations

import re

import jwt
import structlog
from aiohttp import web
from botbuilder.schema import Activity
from botframework.connector.auth import AuthenticateRequestResult, BotFrameworkAuthentication

from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.errors import KeysUnavailable
from bot.adapters.teams.wire.body import Body, tenant_of, text_at

_TEAMS = "msteams"
_ALGORITHMS = ["RS256"]
_LEEWAY_SECONDS = 300.0
_CLAIMS = ["exp", "iss", "aud"]
"""What a token must say: PyJWT holds a token to its end only where it names one."""

_LOCAL = re.compile(
    r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?(?:/[\w./~-]*)?", re.ASCII
)
"""Nothing that one reads as another host than the next: ``http://evil.example\\@127.0.0.1/``."""

log = structlog.get_logger(__name__)


class Gatekeeper:
    """Refuses with 401 (no valid token), 403 (not ours) or 503 (cannot tell now), never 500.

    ``check`` is for before anything of a request is read: what anybody may send costs seconds to
    read. ``keys`` None is for development: everyone whose connector is on this machine is let in.
    """

    def __init__(
        self,
        authentication: BotFrameworkAuthentication,
        keys: SigningKeys | None,
        *,
        issuer: str,
        app_id: str | None,
        entra_tenant: str | None,
    ) -> None:
        self._authentication = authentication
        self._keys = keys
        self._issuer = issuer
        self._app_id = app_id
        self._entra_tenant = entra_tenant

    async def check(self, header: str) -> None:
        """Refuse whoever has no token that is valid now, of the bot service and for our bot."""
        if self._keys is None:
            return
        scheme, _, token = header.partition(" ")
        if scheme != "Bearer":
            raise web.HTTPUnauthorized(text="A token is needed.")
        try:
            jwt.decode(
                token,
                await self._key_of(token, self._keys),
                algorithms=_ALGORITHMS,
                audience=self._app_id,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": _CLAIMS},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            log.info("teams.token_refused", error=type(error).__name__)
            raise web.HTTPUnauthorized(text="The token is not valid.") from error

    async def admit(self, header: str, body: Body, activity: Activity) -> AuthenticateRequestResult:
        """Return what botbuilder needs to handle the activity, of a request that was checked.

        Raises aiohttp's HTTP errors.
        """
        if self._keys is None:
            if not _LOCAL.fullmatch(text_at(body, "serviceUrl")):
                raise web.HTTPForbidden(text="Development mode answers this machine only.")
            return await self._authentication.authenticate_request(activity, None)
        if not text_at(body, "serviceUrl"):
            # botbuilder holds the token's service against the activity's only where it has one.
            log.info("teams.token_refused", error="The activity has no serviceUrl.")
            raise web.HTTPUnauthorized(text="The token is not for this activity.")
        admitted = await self._authenticated(header, activity)
        if text_at(body, "channelId") != _TEAMS:
            # Elsewhere, such as in a web chat, who asks is whoever their client says they are.
            log.warning("teams.channel_refused", cure="Leave the bot no channel but Teams.")
            raise web.HTTPForbidden(text="Only Teams is served.")
        served = self._entra_tenant
        if served is not None and tenant_of(body).lower() != served.lower():
            log.warning("teams.tenant_refused", cure="Set MICROSOFT_APP_TENANT_ID to serve it.")
            raise web.HTTPForbidden(text="This company is not served.")
        return admitted

    async def _key_of(self, token: str, keys: SigningKeys) -> jwt.PyJWK:
        """Return the key that a token names. Raises PyJWTError where there is none."""
        key_id = jwt.get_unverified_header(token).get("kid")
        try:
            key = await keys.named(key_id) if isinstance(key_id, str) else None
        except KeysUnavailable as error:
            log.warning("teams.keys_unavailable", error=str(error))
            raise web.HTTPServiceUnavailable(text="Tokens cannot be checked now.") from error
        if key is None:
            raise jwt.InvalidKeyError("The token's key is unknown.")
        return key

    async def _authenticated(self, header: str, activity: Activity) -> AuthenticateRequestResult:
        try:
            return await self._authentication.authenticate_request(activity, header)
        except Exception as error:  # botbuilder raises whatever it stumbles over
            log.info("teams.token_refused", error=type(error).__name__)
            raise web.HTTPUnauthorized(text="The token is not valid.") from error
