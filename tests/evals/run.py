"""`make evals`: index each set, ask its questions, write docs/evaluation.md, hold the floors."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tqdm import tqdm

from bot.config import Settings
from bot.desk import Desk
from bot.escalations.handover import EscalationWording
from bot.evaluating.asking import Subject
from bot.evaluating.evaluation import Progress, TrainingSet, evaluate, train
from bot.evaluating.recording import RecordingComposer
from bot.evaluating.rendering import markdown
from bot.evaluating.report import Report
from bot.gating.gate import GATE_FILE, load_gate
from bot.parts import Parts, open_parts
from bot.routing.generic import GenericAnswers
from bot.routing.question import condense
from bot.types import Intent, Route
from ingestion.chunk import CHUNKER
from ingestion.convert import CONVERTER
from ingestion.progress import Bar
from ingestion.report import report_lines
from ingestion.run import Folder, sync_folder
from rag.extractive import ExtractiveComposer
from rag.index.schema import SCHEMA
from rag.pipeline import Pipeline
from rag.ports import Composer
from rag.types import Turn
from tests.evals.floors import broken_floors, load_floors
from tests.evals.sets import EvalSet, public_sets, sample

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".build" / "evals"
DOCUMENT = ROOT / "docs" / "evaluation.md"
PREFACE = Path(__file__).with_name("preface.md")
PUBLIC = 3
TENANT = "default"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 1 when a figure is below its floor."""
    options = _parser().parse_args(arguments)
    sets = [one for one in _sets() if not options.only or options.only in one.name]
    if not sets:
        print(f"No set is named like {options.only!r}.", file=sys.stderr)
        return 2
    if options.train:
        asyncio.run(_train([one for one in sets if one.trains_gate]))
        return 0
    reports = [asyncio.run(_evaluate(one)) for one in sets]
    _write(reports, whole=not options.only and len(reports) == 1 + PUBLIC)
    return _held(reports)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make evals ARGS=…", description=__doc__)
    parser.add_argument("--only", default="", help="a part of a set's name, such as `sample`")
    parser.add_argument("--train", action="store_true", help="train the gate, measure nothing")
    return parser


def _sets() -> list[EvalSet]:
    data = Path(os.environ.get("FRONTDESK_EVAL_DATA", ROOT.parent / "shared" / "data"))
    return [sample(), *public_sets(data, WORK / "sets")]


async def _evaluate(one: EvalSet) -> Report:
    async with AsyncExitStack() as closing:
        recorders: list[RecordingComposer] = []

        def observe(composer: Composer) -> Composer:
            recorders.append(RecordingComposer(composer))
            return recorders[-1]

        settings = _settings(one)
        parts = await closing.enter_async_context(open_parts(settings, observe))
        await _index(one, parts, settings.data_dir)
        routed = Subject(parts.desk, recorders[0], parts.index, parts.embedder, TENANT)
        subject = routed if one.routed else _straight(parts)
        out = WORK / f"{one.name.replace(' ', '-')}.json"
        return await evaluate(
            subject, one.questions, out=out, name=one.name, progress=_bar(one.name)
        )


async def _train(sets: Sequence[EvalSet]) -> None:
    """Ask with and without the embedder, past the router, and write the gate's file."""
    async with AsyncExitStack() as closing:
        found, by_keyword = [], []
        for one in sets:
            settings = _settings(one)
            parts = await closing.enter_async_context(open_parts(settings))
            await _index(one, parts, settings.data_dir)
            found.append(TrainingSet(one.name, _straight(parts), one.questions))
            keyword = _straight(parts, by_keyword=True)
            by_keyword.append(TrainingSet(one.name, keyword, one.questions))
        file = await train(found, GATE_FILE, without_embedder=by_keyword, progress=_bar("training"))
    for composer, calibration in file.calibrations.items():
        print(composer, calibration.validation)
        for feature in calibration.features:
            print(f"  {feature.coefficient:+.3f}  {feature.name}")


def _straight(parts: Parts, *, by_keyword: bool = False) -> Subject:
    """Return a desk that puts every question to the index: the router is not what is trained."""
    embedder = None if by_keyword else parts.embedder
    composer = RecordingComposer(ExtractiveComposer(embedder))
    settings = Settings(_env_file=None)
    desk = Desk(
        router=_ToTheIndex(),
        generic=GenericAnswers(None),
        pipeline=Pipeline(parts.index, embedder, composer, top_k=settings.top_k),
        gate=load_gate(settings.confidence_threshold),
        wording=EscalationWording(
            not_found=settings.not_found_message, uncertain=settings.escalation_message
        ),
    )
    return Subject(desk, composer, parts.index, embedder, TENANT)


class _ToTheIndex:
    """Implements Routes: every question is searched for, a follow-up as it stands."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route:
        del history
        return Route(Intent.DOMAIN, 1.0, "default", condense(text))


def _settings(one: EvalSet) -> Settings:
    """Return the defaults, whatever the environment says, and no model."""
    made_with = f"{one.digest()}-{CHUNKER}.{CONVERTER}.{SCHEMA}"
    return Settings(
        _env_file=None,
        data_dir=WORK / "indexes" / f"{one.name.replace(' ', '-')}-{made_with}",
        tenant=TENANT,
        openai_model=None,
        index_spaces=None,
        top_k=5,
        confidence_threshold=0.65,
    )


async def _index(one: EvalSet, parts: Parts, data_dir: Path) -> None:
    for space, path in one.spaces.items():
        report = await sync_folder(
            Folder(path, space),
            parts.index,
            parts.embedder,
            tenant=TENANT,
            data_dir=data_dir,
            progress=Bar(sys.stderr),
        )
        print("\n".join(report_lines(report)[:2]))


def _bar(name: str) -> Progress:
    bar = tqdm(desc=name, unit="question", mininterval=1)

    def show(done: int, total: int) -> None:
        if done == 1:
            bar.reset(total)
        bar.update(done - bar.n)

    return show


def _write(reports: Sequence[Report], *, whole: bool) -> None:
    """Write the document; a run on some sets alone does not replace the whole one."""
    text = "\n\n".join([PREFACE.read_text("utf-8").rstrip(), *map(markdown, reports)]) + "\n"
    path = DOCUMENT if whole else WORK / "evaluation.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    print(f"Written: {path.relative_to(ROOT)}")


def _held(reports: Sequence[Report]) -> int:
    floors = load_floors()
    broken = [line for report in reports for line in broken_floors(report, floors[report.run.name])]
    for line in broken:
        print(f"BELOW ITS FLOOR  {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
