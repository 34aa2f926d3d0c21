"""Checks id tokens. EDGE of PyJWT: nothing else here knows it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jwt

from bot.doors.signin.claims import Claims
from bot.doors.signin.errors import SignInRefused

ALGORITHMS = ("RS256", "ES256")
"""Signed with a private key; never ``none``, never a secret that we would share."""
LEEWAY_SECONDS = 60
_NEEDED = ["exp", "iat", "iss", "aud", "sub"]


@dataclass(frozen=True, slots=True)
class Key:
    """One of the issuer's public keys."""

    id: str | None
    public: jwt.PyJWK


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token for us and for this attempt must say."""

    issuer: str
    client_id: str
    nonce: str


def keys_of(document: Mapping[str, object]) -> Sequence[Key]:
    """Return the keys of a JWKS that may sign; what is not understood is left out."""
    listed = document.get("keys")
    found = (_key(each) for each in listed) if isinstance(listed, list) else ()
    return [key for key in found if key is not None]


def key_id(token: str) -> str | None:
    """Return the id of the key that a token says it is signed with. Raises SignInRefused."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise SignInRefused("The id token can't be read.") from error
    if header.get("alg") not in ALGORITHMS:
        raise SignInRefused(f"The id token is signed by {header.get('alg')!r}.")
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None


def checked(token: str, key: Key, expected: Expected) -> Claims:
    """Return the claims of a valid token. Raises SignInRefused."""
    try:
        claims: dict[str, object] = jwt.decode(
            token,
            key.public,
            algorithms=list(ALGORITHMS),
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": _NEEDED},
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise SignInRefused(f"The id token is not valid: {type(error).__name__}.") from error
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), expected.nonce.encode()):
        raise SignInRefused("The id token is for another attempt (nonce).")
    _check_party(claims, expected.client_id)
    return claims


def _check_party(claims: Claims, client_id: str) -> None:
    """A token for several must have been issued to us (OpenID Connect Core 3.1.3.7)."""
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    party = claims.get("azp")
    if (several or party is not None) and party != client_id:
        raise SignInRefused("The id token was issued to another application (azp).")


def _key(described: object) -> Key | None:
    if not isinstance(described, dict) or described.get("use", "sig") != "sig":
        return None
    try:
        public = jwt.PyJWK(described)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if public.algorithm_name not in ALGORITHMS:
        return None
    kid = described.get("kid")
    return Key(kid if isinstance(kid, str) else None, public)
