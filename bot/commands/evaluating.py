"""Measures answers on labelled questions, with whatever model and index are configured."""

from __future__ import annotations

import sys
from pathlib import Path

from tqdm import tqdm

from bot.config import Settings
from bot.evaluating.asking import Subject
from bot.evaluating.recording import RecordingComposer
from bot.evaluating.rendering import markdown
from bot.evaluation import evaluate
from bot.parts import open_parts
from rag.ports import Composer


async def evaluating(settings: Settings, questions: Path, *, out: Path | None) -> int:
    """Print the report as Markdown; write it as JSON where asked."""
    recorders: list[RecordingComposer] = []

    def observe(composer: Composer) -> Composer:
        recorders.append(RecordingComposer(composer))
        return recorders[-1]

    async with open_parts(settings, observe) as parts:
        subject = Subject(parts.desk, recorders[0], parts.index, parts.embedder, settings.tenant)
        with tqdm(desc="questions", unit=" asked", file=sys.stderr) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            report = await evaluate(subject, questions, out=out, progress=advance)
    print(markdown(report))
    return 0
