"""A page in storage format to blocks. Pure."""

from __future__ import annotations

from ingestion.confluence.storage.parsing import parse
from ingestion.confluence.storage.references import needs_of
from ingestion.confluence.storage.rewriting import write
from ingestion.confluence.storage.types import Converted, Needs, Resolve
from ingestion.confluence.storage.writer import Writer
from ingestion.convert_html import blocks_in
from ingestion.errors import PageUnreadable


def needs(storage: str, space: str = "") -> Needs:
    """Return what a page refers to; ``space`` is the key of its own.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    return needs_of(parse(storage).root, space)


def convert(storage: str, resolve: Resolve) -> Converted:
    """Return the blocks of a page, with what it refers to in words.

    Raises:
        PageUnreadable: it is too large, or nested too deeply.
    """
    out = Writer(resolve, write)
    try:
        notes = _written(storage, out)
        blocks = blocks_in(out.root())
    except RecursionError as error:
        raise PageUnreadable("is nested too deeply") from error
    return Converted(
        blocks=blocks,
        unknown_macros=dict(sorted(out.unknown.items())),
        included=tuple(out.included),
        notes=(*notes, *out.notes),
    )


def _written(storage: str, out: Writer) -> tuple[str, ...]:
    """Write a page and return what was odd about it; what is written is not kept."""
    parsed = parse(storage)
    out.text(parsed.root.text)
    for element in parsed.root:
        out.write(element)
        out.text(element.tail)
        element.clear()
    return parsed.notes
