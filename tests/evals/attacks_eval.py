"""Measures how many public prompt injections have an effect on the web, over REST, Slack and Teams.

``python -m tests.evals.attacks_eval [--shared DIR]`` has a model obey every attack below
FRONTDESK_EVAL_DATA (``prompt_attacks``) in four forms, planted by one carrier after the other, on
all platforms (tests/sweeps/hostile): measured is what code stops. It writes one line for each
effect, and a table. Attacks of our own are tried by ``make attack`` in the same way.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.observability.logs import set_up_logs
from tests.sweeps.hostile.attacks import with_goals
from tests.sweeps.hostile.combinations import CARRIERS, combinations
from tests.sweeps.hostile.matrix import run_matrix

_ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("FRONTDESK_EVAL_DATA", _ROOT.parent / "shared" / "data"))


def attacks(shared: Path) -> list[str]:
    """Return the public attacks; none where they are not there."""
    path = shared / "prompt_attacks" / "prompts.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [row["text"] for row in map(json.loads, lines) if row["label"] == "attack"]


def main(arguments: Sequence[str]) -> int:
    """Return 1 when an attack had an effect."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.attacks_eval")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    parser.add_argument("--most", type=int, default=None, help="so many attacks only")
    parser.add_argument(
        "--carriers", type=int, default=1, help=f"carriers of each form, 1 to {len(CARRIERS)}"
    )
    parser.add_argument("--processes", type=int, default=2, help="companies at a time")
    chosen = parser.parse_args(arguments)
    set_up_logs("error")
    texts = attacks(chosen.shared)[: chosen.most]
    if not texts:
        sys.stdout.write(f"No public attacks below {chosen.shared}: nothing to try\n")
        return 0
    tried = combinations(with_goals(texts), carriers_each=chosen.carriers)
    result = run_matrix(tried, processes=chosen.processes)
    sys.stdout.writelines(f"{line}\n" for line in result.lines())
    return int(bool(result.effects))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
