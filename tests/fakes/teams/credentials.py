"""Tokens of the bot and of the bot service, and the hosts that issue them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import jwt
from aiohttp import web
from aiohttp.test_utils import TestServer
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import RSAAlgorithm

from tests.fakes.certificates import certificate_for
from tests.fakes.teams.names import APP_ID, ISSUER


def signed_token(url: str, key: RSAPrivateKey, key_id: str, changes: Mapping[str, object]) -> str:
    """Return a token of the bot service; a claim of None is left out."""
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": APP_ID,
        "serviceurl": url,
        "nbf": now - 60,
        "exp": now + 3600,
        **changes,
    }
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, algorithm="RS256", headers={"kid": key_id})


def published_keys(
    keys: Mapping[str, RSAPrivateKey], endorsed: Sequence[str] = ("msteams",)
) -> dict[str, Any]:
    """Return keys as the bot service publishes them, each for the same channels."""
    return {
        "keys": [
            {**json.loads(RSAAlgorithm.to_jwk(key.public_key())), "kid": name}
            | {"endorsements": list(endorsed)}
            for name, key in keys.items()
        ]
    }


class CountingCredentials:
    """Opens credentials whose tokens are made here, and counted; ``seconds`` is their lifetime.

    ``refusal`` is the message of the error, "" while tokens are given; ``slow_seconds`` pass before
    each.
    """

    def __init__(self, *, seconds: float = 3_600.0, refusal: str = "") -> None:
        self.fetched = 0
        self.slow_seconds = 0.0
        self.seconds = seconds
        self.refusal = refusal

    def __call__(self) -> OpenCredential:
        return OpenCredential(self)


class OpenCredential:
    """Implements azure-core's AsyncTokenCredential."""

    def __init__(self, issuer: CountingCredentials) -> None:
        self._issuer = issuer

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        await asyncio.sleep(self._issuer.slow_seconds)
        if self._issuer.refusal:
            raise ClientAuthenticationError(message=self._issuer.refusal)
        self._issuer.fetched += 1
        until = int(time.time() + self._issuer.seconds)
        return AccessToken(f"token-{self._issuer.fetched}", until)

    async def close(self) -> None:
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


LOGIN_HOST = "login.microsoftonline.com"


@dataclass
class LoginServer:
    """Tokens that were asked for: by authority, and by resource of a managed identity.

    ``refusal`` is the code and words of an error, "" while tokens are given.
    """

    authorities: list[str] = field(default_factory=list)
    resources: list[tuple[str, str]] = field(default_factory=list)
    refusal: str = ""
    proxy: str = ""
    identity: str = ""
    trusted: Path = Path()

    @asynccontextmanager
    async def serving(self, directory: Path) -> AsyncIterator[LoginServer]:
        serves, _ = certificate_for(directory, LOGIN_HOST)
        self.trusted = directory / "chain.pem"
        app = web.Application()
        app.router.add_get("/{tenant}/v2.0/.well-known/openid-configuration", self._metadata)
        app.router.add_get("/common/discovery/instance", self._known)
        app.router.add_post("/{tenant}/oauth2/v2.0/token", self._token)
        plain = web.Application()
        plain.router.add_get("/msi/token", self._identity)
        entra = TestServer(app, host="127.0.0.1", scheme="https")
        await entra.start_server(ssl=serves)
        async with TestServer(plain, host="127.0.0.1") as machine:
            self.identity = str(machine.make_url("/msi/token"))
            proxy = _Proxy(int(entra.port or 0))
            listening = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
            self.proxy = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            try:
                yield self
            finally:
                listening.close()
                await proxy.close()
                await entra.close()

    def environment(self) -> Mapping[str, str]:
        """Return what leads a client here."""
        return {
            "HTTPS_PROXY": self.proxy,
            "NO_PROXY": "127.0.0.1",
        }

    async def _metadata(self, request: web.Request) -> web.Response:
        authority = f"https://{request.host}/{request.match_info['tenant']}"
        return web.json_response(
            {
                "issuer": f"{authority}/v2.0",
                "authorization_endpoint": f"{authority}/oauth2/v2.0/authorize",
                "token_endpoint": f"{authority}/oauth2/v2.0/token",
            }
        )

    async def _known(self, _: web.Request) -> web.Response:
        return web.json_response({"metadata": []})

    async def _token(self, request: web.Request) -> web.Response:
        self.authorities.append(f"https://{request.host}/{request.match_info['tenant']}")
        if self.refusal:
            told = {"error": "invalid_client", "error_description": self.refusal}
            return web.json_response(told, status=401)
        return web.json_response(
            {"token_type": "Bearer", "expires_in": 3600, "access_token": "of-entra"}
        )

    async def _identity(self, request: web.Request) -> web.Response:
        self.resources.append((request.query["client_id"], request.query["resource"]))
        if self.refusal:
            return web.json_response({"statusCode": 400, "message": self.refusal}, status=400)
        return web.json_response(
            {
                "token_type": "Bearer",
                "expires_on": "4102444800",
                "access_token": "of-the-machine",
                "resource": request.query["resource"],
            }
        )


class _Proxy:
    """Leads whatever it is asked for to one port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open[task] = writer
        await reader.readuntil(b"\r\n\r\n")
        there, onwards = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        with suppress(OSError):
            await asyncio.gather(_copy_stream(reader, onwards), _copy_stream(there, writer))

    async def close(self) -> None:
        for writer in self._open.values():
            writer.close()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while sent := await reader.read(65_536):
            writer.write(sent)
            await writer.drain()
    finally:
        writer.close()
