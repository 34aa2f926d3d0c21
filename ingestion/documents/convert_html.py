"""Convert HTML to blocks as a browser shows it; no network, no entity expansion. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml import etree

from ingestion.documents.hidden_text import leave_out_unseen
from ingestion.documents.html_elements import (
    DROPPED,
    all_text,
    cells,
    hidden,
    inline,
    is_layout,
    is_tag,
    tidy,
    to_table,
    white,
)
from ingestion.errors import PageUnreadable
from ingestion.text import clean, markdown
from ingestion.types import Block, Code, Heading, ItemList, Paragraph, Quote

_BLOCKS = frozenset(
    """
    address article aside blockquote body caption center dd details dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu ol p pre
    section summary table tbody td tfoot th thead tr ul
    """.split()
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush:\s*)-?([A-Za-z0-9_+#-]+)")
_EMPTY = re.compile(r"<(?:embed|source|track)\b[^<>]*>", re.IGNORECASE)
"""Elements without content, which the parser would give all that follows."""

_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.IGNORECASE | re.DOTALL)
_DEEPEST = 200


def blocks_of(source: str) -> tuple[Block, ...]:
    """Return the blocks of an HTML text, a whole page or a fragment."""
    root = parse(source)
    if root is None:
        return ()
    leave_out_unseen(root)
    return tuple(_walk(_main(root)))


def blocks_in(element: etree._Element) -> tuple[Block, ...]:
    """Return the blocks of an HTML tree that was parsed elsewhere; its unseen texts are removed."""
    leave_out_unseen(element)
    return tuple(_walk(element))


def page_title(source: str) -> str | None:
    """Return the text of the ``title`` element."""
    root = parse(source)
    title = None if root is None else root.find(".//title")
    return tidy(white(all_text(title))) or None if title is not None else None


def parse(source: str) -> etree._Element | None:
    """Return the tree, or None for an empty text.

    Raises:
        PageUnreadable: the parser gave up before the end.
    """
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    encoded = _EMPTY.sub("", _DOCTYPE.sub("", source)).encode("utf-8", errors="replace")
    if not encoded.strip():
        return None
    root = etree.fromstring(encoded, parser)
    if any("depth" in entry.message for entry in parser.error_log):
        raise PageUnreadable("is nested too deeply")
    return root


def _main(root: etree._Element) -> etree._Element:
    """Return the element that holds the page's main content."""
    mains = [each for each in root.iter() if each.tag == "main" or each.get("role") == "main"]
    if len(mains) == 1:
        return mains[0]
    body = root.find("body")
    if body is None:
        return root
    for element in body:
        banner = element.tag == "header" and element.find(".//nav") is not None
        if banner or element.tag == "footer":
            element.set("hidden", "")
    return body


def _walk(element: etree._Element, depth: int = 0) -> list[Block]:
    """Return the blocks inside an element, in reading order."""
    if depth > _DEEPEST:
        return _paragraph(all_text(element))
    blocks: list[Block] = []
    running = [white(element.text)]
    for child in element:
        if _is_block(child):
            blocks += _paragraph("".join(running))
            running = []
            blocks += _block(child, depth + 1)
        else:
            running.append(inline(child))
        running.append(white(child.tail))
    return blocks + _paragraph("".join(running))


def _is_block(element: etree._Element) -> bool:
    if not is_tag(element) or element.tag in DROPPED:
        return False
    return element.tag in _BLOCKS or any(_is_block(child) for child in element)


def _block(element: etree._Element, depth: int) -> list[Block]:
    if hidden(element):
        return []
    read = _READ.get(str(element.tag), _walk)
    return read(element, depth)


def _heading(element: etree._Element, _depth: int) -> list[Block]:
    text = " ".join(tidy(inline(element)).split())
    return [Heading(int(str(element.tag)[1]), text)] if text else []


def _list(element: etree._Element, depth: int) -> list[Block]:
    items = tuple(_items(element, depth))
    return [ItemList(items)] if items else []


def _quote(element: etree._Element, depth: int) -> list[Block]:
    return [_quoted(block) for block in _walk(element, depth)]


def _paragraph(text: str) -> list[Block]:
    shown = tidy(text)
    return [Paragraph(shown)] if shown else []


def _quoted(block: Block) -> Block:
    return Quote(block.text) if isinstance(block, Paragraph) else block


def _code(element: etree._Element, _depth: int) -> list[Block]:
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    lines = clean(all_text(element)).split("\n")
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    marked = [element, *element.iter("code")]
    named = (_LANGUAGE.search(each.get("class") or "") for each in marked)
    language = next((match[1] for match in named if match), "")
    return [Code(text, language)] if text.strip() else []


def _table(element: etree._Element, depth: int) -> list[Block]:
    before = [
        block for caption in element.findall("caption") for block in _walk(caption, depth + 1)
    ]
    if is_layout(element):
        inside = [block for cell in cells(element) for block in _walk(cell, depth + 1)]
        return before + inside
    table = to_table(element, lambda cell: _walk(cell, depth + 1))
    return [*before, table] if table else before


def _items(element: etree._Element, depth: int) -> list[str]:
    number = _number(element.get("start"), 1)
    items: list[str] = []
    for child in element:
        if hidden(child):
            continue
        if child.tag in _LISTS and items:
            nested = "\n".join(_items(child, depth + 1))
            items[-1] += "\n" + _indented(nested, 2)
            continue
        number = _number(child.get("value"), number)
        marker = f"{number}." if element.tag == "ol" else "-"
        item = _item(marker, _walk(child, depth + 1))
        if item:
            items.append(item)
            number += 1
    return items


def _number(value: str | None, otherwise: int) -> int:
    return int(value) if value and re.fullmatch(r"[0-9]{1,9}", value) else otherwise


def _item(marker: str, blocks: list[Block]) -> str:
    """Return an item with its marker, further blocks on separate lines below."""
    text = "\n".join(markdown(block) for block in blocks)
    if not text:
        return ""
    if isinstance(blocks[0], ItemList):
        return f"{marker}\n{_indented(text, len(marker) + 1)}"
    return f"{marker} {_indented(text, len(marker) + 1).lstrip()}"


def _indented(text: str, width: int) -> str:
    return "\n".join(" " * width + line if line else "" for line in text.split("\n"))


def _definitions(element: etree._Element, depth: int) -> list[Block]:
    items: list[str] = []
    for child in element.iter("dt", "dd"):
        text = "\n".join(markdown(block) for block in _walk(child, depth + 1))
        if not text or hidden(child):
            continue
        if child.tag == "dd" and items:
            joint = ": " if "\n" not in items[-1] and ": " not in items[-1] else "\n  "
            items[-1] += joint + _indented(text, 2).lstrip()
        else:
            items.append(f"- {_indented(text, 2).lstrip()}")
    return [ItemList(tuple(items))] if items else []


_READ: dict[str, Callable[[etree._Element, int], list[Block]]] = {
    **dict.fromkeys(_HEADINGS, _heading),
    **dict.fromkeys(_LISTS, _list),
    "pre": _code,
    "table": _table,
    "dl": _definitions,
    "blockquote": _quote,
}
