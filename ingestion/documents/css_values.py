"""Read lengths, shares and colours as CSS writes them. Pure.

What is not understood is None, never an error: pages hold anything. Patterns are bounded.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Mapping

_NUMBER = r"[+-]?(?:\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})"
_LENGTH = re.compile(rf"({_NUMBER})(px|pt|r?em|v[wh])?")
_SHARE = re.compile(rf"({_NUMBER})(%?)")
_PART = re.compile(rf"({_NUMBER})(%|deg)?")
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_OLD_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]{1,80})\)")
_SEPARATORS = re.compile(r"[\s,/]+")

_LINE = 16.0
_PIXELS = {"px": 1.0, "pt": 4 / 3, "rem": _LINE, "vw": 10.0, "vh": 10.0}
"""Pixels of a unit; a window is taken to have 1000 each way."""

Colour = tuple[float, float, float, float]
"""Red, green and blue from 0 to 255, and alpha from 0 (transparent) to 1."""

CLEAR: Colour = (0.0, 0.0, 0.0, 0.0)
_NAMES: Mapping[str, Colour] = {
    "black": (0.0, 0.0, 0.0, 1.0),
    "snow": (255.0, 250.0, 250.0, 1.0),
    "transparent": CLEAR,
    "white": (255.0, 255.0, 255.0, 1.0),
}


def pixels(written: str | None, *, line: float = _LINE) -> float | None:
    """Return a length in pixels; ``line`` is one em. None for a share, a keyword, or no unit."""
    found = _LENGTH.fullmatch(written or "")
    if found is None:
        return None
    number, unit = float(found[1]), found[2]
    if unit is None:
        return 0.0 if number == 0 else None
    return number * (line if unit == "em" else _PIXELS[unit])


def share(written: str | None) -> float | None:
    """Return a number or percentage, 1 being the whole; None for anything else."""
    found = _SHARE.fullmatch(written or "")
    if found is None:
        return None
    return float(found[1]) / 100 if found[2] else float(found[1])


def alpha(value: Colour) -> float:
    """Return how opaque a colour is, from 0 to 1."""
    return value[3]


def colour(written: str | None) -> Colour | None:
    """Return a colour in lower case; None for an image, a variable, or a name not known here."""
    if written is None:
        return None
    if _HEX.fullmatch(written):
        return _of_hex(written[1:])
    if found := _FUNCTION.fullmatch(written):
        return _of_function(found[1], found[2])
    return _NAMES.get(written)


def old_colour(written: str | None) -> str | None:
    """Return the CSS of a colour in an attribute, where ``#`` may be missing; None if unknown."""
    value = (written or "").strip().lower()
    if found := _OLD_HEX.fullmatch(value):
        return f"#{found[1]}"
    return value if value in _NAMES and value != "transparent" else None


def _of_hex(digits: str) -> Colour:
    if len(digits) <= len("rgba"):
        digits = "".join(2 * digit for digit in digits)
    red, green, blue, opaque = bytes.fromhex(digits.ljust(len("rrggbbaa"), "f"))
    return float(red), float(green), float(blue), opaque / 255


def _of_function(kind: str, written: str) -> Colour | None:
    parts = [_PART.fullmatch(part) for part in _SEPARATORS.split(written.strip())]
    given = [(float(part[1]), part[2] or "") for part in parts if part is not None]
    if len(given) != len(parts) or len(given) not in {3, 4}:
        return None
    opaque = _of_whole(*given[3], whole=1.0) if len(given) > len("rgb") else 1.0
    if kind == "rgb":
        red, green, blue = (_of_whole(*each, whole=255.0) for each in given[:3])
        return red, green, blue, opaque
    hue, saturation, lightness = (number for number, _ in given[:3])
    bright = min(max(lightness / 100, 0.0), 1.0)
    mixed = colorsys.hls_to_rgb(hue % 360 / 360, bright, min(max(saturation / 100, 0.0), 1.0))
    red, green, blue = (255.0 * each for each in mixed)
    return red, green, blue, opaque


def _of_whole(number: float, unit: str, *, whole: float) -> float:
    """Return a part of a colour within its bounds; a percentage is one of the whole."""
    return min(max(number * whole / 100 if unit == "%" else number, 0.0), whole)
