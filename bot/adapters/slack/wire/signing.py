"""What is let in from Slack: small, of a known type, signed and fresh."""

from __future__ import annotations

import re

from aiohttp import web
from slack_sdk.signature import SignatureVerifier

_LARGEST = 1_000_000
_CHUNK = 65_536
_TYPES = frozenset({"application/json", "application/x-www-form-urlencoded"})
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


async def read_signed(request: web.Request, verifier: SignatureVerifier) -> bytes:
    """Return the body of a request that Slack signed within the last five minutes.

    Raises HTTPRequestEntityTooLarge, HTTPBadRequest (its type), HTTPUnauthorized.
    """
    if request.content_type not in _TYPES:
        raise web.HTTPBadRequest(text="Slack sends JSON or a form.")
    body = await _read(request)
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    signature = request.headers.get("X-Slack-Signature", "")
    # slack_sdk raises on a timestamp that is no number and on a signature beyond ASCII.
    if not (_TIMESTAMP.fullmatch(timestamp) and _SIGNATURE.fullmatch(signature)):
        raise web.HTTPUnauthorized(text="The request is not signed.")
    if not _is_valid(verifier, body, timestamp, signature):
        raise web.HTTPUnauthorized(text="The signature is wrong or too old.")
    return body


async def _read(request: web.Request) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > _LARGEST:
            raise web.HTTPRequestEntityTooLarge(_LARGEST, len(body))
    return bytes(body)


def _is_valid(verifier: SignatureVerifier, body: bytes, timestamp: str, signature: str) -> bool:
    try:
        return verifier.is_valid(body, timestamp, signature)
    except UnicodeDecodeError:
        return False
