"""Take out of a tree the text that a reader of the page surely does not see. Pure.

Text in the colour of its ground, of no size, outside of the page or cut away is how instructions
are hidden in a page. What may be seen stays: an unknown colour, ground or size hides nothing.

It is decided for each text, by what the elements around it declare in their ``style`` and in the
older attributes, as CSS inherits it: the nearest declared colour, ground, size, visibility and
indent count. Only an element that is not displayed, fully transparent, cut away or off the page
hides all that is inside. Style sheets are not read. So nothing is known

- of colours in a page with a sheet, and there no element inherits a size or visibility;
- of what an element with a class, or a kind that Confluence's own sheet colours, inherits;
- of the ground of text that is laid over the page, or in a table with coloured columns.

A page without all that is white.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lxml import etree

from ingestion.documents.css_values import CLEAR, Colour, alpha, colour, old_colour, pixels, share

_LIKE = 12
"""Colours are told apart that differ by more than this, of 255, in red, green or blue."""
_LINE, _LEAST_SIZE, _FAR_OUT = 16.0, 2.0, -1000.0
"""In pixels: the size of letters, below which size they are no text, and how far to the left or
top text is out of reach (a whole window, too)."""

_EDITOR_CLASSES = frozenset({"auto-cursor-target", "fixed-table", "relative-table", "wrapped"})
"""Classes that Confluence's editor gives to paragraphs and tables; they set no colour or size."""
_PAGE = frozenset({"html", "body"})
_OWN_GROUND = frozenset("blockquote button code kbd mark pre samp th".split())
_OWN_LETTERS = frozenset("a h1 h2 h3 h4 h5 h6 table".split())
_CELLS = frozenset("body table tbody td tfoot th thead tr".split())
_BOXES = frozenset(
    """
    article aside blockquote body dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header
    li main ol p pre section ul
    """.split()
)
_PAINTS = frozenset(
    """
    backdrop-filter filter mix-blend-mode text-shadow -webkit-background-clip -webkit-text-stroke
    background-clip -webkit-text-fill-color
    """.split()
)
"""Properties by which text may be seen whatever its colour."""
_GROUNDS = frozenset({"background", "background-color"})
_OFFSETS = frozenset({"left", "top", "right", "bottom"})
_AXES = (
    ("left", "margin-left", "padding-left"),
    ("top", "margin-top", "padding-top"),
    ("right",),
    ("bottom",),
)
_NOTHING = re.compile(
    r"rect\(\s*(?:[01](?:px)?[\s,]*){4}\)|inset\(\s*(?:[5-9]\d|100)(?:\.\d{1,6})?%\s*\)"
)


@dataclass(frozen=True, slots=True)
class _Look:
    """What decides whether a text is seen, as its element inherits it; None is unknown.

    ``gone``: an element around it shows nothing. ``painted``: its colour does not tell. ``size`` is
    that of its letters in pixels, ``outdented``: its line starts far to the left of the page.
    """

    colour: Colour | None = None
    ground: Colour | None = (255.0, 255.0, 255.0, 1.0)
    size: float = _LINE
    visible: bool = True
    outdented: bool = False
    painted: bool = False
    gone: bool = False

    @property
    def is_seen(self) -> bool:
        """Return whether a text may be seen."""
        hidden = self.gone or not self.visible or self.outdented or self.size < _LEAST_SIZE
        return not (hidden or self._has_colour_of_ground())

    def _has_colour_of_ground(self) -> bool:
        if self.painted or self.colour is None:
            return False
        if alpha(self.colour) == 0:
            return True
        if self.ground is None:
            return False
        both = zip(self.colour[:3], self.ground[:3], strict=True)
        return all(alpha(self.colour) * abs(one - other) <= _LIKE for one, other in both)


_RESTYLED = _Look(ground=None)
_HIDING = ("*/@style", "*/@hidden", "*/@aria-hidden", "font/@color")
# Not a union ("|"), which takes quadratic time where a page is full of them.
_CAN_HIDE = etree.XPath(" or ".join(f"descendant-or-self::{each}" for each in _HIDING))
"""Whether a tree declares anything that can hide a text; most pages do not."""


def leave_out_unseen(root: etree._Element) -> None:
    """Remove the texts of a tree that are surely not seen, and mark what shows nothing hidden."""
    if not _CAN_HIDE(root):
        return
    has_sheet = any(_is_sheet(each) for each in root.iter("style", "link"))
    looks = [_Look(painted=has_sheet)]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            looks.append(_look(element, looks[-1], has_sheet=has_sheet))
            if looks[-1].gone:
                element.set("hidden", "")
            if not looks[-1].is_seen:
                element.text = None
        else:
            looks.pop()
            if not looks[-1].is_seen and element is not root:
                element.tail = None


def _is_sheet(element: etree._Element) -> bool:
    return element.tag == "style" or "stylesheet" in (element.get("rel") or "stylesheet").lower()


def _look(element: etree._Element, around: _Look, *, has_sheet: bool) -> _Look:
    """Return how an element's own text looks, by that of its parent's."""
    look = _inherited(element, around, has_sheet=has_sheet)
    if not element.attrib:
        return look
    style = _declared(element)
    if element.tag in _PAGE:
        # Scripts show a page that hides itself while it loads.
        return replace(look, ground=_own_ground(style, look.ground))
    if _is_hidden(element) or _is_off(style) or _is_outside(style) or _is_cut_away(element, style):
        return replace(look, gone=True)
    if not style:
        return look
    return replace(
        look,
        colour=_own_colour(style, look.colour),
        ground=_own_ground(style, look.ground),
        size=_own_size(style, look.size, around.size),
        visible=_own_visibility(style, otherwise=look.visible),
        outdented=_is_outdented(style, otherwise=look.outdented),
        painted=look.painted or not _PAINTS.isdisjoint(style),
    )


def _inherited(element: etree._Element, around: _Look, *, has_sheet: bool) -> _Look:
    """Return what an element inherits, less what a sheet may give it instead."""
    classes = element.get("class")
    if has_sheet or (classes and not _EDITOR_CLASSES.issuperset(classes.split())):
        return replace(_RESTYLED, painted=around.painted, gone=around.gone)
    if element.tag in _OWN_GROUND or (element.tag == "table" and _has_coloured_columns(element)):
        return replace(around, colour=None, ground=None, size=_LINE)
    return replace(around, colour=None, size=_LINE) if element.tag in _OWN_LETTERS else around


def _has_coloured_columns(table: etree._Element) -> bool:
    groups = [child for child in table if child.tag in {"col", "colgroup"}]
    columns = [*groups, *(column for group in groups for column in group)]
    return any(
        each.get("class")
        or each.get("bgcolor")
        or "background" in (each.get("style") or "").lower()
        for each in columns
    )


def _declared(element: etree._Element) -> dict[str, str]:
    """Return an element's declarations, the last or important one of each; attributes give way."""
    given = _attributes(element)
    important: set[str] = set()
    for declaration in (element.get("style") or "").lower().split(";"):
        name, _, written = declaration.partition(":")
        value, mark, _ = written.partition("!important")
        name = name.strip()
        if mark:
            important.add(name)
        elif name in important:
            continue
        # The later of two takes its place behind what was declared between them.
        given.pop(name, None)
        given[name] = value.strip()
    given.pop("", None)
    return given


def _attributes(element: etree._Element) -> dict[str, str]:
    given = {}
    if element.tag == "font" and (written := old_colour(element.get("color"))):
        given["color"] = written
    ground = element.get("data-highlight-colour") or element.get("bgcolor")
    if element.tag in _CELLS and ground:
        given["background-color"] = old_colour(ground) or "unknown"
    return given


def _is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or element.get("aria-hidden") == "true"


def _is_off(style: Mapping[str, str]) -> bool:
    return style.get("display") == "none" or share(style.get("opacity")) == 0


def _is_outside(style: Mapping[str, str]) -> bool:
    if any(_NOTHING.fullmatch(style.get(name, "")) for name in ("clip", "clip-path")):
        return True
    if not _is_placed(style):
        style = {name: value for name, value in style.items() if name not in _OFFSETS}
    return any(_offset(style, names) <= _FAR_OUT for names in _AXES)


def _is_placed(style: Mapping[str, str]) -> bool:
    return style.get("position", "static") != "static"


def _offset(style: Mapping[str, str], names: tuple[str, ...]) -> float:
    """Return the sum of these lengths; 0 where one is not known, as a share of the page."""
    given = [pixels(style[name]) for name in names if name in style]
    known = [length for length in given if length is not None]
    return sum(known) if len(known) == len(given) else 0.0


def _is_cut_away(element: etree._Element, style: Mapping[str, str]) -> bool:
    """Return whether a box has no room for its text; inline text and cells have it anyway."""
    if not style.get("overflow", "").startswith(("hidden", "clip")):
        return False
    is_placed = style.get("position") in {"absolute", "fixed"}
    is_box = element.tag in _BOXES or style.get("display") in {"block", "inline-block"}
    if not (is_box or is_placed or "float" in style):
        return False
    if any(name.startswith(("padding", "min-")) for name in style):
        return False
    sides = (pixels(style.get(name)) for name in ("height", "max-height", "width", "max-width"))
    return any(side is not None and side <= 1 for side in sides)


def _own_colour(style: Mapping[str, str], otherwise: Colour | None) -> Colour | None:
    written = style.get("color")
    return otherwise if written in {None, "inherit", "currentcolor"} else colour(written)


def _own_ground(style: Mapping[str, str], behind: Colour | None) -> Colour | None:
    """Return the colour behind an element's text; one that is mixed, or an image, is unknown."""
    written = [value for name, value in style.items() if name in _GROUNDS]
    own = [CLEAR if value == "none" else colour(value) for value in written]
    if None in own or style.get("background-image", "none") != "none":
        return None
    last = own[-1] if own else CLEAR
    if last is None or alpha(last) > 0:
        return last if last and alpha(last) == 1 else None
    return None if _is_laid_over(style) else behind


def _is_laid_over(style: Mapping[str, str]) -> bool:
    margins = (value for name, value in style.items() if name.startswith("margin"))
    return _is_placed(style) or "transform" in style or any("-" in value for value in margins)


def _own_size(style: Mapping[str, str], otherwise: float, around: float) -> float:
    written = style.get("font-size")
    if written is None:
        return otherwise
    size = pixels(written, line=around)
    if size is None:
        part = share(written) if written.endswith("%") else None
        size = _LINE if part is None else part * around
    return size


def _own_visibility(style: Mapping[str, str], *, otherwise: bool) -> bool:
    written = style.get("visibility")
    return otherwise if written in {None, "inherit"} else written not in {"hidden", "collapse"}


def _is_outdented(style: Mapping[str, str], *, otherwise: bool) -> bool:
    written = style.get("text-indent")
    return otherwise if written is None else (pixels(written) or 0.0) <= _FAR_OUT
