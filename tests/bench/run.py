"""`make bench`: run each bench three times, say which aims hold, write docs/performance.md.

``python -m tests.bench.run [--whole] [--only PART] [--runs 3]``

Each bench runs at a size that fits into fifteen minutes for all; ``--whole`` runs each once, at
full size, with those that take minutes. An aim that the median misses by more than the spread of
the runs is an error. What a section of the document says stays until that bench is run again.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.aims import Judged, aims_in, judge, table
from tests.bench.benches import BENCHES, Bench
from tests.bench.capacity import CAPACITY, capacity

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "performance.md"
RUNS = 3
AIMS = "Which aims hold"
PREFACE = """# Performance

This page shows how fast Frontdesk is, compared with something minimal that was measured in the same
run, and how many people one machine can serve. It is written by `make bench`; you can run each
command yourself. Absolute times are those of one machine on one day. Goals in time apply to a
machine whose minimal server has a median of at most 1.5 ms; on slower machines they are scaled.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benches one after the other; 1 when one failed or an aim is missed."""
    options = _parser().parse_args(arguments)
    chosen = [each for each in BENCHES if options.only.lower() in each.title.lower()]
    if not options.whole:
        chosen = [each for each in chosen if each.short is not None]
    if not chosen:
        print(f"No bench is named like {options.only!r}.", file=sys.stderr)
        return 2
    began = time.monotonic()
    runs = 1 if options.whole else options.runs
    sections: dict[str, str] = {}
    judged: list[Judged] = []
    broken: list[str] = []
    for bench in chosen:
        outputs, failed = _run(bench, runs, whole=options.whole)
        judged += judge([aims_in(output) for output in outputs])
        broken += [bench.title] if failed else []
        sections[bench.title] = _section(bench, outputs, runs, whole=options.whole)
    missed = [each.aim.name for each in judged if each.verdict == "MISSED"]
    print(table(judged))
    if not options.whole:
        sections |= _summaries(judged, whole=not options.only)
    _write(sections)
    print(f"{len(chosen)} benches in {(time.monotonic() - began) / 60:.1f} minutes")
    for what, names in (("Without a result", broken), ("Missed", missed)):
        if names:
            print(f"{what}: {'; '.join(names)}", file=sys.stderr)
    return 1 if broken or missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("--whole", action="store_true", help="full size, once, all benches")
    parser.add_argument("--only", default="", help="a part of a bench's title")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is run")
    return parser


def _run(bench: Bench, runs: int, *, whole: bool) -> tuple[list[str], bool]:
    """Return what each run printed, and whether one ended without a verdict on its aims."""
    outputs, failed = [], False
    for number in range(1, runs + 1):
        print(f"== {bench.title} ({number} of {runs})", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", *bench.arguments(whole=whole)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        print(done.stdout, flush=True)
        outputs.append(done.stdout)
        failed |= done.returncode != 0 and not aims_in(done.stdout)
    return outputs, failed


def _section(bench: Bench, outputs: Sequence[str], runs: int, *, whole: bool) -> str:
    command = f"$ python -m {' '.join(bench.arguments(whole=whole))}"
    times = "one run" if runs == 1 else f"the last of {runs} runs"
    return f"{bench.meaning} {_machine()}, {times}.\n\n```console\n{command}\n{outputs[-1]}```\n"


def _summaries(judged: Sequence[Judged], *, whole: bool) -> dict[str, str]:
    """Return the sections made of all benches together; none after a part of them."""
    if not whole:
        return {}
    said = f"{_machine()}, load {os.getloadavg()[0]:.1f} at the end; medians of {RUNS} runs."
    return {AIMS: f"{said}\n\n{table(judged)}\n", CAPACITY: capacity(judged)}


def _write(sections: dict[str, str]) -> None:
    """Replace the given sections in the document, and keep the others as they are."""
    kept = _sections(DOCUMENT.read_text(encoding="utf-8"))
    order = [AIMS, CAPACITY, *(bench.title for bench in BENCHES)]
    new = {**kept, **sections}
    titles = [each for each in order if each in new] + [each for each in new if each not in order]
    parts = [f"## {title}\n\n{new[title]}" for title in titles]
    DOCUMENT.write_text("\n".join([PREFACE, *parts]), encoding="utf-8")
    print(f"Wrote {DOCUMENT.relative_to(ROOT)}")


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a document by title; the preface is not one."""
    _, *found = re.split(r"^## ", text, flags=re.MULTILINE)
    split = (each.partition("\n\n") for each in found)
    return {title: body.rstrip("\n") + "\n" for title, _, body in split}


def _machine() -> str:
    today = datetime.now(UTC).date()
    python = platform.python_version()
    return f"{today}, Python {python}, {os.cpu_count()} cores, {platform.machine()}"


if __name__ == "__main__":
    sys.exit(main())
