"""HTML tables to tables of clean cells, spans resolved so that each cell stands alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lxml import etree

from ingestion.html_inline import all_text, alternatives, code_span, hidden
from ingestion.render import markdown
from ingestion.types import Block, Code, ItemList, Table

_MOST_SPAN = 60
_LONGEST_REPEATED = 500
"""Characters; more is said once, else nested tables would grow beyond all bounds."""
_MOST_COLUMNS = 500
_MOST_CELLS = 1_000_000
"""A small page may say of a table that it has billions: what is wider shares the last column."""
_PARTS = frozenset({"thead", "tbody", "tfoot"})

Walk = Callable[..., list[Block]]


def is_layout(table: etree._Element) -> bool:
    """Whether a table only places things on the screen."""
    if table.get("role") in {"presentation", "none"}:
        return True
    rows = list(_rows(table))
    return len(rows) == 1 and len(list(_cells(rows[0]))) == 1


def cells(table: etree._Element) -> Iterable[etree._Element]:
    """Return all cells in reading order."""
    for row in _rows(table):
        yield from _cells(row)


def to_table(table: etree._Element, walk: Walk) -> Table | None:
    """Return the table, or None if it is empty. ``walk`` turns a cell into blocks."""
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
    """Resolve spans: text is repeated in each place, but for what fills its row alone."""
    widest = max(1, min(_MOST_COLUMNS, _MOST_CELLS // max(1, len(rows))))
    hanging: dict[int, tuple[int, str]] = {}
    grid = []
    for row in rows:
        texts: list[str] = []
        beyond: list[str] = []
        alone = len(list(_cells(row))) == 1
        for cell in _cells(row):
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
    """Append what hangs down into the next columns from rows above."""
    while len(texts) in hanging:
        left, text = hanging.pop(len(texts))
        if left > 1:
            hanging[len(texts)] = (left - 1, text)
        texts.append(text)


def _span(cell: etree._Element, name: str) -> int:
    value = (cell.get(name) or "1").strip()
    return min(max(int(value), 1), _MOST_SPAN) if value.isdecimal() else 1


def _text(cell: etree._Element, walk: Walk) -> str:
    joined = ""
    for block in walk(cell):
        for part in _parts(block):
            joined = _join(joined, part)
    return joined or alternatives(cell)


def _parts(block: Block) -> Iterable[str]:
    if isinstance(block, Table):
        yield from _said(block)
    elif isinstance(block, ItemList):
        yield from (_on_one_line(item).removeprefix("- ") for item in block.items)
    elif isinstance(block, Code):
        yield code_span(_on_one_line(block.text))
    else:
        yield _on_one_line(markdown(block))


def _said(table: Table) -> Iterable[str]:
    """Yield the rows of a table inside a cell as "column: text, column: text"."""
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
    """A header is in ``thead``, made of ``th``, or bold throughout."""
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
