"""Lines of pages as parts of an answer, shown as they are stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.numbered import Line
from rag.plain_text import plain_text, visible
from rag.sentences import plain
from rag.types import Citation, Claim, PartKind
from rag.voice import pretends

_LONGEST_TITLE = 80
_LONGEST_QUOTE = 500
_QUOTATION_MARKS = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb]')
_BACKTICKS = re.compile("`+")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def table(lines: Sequence[Line]) -> Claim | None:
    """Return the rows among the lines as a Markdown table below their header; None without any.

    Those of the first row's table alone: below its header the cells of another one would lie.
    """
    rows = [line for line in lines if line.unit.kind == "row"]
    if not rows:
        return None
    header = _header(rows[0]) or rows[0]
    body = [row for row in rows if row.stored != header.stored and _is_below(header, row)]
    cells = [_cells(each.stored) for each in (header, *body)]
    rule = "|" + " --- |" * len(cells[0])
    written = ["| " + " | ".join(each) + " |" for each in cells]
    if any(map(pretends, written)):
        return marked((header, *body), "table")
    return Claim("\n".join([written[0], rule, *written[1:]]), citations((header, *body)), "table")


def _header(row: Line) -> Line | None:
    return next((each for each in row.above if each.unit.kind == "row"), None)


def _is_below(header: Line, row: Line) -> bool:
    """Whether a row has a header, or none; what goes on in the next chunk repeats it."""
    own = _header(row)
    return own is None or own.stored == header.stored


def code(lines: Sequence[Line]) -> Claim | None:
    """Return the code among the lines as one fenced block; None without any."""
    found = [line for line in lines if line.unit.kind == "code"]
    if not found:
        return None
    if any(pretends(visible(each.stored)) for each in found):
        return marked(found, "code")
    text = visible("\n".join(each.stored for each in found))
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return Claim(f"{fence}\n{text}\n{fence}", citations(found), "code")


def in_own_words(lines: Sequence[Line]) -> Claim | None:
    """Return the page's own words as a step, in place of a model's; None where nothing is left."""
    introduced = {each.stored for line in lines for each in line.above}
    own = [line for line in lines if line.stored not in introduced]
    text = _words(own)
    if pretends(text):
        return marked(own, "step")
    return Claim(text, citations(own), "step") if text else None


def marked(lines: Sequence[Line], kind: PartKind) -> Claim | None:
    """Return those lines that only the page may say, as a quotation with the page's name.

    None when the lines say no such thing: then it is the model's alone.
    """
    said = [line for line in lines if pretends(plain(visible(line.stored)))]
    if not said:
        return None
    title = _unquoted(plain_text(said[0].chunk.title))[:_LONGEST_TITLE]
    quote = _unquoted(_words(said))[:_LONGEST_QUOTE]
    shown: PartKind = "step" if kind == "step" else "paragraph"
    return Claim(f"The page \u201c{title}\u201d says: \u201c{quote}\u201d", citations(said), shown)


def _words(lines: Sequence[Line]) -> str:
    return " ".join(plain_text(" ".join(plain(line.stored) for line in lines)).split())


def _unquoted(text: str) -> str:
    """Leave out quotation marks, by which a quotation would seem to end."""
    return " ".join(_QUOTATION_MARKS.sub("", text).split())


def _cells(row: str) -> list[str]:
    _, *cells, last = _CELL_BORDER.split(row.strip())
    cells += [last] if last else []
    texts = (plain_text(plain(each.replace("\\|", "/"))) for each in cells)
    return [" ".join(text.split()) for text in texts]


def citations(lines: Sequence[Line]) -> tuple[Citation, ...]:
    """Return a citation for each line, each once."""
    return tuple(dict.fromkeys(line.citation for line in lines))
