"""Measures, and certifies, on labelled questions, with whatever model and index are configured."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tqdm import tqdm

from bot.app.settings import load_ingestion_settings
from bot.domain.settings import Settings
from bot.evaluating.asking import Subject
from bot.evaluating.evaluation import certify, evaluate
from bot.evaluating.recording import RecordingComposer
from bot.evaluating.rendering import markdown
from bot.gating.gate import GATE_FILE
from bot.parts import gate_path, open_parts
from rag.ports import Composer


async def evaluating(settings: Settings, questions: Path, *, out: Path | None) -> int:
    """Print the report as Markdown; write it as JSON where asked."""
    async with _subject(settings) as subject:
        with tqdm(desc="questions", unit=" asked", file=sys.stderr) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            report = await evaluate(subject, questions, out=out, progress=advance)
    print(markdown(report))
    return 0


async def certifying(settings: Settings, questions: Path) -> int:
    """Write the gate's file with a certified threshold into the data directory; 1 without one."""
    out = settings.data_dir / GATE_FILE.name
    async with _subject(settings) as subject:
        found = await certify(subject, questions, out, gate=gate_path(settings))
    if found is None:
        print(
            "Nothing can be promised on these questions: the threshold stays as it is. "
            "docs/confidence.md says why."
        )
        return 1
    print(
        f"At most {found.target_error:.0%} wrong among the answered, with {found.confidence:.0%} "
        f"confidence, from {found.threshold:.3f} up; that answers {found.coverage:.0%}. "
        f"Written to {out}; it holds from the next start on."
    )
    return 0


@asynccontextmanager
async def _subject(settings: Settings) -> AsyncIterator[Subject]:
    """Open the desk as it is in use, with someone looking over the composer's shoulder."""
    recorders: list[RecordingComposer] = []

    def observe(composer: Composer) -> Composer:
        recorders.append(RecordingComposer(composer))
        return recorders[-1]

    superseded = load_ingestion_settings().confluence_superseded_labels
    async with open_parts(settings, observe, superseded=superseded) as parts:
        yield Subject(parts.desk, recorders[0], parts.index, parts.embedder, settings.tenant)
