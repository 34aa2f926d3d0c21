"""One attempt to sign in, as the browser that began it keeps it; pure."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass

from bot.domain.urls import safe_redirect_path

ATTEMPT_SECONDS = 600
_BYTES = 32
_COOKIE = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]*)")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Where somebody wants to go, and the secret that binds the way there to their browser.

    State, nonce and PKCE verifier are different hashes of the secret: who sees one of them, in an
    address or a token, learns nothing of the others, and no server has to keep them.
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
        """Return what the browser keeps meanwhile."""
        return f"{self.secret}.{_base64(self.wanted.encode())}"

    def _derived(self, purpose: str) -> str:
        return _base64(hashlib.sha256(f"{purpose}:{self.secret}".encode()).digest())


def new_attempt(wanted: str | None) -> Attempt:
    """Begin to sign in, to go on to a path of this server."""
    return Attempt(secrets.token_urlsafe(_BYTES), safe_redirect_path(wanted))


def attempt_of(cookie: str) -> Attempt | None:
    """Read what a browser kept; None for what is none."""
    found = _COOKIE.fullmatch(cookie)
    if found is None:
        return None
    secret, wanted = found.groups()
    try:
        path = base64.urlsafe_b64decode(wanted + "=" * (-len(wanted) % 4)).decode()
    except ValueError:
        return None
    return Attempt(secret, safe_redirect_path(path))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
