"""Fake an OpenID Connect issuer over real HTTP, strict about what it is asked and able to lie."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import unquote_plus, urlencode

import aiohttp
import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

CLIENT_ID = "frontdesk-client"
SECRET = "sec/ret +1"
TENANT = "0f2d6d5c-1111-4222-8333-444455556666"
ANNA: Mapping[str, object] = {
    "sub": "pairwise-anna",
    "oid": "anna-oid",
    "tid": TENANT,
    "name": "Anna Berg",
    "email": "Anna@acme.example",
    "email_verified": True,
}
_HUGE = 3 * 1024**2


@cache
def _key(kid: str, algorithm: str) -> PrivateKeyTypes:
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(65537, 2048)


def _with_public_key_as_secret(
    claims: dict[str, object], headers: dict[str, str], public: Mapping[str, object]
) -> str:
    """Forge a token as those do who know nothing but what is published."""
    parts = [{"alg": "HS256", "typ": "JWT", **headers}, claims]
    signed = b".".join(_base64(json.dumps(part).encode()) for part in parts)
    mark = hmac.digest(json.dumps(public).encode(), signed, hashlib.sha256)
    return (signed + b"." + _base64(mark)).decode()


def _base64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@dataclass
class FakeIssuer:
    """Signs in ``who``, without asking for a password.

    Args:
        claims: What the token says beyond who: these win.
        algorithm: What the token is signed by; ``none`` and ``HS256`` forge it.
        troubles: A path's last part, and what is wrong there: 500, slow, huge, nonsense, moved.
        document: What discovery says otherwise.
        refreshes: Whether it offers refresh tokens, each of which is valid once.
        vouches: Whether a refresh token is still taken.
        before_refresh: What happens elsewhere while it is asked.
    """

    entra: bool = False
    who: Mapping[str, object] = field(default_factory=lambda: ANNA)
    claims: dict[str, object] = field(default_factory=dict)
    algorithm: str = "ES256"
    kid: str = "first"
    secret: str | None = SECRET
    troubles: dict[str, str] = field(default_factory=dict)
    document: dict[str, object] = field(default_factory=dict)
    redirect_uris: set[str] = field(default_factory=set)
    refreshes: bool = True
    vouches: bool = True
    asked: Counter[str] = field(default_factory=Counter)
    refreshed: list[str] = field(default_factory=list)
    before_refresh: Callable[[], Awaitable[object]] | None = None
    base: str = ""
    _codes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _refresh_tokens: set[str] = field(default_factory=set)
    _published: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.base}/{TENANT}/v2.0" if self.entra else self.base

    def rotate(self, kid: str) -> None:
        """Sign with another key from now on, and publish that one alone."""
        self.kid = kid
        self._published = [kid]

    def sign_unpublished(self, kid: str) -> None:
        """Sign with a key that is nowhere published."""
        self._published = self._published or [self.kid]
        self.kid = kid

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeIssuer]:
        app = web.Application(middlewares=[self._misbehave])
        app.router.add_get("/{path:.*}.well-known/openid-configuration", self._discover)
        app.router.add_get("/{path:.*}keys", self._keys)
        app.router.add_get("/{path:.*}authorize", self._authorize)
        app.router.add_post("/{path:.*}token", self._token)
        async with TestServer(app, host="127.0.0.1") as server:
            self.base = str(server.make_url("")).rstrip("/")
            yield self

    async def approve(self, address: str) -> str:
        """Do what a browser does there; return where it is sent back to."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(address, allow_redirects=False) as response,
        ):
            assert response.status == 302, await response.text()
            return response.headers["Location"]

    def id_token(self, nonce: str | None) -> str:
        """Return the token for who signs in; a refreshed one has no nonce."""
        now = int(time.time())
        claims: dict[str, object] = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "nonce": nonce,
            **self.who,
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return self._signed(claims)

    def _signed(self, claims: dict[str, object]) -> str:
        headers = {"kid": self.kid}
        if self.algorithm == "none":
            return jwt.encode(claims, "", algorithm="none", headers=headers)
        if self.algorithm == "HS256":
            return _with_public_key_as_secret(claims, headers, self._public(self.kid))
        key = _key(self.kid, self.algorithm)
        return jwt.encode(claims, key, algorithm=self.algorithm, headers=headers)  # type: ignore[arg-type]  # never another kind

    @web.middleware
    async def _misbehave(self, request: web.Request, handler: object) -> web.StreamResponse:
        name = request.path.rsplit("/", 1)[-1]
        self.asked[name] += 1
        trouble = self.troubles.get(name)
        if trouble == "500":
            return web.Response(status=500, text="a stack trace with password=hunter2")
        if trouble == "slow":
            await asyncio.sleep(30)
        if trouble == "huge":
            return web.Response(body=b'{"a": "' + b"x" * _HUGE + b'"}')
        if trouble == "nonsense":
            return web.Response(body=b"\xff<html>", content_type="application/json")
        if trouble == "moved":
            return web.Response(status=307, headers={"Location": f"{self.base}/elsewhere"})
        response: web.StreamResponse = await handler(request)  # type: ignore[operator]  # aiohttp's handler
        return response

    async def _discover(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "jwks_uri": f"{self.base}/keys",
                "scopes_supported": ["openid", *(["offline_access"] if self.refreshes else [])],
                **self.document,
            }
        )

    async def _keys(self, _: web.Request) -> web.Response:
        return web.json_response({"keys": [self._public(kid) for kid in self._kids()]})

    def _kids(self) -> list[str]:
        return self._published or [self.kid]

    def _public(self, kid: str) -> Mapping[str, object]:
        algorithm = "ES256" if self.algorithm in {"ES256", "none", "HS256"} else "RS256"
        known = jwt.get_algorithm_by_name(algorithm)
        public = _key(kid, algorithm).public_key()
        return {**known.to_jwk(public, as_dict=True), "kid": kid, "use": "sig"}

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = request.query
        right = (
            asked["response_type"] == "code"
            and asked["client_id"] == CLIENT_ID
            and asked["redirect_uri"] in self.redirect_uris
            and "openid" in asked["scope"].split()
            and ("offline_access" in asked["scope"].split()) == self.refreshes
            and asked["code_challenge_method"] == "S256"
            and min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
        )
        if not right:
            return web.Response(status=400, text=f"refused: {dict(asked)}")
        code = secrets.token_urlsafe(16)
        self._codes[code] = dict(asked)
        back = urlencode({"code": code, "state": asked["state"], "iss": self.url})
        return web.Response(status=302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if not self._is_client(request, form):
            return web.json_response({"error": "invalid_client"}, status=401)
        if form.get("grant_type") == "refresh_token":
            return await self._refresh(str(form.get("refresh_token")))
        begun = self._codes.pop(str(form.get("code")), None)
        verifier = str(form.get("code_verifier", "")).encode()
        challenge = _base64(hashlib.sha256(verifier).digest()).decode()
        if (
            begun is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != begun["redirect_uri"]
            or challenge != begun["code_challenge"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return self._issue(begun["nonce"])

    async def _refresh(self, token: str) -> web.Response:
        self.refreshed.append(token)
        if self.before_refresh is not None:
            await self.before_refresh()
        if not self.vouches or token not in self._refresh_tokens:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self._refresh_tokens.remove(token)
        return self._issue(None)

    def _issue(self, nonce: str | None) -> web.Response:
        issued = {"id_token": self.id_token(nonce), "access_token": "a", "token_type": "Bearer"}
        if self.refreshes:
            issued["refresh_token"] = f"refresh-{secrets.token_urlsafe(16)}"
            self._refresh_tokens.add(issued["refresh_token"])
        return web.json_response(issued)

    def _is_client(self, request: web.Request, form: Mapping[str, object]) -> bool:
        if form.get("client_id") != CLIENT_ID:
            return False
        if self.secret is None:
            return "Authorization" not in request.headers and "client_secret" not in form
        methods = self.document.get("token_endpoint_auth_methods_supported", [])
        if isinstance(methods, list) and "client_secret_post" in methods:
            return form.get("client_secret") == self.secret
        scheme, _, packed = request.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(packed).decode().partition(":")
        return scheme == "Basic" and (unquote_plus(name), unquote_plus(secret)) == (
            CLIENT_ID,
            self.secret,
        )
