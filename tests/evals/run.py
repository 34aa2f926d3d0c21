"""`make evals`: ask each set's questions, write docs/evaluation.md, hold the floors.

Without a model every question is asked; with the recorded model a fixed draw (draws.py). A prompt
without a recorded reply fails the run: see docs/evaluation.md for how replies are recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.answering.evaluation.evaluate import ask_all, questions_and_withheld, train, write
from bot.answering.evaluation.labelled_questions import load_questions
from bot.answering.evaluation.markdown_tables import markdown
from bot.answering.evaluation.question_cases import Case
from bot.answering.gate import GATE_FILE, KEYWORD_ONLY, load_gate_file
from prompts.files import load_prompt
from tests.evals import document
from tests.evals.findings import findings
from tests.evals.floors import broken_floors, floors_name, load_floors
from tests.evals.question_runs import (
    ROOT,
    WORK,
    Measured,
    bar,
    opened,
    with_recorded_model,
    without_model,
)
from tests.evals.recorded.server import MODEL, file_name
from tests.evals.sets import EvalSet, public_sets, sample

PUBLIC = 3
WITHOUT_MODEL = "extractive"
WAYS = ("both", "without", "recorded")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 1 when a reply is missing or a figure is below its floor."""
    options = _parser().parse_args(arguments)
    sets = [one for one in _sets() if options.only in one.name]
    if not sets:
        print(f"No set is named like {options.only!r}.", file=sys.stderr)
        return 2
    if options.train:
        return asyncio.run(_train([one for one in sets if one.trains_gate], options.prompts))
    without = asyncio.run(_without(sets)) if options.way != "recorded" else []
    changes = {"pii_masking": options.masking} if options.masking else {}
    recorded = (
        asyncio.run(_recorded(sets, options.prompts, **changes)) if options.way != "without" else []
    )
    complete = [each for each in recorded if not each.missing]
    whole = not (options.only or changes) and len(sets) == 1 + PUBLIC and options.way == "both"
    reports = _document(without, complete) if whole else _tables([*without, *complete])
    return max(_held(reports), _nothing_missing(recorded))


def calibration_key() -> str:
    """Return under which key the gate's file keeps the recorded model's calibration."""
    return f"model:{MODEL}:{load_prompt('answer').id}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make evals ARGS=…", description=__doc__)
    parser.add_argument("--only", default="", help="a part of a set's name, such as `sample`")
    parser.add_argument("--way", choices=WAYS, default="both", help="with which model to ask")
    parser.add_argument(
        "--prompts", type=_outside, help="a folder for prompts without a reply, outside the tree"
    )
    parser.add_argument(
        "--masking",
        choices=("always", "off"),
        help="whether personal data is masked for the recorded model",
    )
    parser.add_argument("--train", action="store_true", help="train the gate, measure nothing")
    return parser


def _outside(name: str) -> Path:
    path = Path(name).resolve()
    if path.is_relative_to(ROOT):
        raise argparse.ArgumentTypeError("prompts hold pages of others: name a folder elsewhere")
    return path


def _sets() -> list[EvalSet]:
    data = Path(os.environ.get("FRONTDESK_EVAL_DATA", ROOT.parent / "shared" / "data"))
    return [sample(WORK / "sets"), *public_sets(data, WORK / "sets")]


async def _without(sets: Sequence[EvalSet]) -> list[Measured]:
    return [_kept(await without_model(one)) for one in sets]


async def _recorded(
    sets: Sequence[EvalSet], prompts: Path | None, **changes: object
) -> list[Measured]:
    return [_kept(await with_recorded_model(one, prompts, **changes)) for one in sets]


def _kept(measured: Measured) -> Measured:
    """Write the report as JSON, unless replies are missing behind its figures."""
    path = WORK / f"{file_name(floors_name(measured.report))}.json"
    if not measured.missing:
        write(path, measured.report)
    return measured


async def _train(sets: Sequence[EvalSet], prompts: Path | None) -> int:
    """Ask without a model, past the router, and with the recorded one; write the gate's file."""
    plain, by_keyword = [], []
    for one in sets:
        asks = questions_and_withheld(load_questions(one.questions))
        async with opened(one) as found:
            name = f"{one.name}, training"
            plain.append((one.name, await ask_all(found.past_the_router(), asks, bar(name))))
            by_keyword.append((one.name, await ask_all(found.by_keyword(), asks, bar(name))))
    recorded = await _recorded(sets, prompts)
    asked: dict[str, Sequence[tuple[str, Sequence[Case]]]] = {
        WITHOUT_MODEL: plain,
        WITHOUT_MODEL + KEYWORD_ONLY: by_keyword,
    }
    incomplete = _nothing_missing(recorded)
    if not incomplete:
        asked[calibration_key()] = [(each.of.name, each.cases) for each in recorded]
    file = train(asked, GATE_FILE)
    for key in asked:
        calibration = file.calibrations[key]
        print(key, calibration.validation)
        for feature in calibration.features:
            print(f"  {feature.coefficient:+.3f}  {feature.name}")
    return incomplete


def _document(without: Sequence[Measured], recorded: Sequence[Measured]) -> list[Measured]:
    """Write the documentation; a run on some sets alone does not replace it."""
    gate = load_gate_file()
    ways = {document.WITHOUT: findings(without, WITHOUT_MODEL, gate)}
    if len(recorded) == len(without):
        ways[document.WITH] = findings(recorded, calibration_key(), gate)
    measured = [each for way in ways.values() for each in way.measured.values()]
    for each in measured:
        _kept(each)
    for path in document.write(ways, [each.report for each in measured], ROOT / "docs"):
        print(f"Written: {path.relative_to(ROOT)}")
    return measured


def _tables(measured: Sequence[Measured]) -> Sequence[Measured]:
    path = WORK / "evaluation.md"
    text = "\n\n".join(markdown(each.report) for each in measured)
    path.write_text(text + "\n", "utf-8")
    print(f"Written: {path.relative_to(ROOT)}")
    return measured


def _held(measured: Sequence[Measured]) -> int:
    floors = load_floors()
    broken = []
    for each in measured:
        name = floors_name(each.report)
        if name in floors:
            broken += broken_floors(each.report, floors[name])
        else:
            print(f"No floors are kept for {name}: see `python -m tests.evals.floors`.")
    for line in broken:
        print(f"BELOW ITS FLOOR  {line}", file=sys.stderr)
    return 1 if broken else 0


def _nothing_missing(recorded: Sequence[Measured]) -> int:
    missing = {each.of.name: each.missing for each in recorded if each.missing}
    for name, prompts in missing.items():
        print(f"NO REPLY RECORDED  {name}: {_counted(prompts)}", file=sys.stderr)
    if missing:
        print(
            "Keep the prompts with --prompts FOLDER, have FOLDER/…/KEY.txt written for each, take "
            "them in with `python -m tests.evals.recorded FOLDER REPLIES`, and run again: what "
            "follows a missing reply in the same question shows only then.",
            file=sys.stderr,
        )
    return 1 if missing else 0


def _counted(prompts: Mapping[str, str]) -> str:
    counts = Counter(prompts.values())
    return f"{counts['answer']} answers, {counts['short']} short prompts"


if __name__ == "__main__":
    sys.exit(main())
