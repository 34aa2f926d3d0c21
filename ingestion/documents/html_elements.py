"""Extract running text and tables from HTML elements. Pure.

In running text, emphasis is dropped, links are written out and code is put in backticks. Row and
column spans of a table are resolved, so that each cell is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from lxml import etree

from ingestion.text import clean, markdown
from ingestion.types import Block, Code, ItemList, Table

DROPPED = frozenset(
    """
    script style noscript template head nav iframe object embed applet canvas svg video audio map
    select textarea input datalist source track param meta link base dialog
    """.split()
)
_VOID = frozenset("embed input source track param meta link base".split())
HIDES_CONTENT = DROPPED - _VOID
"""Elements whose content is not shown."""

_WHITE = re.compile(r"[ \t\n\r\f]+")
_BLANKS = re.compile(r"[ \t]+")
_AROUND_BREAK = re.compile(r" *\n *")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")


def hidden(element: etree._Element) -> bool:
    """Return whether a browser hides the element; hidden_text marks those hidden by a style."""
    if not is_tag(element) or element.tag in DROPPED:
        return True
    return element.get("hidden") is not None


def is_tag(element: etree._Element) -> bool:
    """Return whether a node is an element, not a comment or processing instruction."""
    tag: object = element.tag
    return isinstance(tag, str)


def all_text(element: etree._Element) -> str:
    """Return every character inside an element."""
    return "".join(str(text) for text in element.itertext())


def tidy(text: str) -> str:
    """Collapse white space; the remaining newlines are those visible to a reader."""
    text = clean(text)
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    if "\n" in text:
        text = _AROUND_BREAK.sub("\n", text)
    return text.strip()


def white(text: str | None) -> str:
    """Return a text node with its white space collapsed as in HTML."""
    return _WHITE.sub(" ", text) if text else ""


def inline(element: etree._Element) -> str:
    """Return the text of an element and its children, not yet tidied, without its tail."""
    if hidden(element):
        return ""
    tag = str(element.tag)
    if tag == "br":
        return "\n"
    if tag in {"code", "tt", "samp"} and next(element.iterancestors("pre"), None) is None:
        return _code(all_text(element))
    inside = children(element)
    marked = _MARKED.get(tag)
    return marked(element, inside) if marked else inside


def children(element: etree._Element) -> str:
    """Return the element's own text and that of its children."""
    parts = [white(element.text)]
    for child in element:
        parts.append(inline(child))
        parts.append(white(child.tail))
    return "".join(parts)


def alternatives(element: etree._Element) -> str:
    """Return the alternative texts of the images inside."""
    alts = (image.get("alt") or "" for image in element.iter("img"))
    return " ".join(" ".join(alt.split()) for alt in alts if alt.strip())


def code_span(text: str) -> str:
    """Return text in as many backticks as it needs."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def link(text: str, target: str) -> str:
    """Return a link as text with its target, where the target is informative."""
    shown = text.strip()
    if not shown:
        return text
    target = target.strip()
    if re.match(r"https?://\S", target, re.IGNORECASE) and not re.search(r"\s", target):
        return target if _bare(shown) == _bare(target) else _around(text, "", f" ({target})")
    if target.lower().startswith("mailto:"):
        address = unquote(target[7:].partition("?")[0]).strip()
        if address and address.lower() not in shown.lower():
            return _around(text, "", f" ({address})")
    return text


def _link(element: etree._Element, inside: str) -> str:
    target = element.get("href") or ""
    if target.startswith("#") and inside.strip() in {"¶", "#", "§", "🔗", "↩", "↩︎"}:
        return ""
    return link(inside if inside.strip() else alternatives(element), target)


def _bare(address: str) -> str:
    return re.sub(r"^https?://", "", address, flags=re.IGNORECASE).rstrip("/").lower()


def _around(text: str, before: str, after: str) -> str:
    """Put marks around text, inside its outer white space."""
    shown = text.strip()
    if not shown:
        return text
    start = text.index(shown)
    return text[:start] + before + shown + after + text[start + len(shown) :]


def _raised(element: etree._Element, inside: str) -> str:
    """Mark superscripts, so that 10⁶ does not read as 106; drop footnote references."""
    shown = inside.strip()
    if any((anchor.get("href") or "").startswith("#") for anchor in element.iter("a")):
        return ""
    if re.fullmatch(r"\[\d+\]", shown):
        return ""
    if re.fullmatch(r"[-+]?\d{1,4}|n", shown):
        return shown.translate(_RAISED)
    return inside


def _code(text: str) -> str:
    text = " ".join(text.split())
    return code_span(text) if text else ""


def _struck(_element: etree._Element, inside: str) -> str:
    return _around(inside, "~~", "~~")


_MARKED: dict[str, Callable[[etree._Element, str], str]] = {
    "a": _link,
    "s": _struck,
    "del": _struck,
    "strike": _struck,
    "q": lambda _element, inside: _around(inside, "\u201c", "\u201d"),
    "sup": _raised,
}


_MOST_SPAN = 60
_LONGEST_REPEATED = 500
"""Longest text in characters repeated for spans; longer text is written once, or nested tables
would grow without bounds."""
_MOST_COLUMNS = 500
_MOST_CELLS = 1_000_000
"""Limits of a table: a small page may declare billions of cells; columns beyond share the last."""
_PARTS = frozenset({"thead", "tbody", "tfoot"})

Walk = Callable[..., list[Block]]


def is_layout(table: etree._Element) -> bool:
    """Return whether a table is only used for layout."""
    if table.get("role") in {"presentation", "none"}:
        return True
    rows = list(_rows(table))
    return len(rows) == 1 and len(list(_cells(rows[0]))) == 1


def cells(table: etree._Element) -> Iterable[etree._Element]:
    """Return all cells in reading order."""
    for row in _rows(table):
        yield from _cells(row)


def to_table(table: etree._Element, walk: Walk) -> Table | None:
    """Return the table, or None if it is empty. ``walk`` converts a cell to blocks."""
    rows = list(_rows(table))
    grid = _grid(rows, walk)
    filled = [(row, texts) for row, texts in zip(rows, grid, strict=True) if any(texts)]
    if not filled:
        return None
    width = max(len(texts) for _, texts in filled)
    padded = [(*texts, *([""] * (width - len(texts)))) for _, texts in filled]
    first = rows.index(filled[0][0])
    if _is_header(rows[first]):
        return Table(padded[0], tuple(padded[1:]))
    return Table((), tuple(padded))


def _rows(table: etree._Element) -> Iterable[etree._Element]:
    for child in table:
        if hidden(child):
            continue
        if child.tag == "tr":
            yield child
        elif child.tag in _PARTS:
            yield from (row for row in child if row.tag == "tr" and not hidden(row))


def _cells(row: etree._Element) -> Iterable[etree._Element]:
    return (cell for cell in row if cell.tag in {"td", "th"} and not hidden(cell))


def _grid(rows: list[etree._Element], walk: Walk) -> list[list[str]]:
    """Resolve spans by repeating text in each cell, except for cells that fill their row."""
    widest = max(1, min(_MOST_COLUMNS, _MOST_CELLS // max(1, len(rows))))
    hanging: dict[int, tuple[int, str]] = {}
    grid = []
    for row in rows:
        texts: list[str] = []
        beyond: list[str] = []
        row_cells = list(_cells(row))
        alone = len(row_cells) == 1
        for cell in row_cells:
            _fill(texts, hanging)
            text = _text(cell, walk)
            if len(texts) == widest:
                beyond.append(text)
                continue
            again = text if len(text) <= _LONGEST_REPEATED else ""
            for offset in range(min(_span(cell, "colspan"), widest - len(texts))):
                down = _span(cell, "rowspan") - 1
                along = "" if alone else again
                if down:
                    hanging[len(texts)] = (down, along if offset else again)
                texts.append(along if offset else text)
        _fill(texts, hanging)
        if beyond:
            texts[-1] = " ".join(filter(None, (texts[-1], *beyond)))
        grid.append(texts)
    return grid


def _fill(texts: list[str], hanging: dict[int, tuple[int, str]]) -> None:
    """Append the texts of cells that span down from rows above."""
    while len(texts) in hanging:
        left, text = hanging.pop(len(texts))
        if left > 1:
            hanging[len(texts)] = (left - 1, text)
        texts.append(text)


def _span(cell: etree._Element, name: str) -> int:
    value = cell.get(name)
    if value is None:
        return 1
    value = value.strip()
    return min(max(int(value), 1), _MOST_SPAN) if re.fullmatch(r"\d{1,9}", value) else 1


def _text(cell: etree._Element, walk: Walk) -> str:
    if len(cell) == 0:
        # Most cells hold only text, and walking through them gives the same.
        return _on_one_line(clean(cell.text or ""))
    joined = ""
    for block in walk(cell):
        for part in _parts(block):
            joined = _join(joined, part)
    return joined or alternatives(cell)


def _parts(block: Block) -> Iterable[str]:
    if isinstance(block, Table):
        yield from _nested_rows(block)
    elif isinstance(block, ItemList):
        yield from (_on_one_line(item).removeprefix("- ") for item in block.items)
    elif isinstance(block, Code):
        yield code_span(_on_one_line(block.text))
    else:
        yield _on_one_line(markdown(block))


def _nested_rows(table: Table) -> Iterable[str]:
    """Yield the rows of a nested table as "column: text, column: text"."""
    if not table.rows:
        yield ", ".join(filter(None, table.header))
    for row in table.rows:
        header = table.header or ("",) * len(row)
        named = zip(header, row, strict=True)
        yield ", ".join(f"{name}: {text}" if name else text for name, text in named if text)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _join(before: str, part: str) -> str:
    if not before or not part:
        return before or part
    return f"{before} {part}" if before[-1] in ".:;,!?" else f"{before}; {part}"


def _is_header(row: etree._Element) -> bool:
    """Return whether a row is a header: in ``thead``, made of ``th``, or bold throughout."""
    parent = row.getparent()
    if parent is not None and parent.tag == "thead":
        return True
    filled = [cell for cell in _cells(row) if all_text(cell).strip()]
    if len(filled) > 1 and all(cell.tag == "th" for cell in filled):
        return True
    return len(filled) > 1 and all(_bold(cell) for cell in filled)


def _bold(cell: etree._Element) -> bool:
    whole = "".join(all_text(cell).split())
    strong = "".join(all_text(bold) for bold in cell.iter("strong", "b"))
    return "".join(strong.split()) == whole
