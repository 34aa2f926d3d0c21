"""Client of an OpenID Connect issuer: metadata, signing keys and code exchange.

The browser keeps the sign-in attempt (state, nonce and PKCE verifier) in a cookie.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from urllib.parse import quote_plus, urlencode

import aiohttp

from bot.domain.urls import is_confidential, safe_redirect_path
from bot.web.auth.id_tokens import IssuerUnavailable, SigningKey, SignInRefused, signing_keys

ATTEMPT_SECONDS = 600
_SECRET_BYTES = 32
_ATTEMPT_COOKIE = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]*)")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """One sign-in attempt: the path to return to, and a secret that binds it to the browser.

    State, nonce and PKCE verifier are different hashes of the secret: who sees one of them, in an
    address or a token, learns nothing of the others, and no server has to store them.
    """

    secret: str
    wanted: str = "/"

    @property
    def state(self) -> str:
        return self._derived("state")

    @property
    def nonce(self) -> str:
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The verifier's S256 challenge (RFC 7636)."""
        return _base64(hashlib.sha256(self.verifier.encode()).digest())

    def cookie(self) -> str:
        """Return the cookie's value for the duration of the attempt."""
        return f"{self.secret}.{_base64(self.wanted.encode())}"

    def _derived(self, purpose: str) -> str:
        return _base64(hashlib.sha256(f"{purpose}:{self.secret}".encode()).digest())


def new_attempt(wanted: str | None) -> SignInAttempt:
    """Start a sign-in attempt that returns to a path of this server."""
    return SignInAttempt(secrets.token_urlsafe(_SECRET_BYTES), safe_redirect_path(wanted))


def attempt_of(cookie: str) -> SignInAttempt | None:
    """Parse the attempt cookie; None if it is malformed."""
    found = _ATTEMPT_COOKIE.fullmatch(cookie)
    if found is None:
        return None
    secret, wanted = found.groups()
    try:
        path = base64.urlsafe_b64decode(wanted + "=" * (-len(wanted) % 4)).decode()
    except ValueError:
        return None
    return SignInAttempt(secret, safe_redirect_path(path))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


SCOPE = "openid profile email"
OFFLINE_SCOPE = "offline_access"
"""The scope of refresh tokens; added where the issuer lists it, for others reject it."""
FRESH_SECONDS = 3600.0
"""The seconds for which published metadata is used without a refresh."""
USABLE_SECONDS = 24 * 3600.0
"""The seconds for which it is used while the issuer is unreachable."""
PAUSE_SECONDS = 60.0
"""Seconds between two refreshes, also for an unknown key."""
SHORT_PAUSE_SECONDS = 5.0
"""Seconds between two attempts to reach an issuer without usable metadata."""
MAX_RESPONSE_BYTES = 1024**2
"""The size limit of a response, in bytes."""
_WELL_KNOWN = "/.well-known/openid-configuration"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

PendingResponse = AbstractAsyncContextManager[aiohttp.ClientResponse]


@dataclass(frozen=True, slots=True)
class ClientRegistration:
    """This server's client registration at the issuer; ``secret`` is None for a public client."""

    issuer: str
    client_id: str
    redirect_uri: str
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class IssuerMetadata:
    """The issuer's endpoints and keys, as last fetched."""

    authorization: str
    token: str
    secret_in_body: bool
    scope: str
    keys: Sequence[SigningKey]
    at: float


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """An id token, and a refresh token, or ""."""

    id_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)


class Issuer:
    """One OpenID Connect issuer. Every call raises IssuerUnavailable.

    Args:
        registration: This server's client registration.
        timeout_seconds: Deadline of each request.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        registration: ClientRegistration,
        *,
        timeout_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known_as = registration
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._clock = clock
        self._published: IssuerMetadata | None = None
        self._tried_at = self._searched_at = float("-inf")
        self._lock = asyncio.Lock()

    async def address(self, attempt: SignInAttempt) -> str:
        """Return the authorization URL for a sign-in attempt."""
        published = await self._current()
        asked = {
            "response_type": "code",
            "client_id": self._known_as.client_id,
            "redirect_uri": self._known_as.redirect_uri,
            "scope": published.scope,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in published.authorization else "?"
        return f"{published.authorization}{joint}{urlencode(asked)}"

    async def key(self, kid: str | None) -> SigningKey:
        """Return the key with an id; an unknown id refetches the keys, at most once a minute.

        Raises SignInRefused when there is none.
        """
        published = await self._current()
        found = _find_key(published.keys, kid)
        if found is None and await self._search():
            found = _find_key((await self._current()).keys, kid)
        if found is None:
            raise SignInRefused("The id token is signed with a key that the issuer has not.")
        return found

    async def redeem(self, code: str, verifier: str) -> IssuedTokens:
        """Exchange an authorization code for tokens. Raises SignInRefused for a wrong code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._known_as.redirect_uri,
            "code_verifier": verifier,
        }
        return await self._ask_for_tokens(form)

    async def refresh(self, refresh_token: str) -> IssuedTokens:
        """Exchange a refresh token for new tokens (RFC 6749, 6).

        The old refresh token stays valid if no new one is given. Raises SignInRefused when the
        issuer no longer vouches for the person.
        """
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        issued = await self._ask_for_tokens(form)
        return issued if issued.refresh_token else replace(issued, refresh_token=refresh_token)

    async def _ask_for_tokens(self, asked: Mapping[str, str]) -> IssuedTokens:
        published = await self._current()
        form = {**asked, "client_id": self._known_as.client_id}
        headers = {"Accept": "application/json"}
        secret = self._known_as.secret
        if secret is not None and published.secret_in_body:
            form["client_secret"] = secret
        elif secret is not None:
            headers["Authorization"] = _basic_auth(self._known_as.client_id, secret)
        status, answer = await self._exchange(
            lambda session: session.post(
                published.token, data=form, headers=headers, allow_redirects=False
            )
        )
        token, refreshing = answer.get("id_token"), answer.get("refresh_token")
        if status != HTTPStatus.OK:
            raise _token_error(status, answer)
        if not isinstance(token, str):
            raise IssuerUnavailable("The token endpoint gave no id token.")
        return IssuedTokens(token, refreshing if isinstance(refreshing, str) else "")

    async def _current(self) -> IssuerMetadata:
        """Return the cached metadata, refreshed hourly; usable for a day during an outage."""
        published = self._published
        if published is not None and self._clock() - published.at < FRESH_SECONDS:
            return published
        async with self._lock:
            if self._published is published:
                await self._renew(published)
        latest = self._published
        if latest is None or self._clock() - latest.at >= USABLE_SECONDS:
            raise IssuerUnavailable(f"{self._known_as.issuer!r} was not reached a moment ago.")
        return latest

    async def _renew(self, old: IssuerMetadata | None) -> None:
        usable = old is not None and self._clock() - old.at < USABLE_SECONDS
        pause = PAUSE_SECONDS if usable else SHORT_PAUSE_SECONDS
        if self._clock() - self._tried_at < pause:
            return
        try:
            await self._look()
        except IssuerUnavailable:
            if not usable:
                raise

    async def _search(self) -> bool:
        """Refetch the keys unless that was done within a minute; return whether it was done."""
        async with self._lock:
            if self._clock() - self._searched_at < PAUSE_SECONDS:
                return False
            self._searched_at = self._clock()
            await self._look()
            return True

    async def _look(self) -> None:
        self._tried_at = self._clock()
        address = self._known_as.issuer.rstrip("/") + _WELL_KNOWN
        document = await self._read(address)
        if document.get("issuer") != self._known_as.issuer:
            raise IssuerUnavailable(
                f"{address!r} says that its issuer is {document.get('issuer')!r}. Set OIDC_ISSUER "
                "to exactly the issuer of your own company, for Entra with the tenant's id."
            )
        authorization, token, jwks = (_endpoint(document, name) for name in _ENDPOINTS)
        self._published = IssuerMetadata(
            authorization=authorization,
            token=token,
            secret_in_body=_secret_in_body(document),
            scope=_scope(document),
            keys=signing_keys(await self._read(jwks)),
            at=self._clock(),
        )

    async def _read(self, address: str) -> Mapping[str, object]:
        status, document = await self._exchange(
            lambda session: session.get(address, allow_redirects=False)
        )
        if status != HTTPStatus.OK:
            raise IssuerUnavailable(f"{address!r} answers {status}. Check OIDC_ISSUER.")
        return document

    async def _exchange(
        self, ask: Callable[[aiohttp.ClientSession], PendingResponse]
    ) -> tuple[int, Mapping[str, object]]:
        try:
            async with (
                aiohttp.ClientSession(timeout=self._timeout) as session,
                ask(session) as response,
            ):
                return response.status, _json_object(await _body(response))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise IssuerUnavailable(
                f"{self._known_as.issuer!r} can't be asked ({type(error).__name__}). Check the "
                "network and OIDC_ISSUER."
            ) from error


def _find_key(keys: Sequence[SigningKey], kid: str | None) -> SigningKey | None:
    """Return the key with an id; without an id, the only key there is."""
    if kid is None:
        return keys[0] if len(keys) == 1 else None
    return next((key for key in keys if key.id == kid), None)


def _endpoint(document: Mapping[str, object], name: str) -> str:
    address = document.get(name)
    if not isinstance(address, str) or not is_confidential(address):
        raise IssuerUnavailable(f"The issuer's {name} {address!r} is no https address.")
    return address


def _scope(document: Mapping[str, object]) -> str:
    listed = document.get("scopes_supported")
    offers_refresh = isinstance(listed, list) and OFFLINE_SCOPE in listed
    return f"{SCOPE} {OFFLINE_SCOPE}" if offers_refresh else SCOPE


def _secret_in_body(document: Mapping[str, object]) -> bool:
    """Return whether the client secret goes into the body; the standard's default is Basic."""
    taken = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return isinstance(taken, list) and "client_secret_basic" not in taken


def _basic_auth(client_id: str, secret: str) -> str:
    """Return the Basic header, its parts form-encoded (RFC 6749, 2.3.1)."""
    return aiohttp.encode_basic_auth(quote_plus(client_id), quote_plus(secret))


async def _body(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_RESPONSE_BYTES:
            raise IssuerUnavailable(f"{response.url} sends more than {MAX_RESPONSE_BYTES:,} bytes.")
    return bytes(body)


def _json_object(body: bytes) -> Mapping[str, object]:
    """Parse a JSON object; anything else gives an empty one."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _token_error(status: int, answer: Mapping[str, object]) -> Exception:
    code = str(answer.get("error", ""))[:64]
    if code == "invalid_grant":
        return SignInRefused("The code or refresh token is not valid any more (invalid_grant).")
    return IssuerUnavailable(
        f"The token endpoint answers {status} {code!r}. Check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET "
        "and the redirect address of the registration."
    )
