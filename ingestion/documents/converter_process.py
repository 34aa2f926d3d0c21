"""Convert one file in a process of its own, limited in time and memory.

Parsing a document blocks a Python process, and a hostile one may block it for ever or take all of
its memory. Then only this document is left out, and nobody else waits.
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

from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.text import markdown
from ingestion.types import Block, Code, Document, Heading, ItemList, Paragraph, Quote, Table

SECONDS = 60.0
PDF_SECONDS = 20.0
MOST_TEXT = 16 * 1024 * 1024
"""Limit in bytes of a converted document, including the markup of its blocks: a small compressed
file may expand to gigabytes."""
TOO_MUCH_TEXT = f"holds more than {MOST_TEXT // 1024**2} MB of text; split it"
_GIGABYTE = 1024**3
_CHECKS_AT_ONCE = 2
_ROOT = Path(__file__).parents[2]
_TOO_MUCH = "takes too much time or memory to read; split it, or save it as plain text"
_UNREADABLE = 3
"""Exit code where the file is at fault."""
_DOCUMENT = TypeAdapter(Document)
_BLOCKS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (Code, Heading, ItemList, Paragraph, Quote, Table)
}


class DocumentChecker:
    """Checks that documents can be converted, two at a time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def check(self, path: Path, kind: str, name: str) -> None:
        """Convert a file of a kind (``.pdf``). Raises DocumentRefused with the reason."""
        async with self._slots:
            try:
                output = await _run("check", kind, path, seconds=self._seconds)
            except TimeoutError:
                output = None
        reason = _TOO_MUCH if output is None else str(json.loads(output.splitlines()[-1])["reason"])
        if reason:
            raise DocumentRefused(f"{name!r} {reason}.")


async def convert_in_subprocess(path: Path, kind: str, *, seconds: float = SECONDS) -> Document:
    """Return the document in a file of a kind (``.pdf``).

    Raises:
        PageUnreadable: as ``convert``, or it takes too much time or memory, or its document exceeds
            MOST_TEXT.
    """
    try:
        output = await _run("convert", kind, path, seconds=seconds)
    except TimeoutError as error:
        raise PageUnreadable(_TOO_MUCH) from error
    if output is None:
        raise PageUnreadable(_TOO_MUCH)
    return await asyncio.to_thread(_parse_document, output)


async def text_of_pdf(content: bytes, *, seconds: float = PDF_SECONDS) -> str:
    """Return a PDF's text as Markdown.

    Raises:
        PageUnreadable: it is encrypted, broken, without text, or takes too long.
    """
    try:
        output = await _run("pdf", seconds=seconds, content=content)
    except TimeoutError as error:
        raise PageUnreadable("takes too long to be read") from error
    if output is None:
        raise PageUnreadable("could not be read")
    return output.decode("utf-8", "replace")


async def _run(*arguments: str | Path, seconds: float, content: bytes = b"") -> bytes | None:
    """Return the output of this module's ``main``; None if it failed. Raises TimeoutError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingestion.documents.converter_process"),
        *map(_argument, arguments),
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(content)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return output if process.returncode == 0 else None


def _argument(value: str | Path) -> str:
    return str(value.absolute()) if isinstance(value, Path) else value


def _parse_document(output: bytes) -> Document:
    parsed = json.loads(output)
    if "reason" in parsed:
        raise PageUnreadable(parsed["reason"])
    blocks = tuple(_parse_block(kind, fields) for kind, fields in parsed["blocks"])
    return replace(_DOCUMENT.validate_python(parsed["document"]), blocks=blocks)


def _parse_block(kind: str, fields: dict[str, Any]) -> Block:
    block: Block = _BLOCKS[kind].validate_python(fields)
    return block


def main(arguments: list[str]) -> int:
    """Do one task: print why a file can't be converted, or its document, as JSON; or a PDF's text.

    The PDF is read from standard input.
    """
    logging.disable(logging.CRITICAL)
    match arguments:
        case ["check", kind, path]:
            _limit(2 * _GIGABYTE, SECONDS)
            print(json.dumps({"reason": _reason_against(kind, Path(path))}))  # noqa: T201 - its task
        case ["convert", kind, path]:
            _limit(2 * _GIGABYTE, SECONDS)
            output = json.dumps(_as_json(kind, Path(path)))
            print(output if len(output) <= MOST_TEXT else json.dumps({"reason": TOO_MUCH_TEXT}))  # noqa: T201 - its task
        case _:
            _limit(_GIGABYTE)
            return _print_pdf_text(sys.stdin.buffer.read())
    return 0


def _convert(kind: str, path: Path) -> Document:
    # Slow to import, and not needed for the text of a PDF.
    from ingestion.documents.convert import convert

    return convert(f"x{kind}", path.read_bytes())


def _reason_against(kind: str, path: Path) -> str:
    try:
        document = _convert(kind, path)
    except PageUnreadable as error:
        return str(error)
    return "" if document.blocks else "holds no text; upload a document with text"


def _as_json(kind: str, path: Path) -> dict[str, Any]:
    try:
        document = _convert(kind, path)
    except PageUnreadable as error:
        return {"reason": str(error)}
    bare = replace(document, blocks=())
    # Some kinds of block have the same fields, so each is sent with its class name.
    blocks = [(type(block).__name__, asdict(block)) for block in document.blocks]
    return {"document": _DOCUMENT.dump_python(bare, mode="json"), "blocks": blocks}


def _print_pdf_text(content: bytes) -> int:
    # Servers import this module and read no PDF themselves.
    from ingestion.documents.convert_pdf import pdf_document

    try:
        document = pdf_document(content)
    except PageUnreadable:
        return _UNREADABLE
    text = "\n\n".join(markdown(block) for block in document.blocks)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _limit(memory_bytes: int, cpu_seconds: float | None = None) -> None:
    """Limit memory and processor time, where the system supports that."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if cpu_seconds is not None:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
