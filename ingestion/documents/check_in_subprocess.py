"""Check in a subprocess that an uploaded document is readable, so a hostile file harms only it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

from ingestion.documents.convert import convert
from ingestion.errors import DocumentRefused, PageUnreadable

SECONDS = 60.0
_MEMORY = 2 * 1024**3
_AT_ONCE = 2
_ROOT = Path(__file__).parents[2]
_TOO_MUCH = "takes too much time or memory to read; split it, or save it as plain text"


class DocumentChecker:
    """Validates documents in subprocesses, two at a time, limited in time and memory."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def check(self, path: Path, kind: str, name: str) -> None:
        """Convert a file of a kind (``.pdf``). Raises DocumentRefused with the reason."""
        async with self._places:
            reason = await self._reason(path, kind)
        if reason:
            raise DocumentRefused(f"{name!r} {reason}.")

    async def _reason(self, path: Path, kind: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *_command(kind, path),
            cwd=_ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._seconds):
                said, _ = await process.communicate()
        except TimeoutError:
            return _TOO_MUCH
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _reason_in(said) if process.returncode == 0 else _TOO_MUCH


def _command(kind: str, path: Path) -> tuple[str, ...]:
    return (
        sys.executable,
        "-m",
        "ingestion.documents.check_in_subprocess",
        kind,
        str(path.absolute()),
    )


def _reason_in(said: bytes) -> str:
    return str(json.loads(said.splitlines()[-1])["reason"])


def main(arguments: list[str]) -> int:
    """Convert a file of a kind; print as JSON why that fails, or nothing."""
    kind, path = arguments
    logging.disable(logging.CRITICAL)
    _limit()
    print(json.dumps({"reason": _why_not(kind, Path(path))}))  # noqa: T201 - to the one who asked
    return 0


def _why_not(kind: str, path: Path) -> str:
    try:
        document = convert(f"x{kind}", path.read_bytes())
    except PageUnreadable as error:
        return str(error)
    return "" if document.blocks else "holds no text; upload a document with text"


def _limit() -> None:
    """Limit memory and processor time, where the system supports that."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - Unix has it

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
