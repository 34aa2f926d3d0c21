"""Extract the text of one PDF in a subprocess, limited in time and memory.

Parsing a PDF blocks a Python process, and a hostile one may block it for ever: in the server's
process nobody else would be answered meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path

from ingestion.documents.convert_pdf import pdf_document
from ingestion.errors import PageUnreadable
from ingestion.text import markdown

SECONDS = 20.0
_ROOT = Path(__file__).parents[2]
_MEMORY_BYTES = 1024**3
_UNREADABLE = 3
"""Exit code where the file is at fault."""


async def text_of_pdf(content: bytes, *, seconds: float = SECONDS) -> str:
    """Return a PDF's text as Markdown.

    Raises:
        PageUnreadable: it is encrypted, broken, without text, or takes too long.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingestion.documents.pdf_in_subprocess"),
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            said, _ = await process.communicate(content)
    except TimeoutError as error:
        raise PageUnreadable("takes too long to be read") from error
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    if process.returncode:
        raise PageUnreadable("could not be read")
    return said.decode("utf-8", "replace")


def main() -> int:
    """Read a PDF from standard input and write its text to standard output."""
    logging.disable(logging.CRITICAL)
    _limit_memory()
    try:
        document = pdf_document(sys.stdin.buffer.read())
    except PageUnreadable:
        return _UNREADABLE
    text = "\n\n".join(markdown(block) for block in document.blocks)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _limit_memory() -> None:
    """Limit memory to a gigabyte where the system supports that."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - there is none on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    sys.exit(main())
