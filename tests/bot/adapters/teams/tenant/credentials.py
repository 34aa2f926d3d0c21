"""Tokens that are made here: those of the bot, and those of the bot service."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import RSAAlgorithm

from tests.bot.adapters.teams.tenant.names import APP_ID, ISSUER


def signed(url: str, key: RSAPrivateKey, key_id: str, changes: Mapping[str, object]) -> str:
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


def published(
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
    """Credentials whose tokens are made here, and counted."""

    def __init__(self) -> None:
        self.fetched = 0
        self.made = 0
        self.threads: list[threading.Thread] = []

    async def is_valid_app_id(self, app_id: str) -> bool:
        return app_id == APP_ID

    async def is_authentication_disabled(self) -> bool:
        return False

    async def create_credentials(
        self,
        app_id: str,
        oauth_scope: str,
        login_endpoint: str,
        validate_authority: bool,  # noqa: FBT001
    ) -> Signer:
        self.made += 1
        return Signer(self)


class Signer:
    """Signs requests with a token that is fetched once."""

    def __init__(self, issuer: CountingCredentials) -> None:
        self._issuer = issuer
        self._token = ""

    def get_access_token(self, force_refresh: bool = False) -> str:  # noqa: FBT001, FBT002
        if not self._token:
            self._issuer.fetched += 1
            self._issuer.threads.append(threading.current_thread())
            self._token = f"token-{self._issuer.fetched}"
        return self._token

    def signed_session(self, session: Any) -> Any:  # noqa: ANN401
        session.headers["Authorization"] = f"Bearer {self.get_access_token()}"
        return session
