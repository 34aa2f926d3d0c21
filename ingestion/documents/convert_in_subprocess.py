"""Convert one file in a subprocess, limited in time and memory.

A hostile attachment may keep a process busy for ever, or take all of its memory; then only this
document is left out, and the run continues.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ingestion.documents.convert import convert
from ingestion.errors import PageUnreadable
from ingestion.types import Block, Code, Document, Heading, ItemList, Paragraph, Quote, Table

SECONDS = 60.0
_MEMORY = 2 * 1024**3
MOST_TEXT = 16 * 1024 * 1024
"""Limit in bytes of a converted document, including the markup of its blocks: a small compressed
file may expand to gigabytes."""
TOO_MUCH_TEXT = f"holds more than {MOST_TEXT // 1024**2} MB of text; split it"
_ROOT = Path(__file__).parents[2]
_TOO_MUCH = "takes too much time or memory to read; split it, or save it as plain text"
_DOCUMENT = TypeAdapter(Document)
_BLOCKS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (Code, Heading, ItemList, Paragraph, Quote, Table)
}


async def convert_in_subprocess(path: Path, kind: str, *, seconds: float = SECONDS) -> Document:
    """Return the document in a file of a kind (``.pdf``).

    Raises:
        PageUnreadable: as ``convert``, or it takes too much time or memory, or its document exceeds
            MOST_TEXT.
    """
    process = await asyncio.create_subprocess_exec(
        *_command(kind, path),
        cwd=_ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            said, _ = await process.communicate()
    except TimeoutError as error:
        raise PageUnreadable(_TOO_MUCH) from error
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    if process.returncode:
        raise PageUnreadable(_TOO_MUCH)
    return await asyncio.to_thread(_parsed, said)


def _command(kind: str, path: Path) -> tuple[str, ...]:
    return (
        sys.executable,
        "-m",
        "ingestion.documents.convert_in_subprocess",
        kind,
        str(path.absolute()),
    )


def _parsed(line: bytes) -> Document:
    said = json.loads(line)
    if "reason" in said:
        raise PageUnreadable(said["reason"])
    blocks = tuple(_block(kind, fields) for kind, fields in said["blocks"])
    return replace(_DOCUMENT.validate_python(said["document"]), blocks=blocks)


def _block(kind: str, fields: dict[str, Any]) -> Block:
    block: Block = _BLOCKS[kind].validate_python(fields)
    return block


def main(arguments: list[str]) -> int:
    """Convert a file of a kind; print its document, or the error, as JSON."""
    kind, path = arguments
    logging.disable(logging.CRITICAL)
    _limit()
    said = json.dumps(_as_json(kind, Path(path)))
    if len(said) > MOST_TEXT:
        said = json.dumps({"reason": TOO_MUCH_TEXT})
    print(said)  # noqa: T201 - to the one who asked
    return 0


def _as_json(kind: str, path: Path) -> dict[str, Any]:
    try:
        document = convert(f"x{kind}", path.read_bytes())
    except PageUnreadable as error:
        return {"reason": str(error)}
    bare = replace(document, blocks=())
    # Some kinds of block have the same fields, so each is sent with its class name.
    blocks = [(type(block).__name__, asdict(block)) for block in document.blocks]
    return {"document": _DOCUMENT.dump_python(bare, mode="json"), "blocks": blocks}


def _limit() -> None:
    """Limit memory and processor time, where the system supports that."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - there is none on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
