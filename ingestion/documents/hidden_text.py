"""Tell by an element's own style that a reader of the page does not see its text. Pure.

Text in the colour of its ground, of no size, outside of the page or cut away is how instructions
are hidden in a page. Style sheets are not read: where there is one, no ground is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lxml import etree

_DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|r?em|%|v[wh])?")
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})")
_RGB = re.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+)(%?))?\s*\)")
_NOTHING = re.compile(r"rect\(\s*(?:[01](?:px)?[\s,]*){4}\)|inset\(\s*(?:5\d|[6-9]\d|100)%")

_PIXELS = {"em": 16.0, "rem": 16.0, "pt": 4 / 3, "%": 0.16, "vw": 12.0, "vh": 8.0}
"""Pixels of a unit, roughly; a share is one of a line's height."""
_LEAST_SIZE, _FAR_OUT = 2.0, -400.0
"""In pixels: smaller letters are no text, and what is so far to the left or top is not reached."""
_SIDES = ("left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent")

_Colour = tuple[int, int, int]
_WHITE: _Colour = (255, 255, 255)
_NAMES: Mapping[str, _Colour] = {"white": _WHITE, "snow": (255, 250, 250), "black": (0, 0, 0)}
_LIKE = 12
"""Colours are told apart that differ by more than this, of 255, in red, green or blue."""


def is_unseen(element: etree._Element) -> bool:
    """Return whether an element's own style, or colour attribute, hides its text."""
    style = _declared(element)
    if not style:
        return False
    return _is_off(style) or _is_outside(style) or _has_colour_of_ground(element, style)


def _declared(element: etree._Element) -> dict[str, str]:
    """Return the declarations of an element; the older attributes give way to its style."""
    style = element.get("style") or ""
    old = {"color": element.get("color"), "background-color": _ground_attribute(element)}
    given = {name: value.strip().lower() for name, value in old.items() if value}
    for name, value in _DECLARATION.findall(style):
        given[name.lower()] = value.lower().replace("!important", "").strip()
    return given


def _ground_attribute(element: etree._Element) -> str | None:
    return element.get("data-highlight-colour") or element.get("bgcolor")


def _is_off(style: Mapping[str, str]) -> bool:
    if style.get("display") == "none" or style.get("visibility") in {"hidden", "collapse"}:
        return True
    if _pixels(style.get("opacity")) == 0:
        return True
    size = _pixels(style.get("font-size"))
    if size is not None and size < _LEAST_SIZE:
        return True
    sides = (_pixels(style.get(name)) for name in ("height", "max-height", "width", "max-width"))
    cut = style.get("overflow", "").startswith(("hidden", "clip"))
    return cut and any(side is not None and side <= 1 for side in sides)


def _is_outside(style: Mapping[str, str]) -> bool:
    if any(_NOTHING.match(style.get(name, "")) for name in ("clip", "clip-path")):
        return True
    sides = (_pixels(style.get(name)) for name in _SIDES)
    return any(side is not None and side <= _FAR_OUT for side in sides)


def _pixels(length: str | None) -> float | None:
    """Return a length in pixels, None if there is none, or not in figures."""
    found = _LENGTH.fullmatch(length or "")
    return float(found[1]) * _PIXELS.get(found[2] or "", 1.0) if found else None


def _has_colour_of_ground(element: etree._Element, style: Mapping[str, str]) -> bool:
    written = style.get("color")
    if written is None:
        return False
    if _is_transparent(written):
        return True
    colour, ground = _colour(written), _ground(element)
    if colour is None or ground is None:
        return False
    return all(abs(one - other) <= _LIKE for one, other in zip(colour, ground, strict=True))


def _ground(element: etree._Element) -> _Colour | None:
    """Return the colour behind an element, None if it can't be told; a page is white."""
    top = element
    for each in (element, *element.iterancestors()):
        top = each
        for value in _grounds(each):
            if not _is_transparent(value):
                return _colour(value)
        # The colours of panels and of cells that the editor coloured are classes.
        if each.tag == "blockquote" or "highlight" in (each.get("class") or ""):
            return None
    has_sheet = next(top.iter("style", "link"), None) is not None
    return None if has_sheet else _WHITE


def _grounds(element: etree._Element) -> Iterator[str]:
    style = _declared(element)
    yield from (style[name] for name in ("background-color", "background") if name in style)


def _is_transparent(value: str) -> bool:
    found = _RGB.fullmatch(value)
    return value == "transparent" or bool(found and found[4] and float(found[4]) == 0)


def _colour(value: str) -> _Colour | None:
    """Return a colour as red, green and blue; None for what is none, or no plain one."""
    if found := _HEX.fullmatch(value):
        digits = found[1] if len(found[1]) > 3 else "".join(2 * each for each in found[1])  # noqa: PLR2004 - #rgb
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if found := _RGB.fullmatch(value):
        return int(found[1]), int(found[2]), int(found[3])
    return _NAMES.get(value)
