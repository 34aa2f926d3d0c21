"""Reads what a server sends, as long as it is not too much."""

from __future__ import annotations

from collections.abc import AsyncIterable


async def whole_body(parts: AsyncIterable[bytes], most_bytes: int) -> bytes | None:
    """Join the parts of a body; None once there is more than ``most_bytes`` of it."""
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > most_bytes:
            return None
    return bytes(content)
