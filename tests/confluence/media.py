"""Bytes as they go out: files over and over until they are long enough, answers that break off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

PIECE = 1 << 16


@dataclass(frozen=True)
class MediaRequest:
    """What the media host got. It has no business with anybody's token."""

    path: str
    authorized: bool


async def stream(
    request: web.Request, file: tuple[bytes, int], headers: Mapping[str, str], kept: int | None
) -> web.StreamResponse:
    """Send so many bytes, saying first how many; break the connection after ``kept``."""
    content, size = file
    answer = web.StreamResponse(headers=dict(headers))
    answer.content_length = size
    await answer.prepare(request)
    block = content * (PIECE // len(content) + 1) if content else b""
    left = min(size, kept) if kept is not None else size
    while left > 0 and block:
        await answer.write(block[:left])
        left -= min(left, len(block))
    if kept is not None and kept < size:
        cut_off(request)
    return answer


async def broken_off(
    request: web.Request, text: bytes, kept: int, headers: Mapping[str, str]
) -> web.StreamResponse:
    """Send the first bytes of an answer that promises more, and break the connection."""
    json = {"Content-Type": "application/json"}
    return await stream(request, (text, len(text)), {**headers, **json}, min(kept, len(text) - 1))


def cut_off(request: web.Request) -> None:
    """Break the connection of a request."""
    if request.transport:
        request.transport.close()
