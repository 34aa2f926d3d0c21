"""Reads a PNG of eight bits a channel, that its pixels can be looked at."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

_BYTES_A_PIXEL = {2: 3, 6: 4}


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of pixels, each red, green, blue, opacity from 0 to 255."""

    rows: tuple[tuple[tuple[int, int, int, int], ...], ...]


def read_png(content: bytes) -> Picture:
    """Return a picture that is not interlaced, and has no palette."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks = list(_chunks(content))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">LLBBBBB", chunks[0][1])
    assert (depth, interlaced) == (8, 0)
    step = _BYTES_A_PIXEL[kind]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    above, rows = bytes(width * step), []
    for number in range(height):
        line = raw[number * (width * step + 1) :][: width * step + 1]
        above = _unfiltered(line[0], line[1:], above, step)
        rows.append(tuple(_pixel(above[at : at + step]) for at in range(0, width * step, step)))
    return Picture(tuple(rows))


def _chunks(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(content):
        length, name = struct.unpack_from(">L4s", content, at)
        found.append((name, content[at + 8 : at + 8 + length]))
        at += length + 12
    return found


def _pixel(told: bytes) -> tuple[int, int, int, int]:
    red, green, blue, *opacity = told
    return red, green, blue, opacity[0] if opacity else 255


def _unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    read = bytearray(line)
    for at, value in enumerate(line):
        left, up = (read[at - step] if at >= step else 0), above[at]
        corner = above[at - step] if at >= step else 0
        guessed = (0, left, up, (left + up) // 2, _nearest(left, up, corner))[kind]
        read[at] = (value + guessed) % 256
    return bytes(read)


def _nearest(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda each: abs(guess - each))
