"""``python -m ingestion`` without a process of its own, whose imports would take seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from structlog.testing import capture_logs

from ingestion.__main__ import main
from tests.fork_server import ROOT
from tests.sweeps.syncing.follower import environment


@dataclass(frozen=True)
class Ended:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    def line(self, *words: str) -> str:
        """Return the one line with all these words."""
        (found,) = {line for line in self.said.splitlines() if all(w in line for w in words)}
        return found


async def ingest(folder: Path, names: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command in a folder, with these variables set."""
    out, err = StringIO(), StringIO()
    with (
        chdir(folder),
        environment({"PYTHONPATH": str(ROOT), **names}),
        capture_logs() as logged,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = await asyncio.to_thread(main, arguments)
    return Ended(code, out.getvalue(), "".join(f"{line}\n" for line in logged) + err.getvalue())
