"""Measures how many public prompt injections have an effect over REST, and on Slack by any carrier.

``python -m tests.evals.attacks_eval [--shared DIR]`` writes one line for each effect, and a sum.
The model obeys every attack (tests/fakes/obeying_model.py): measured is what code stops. Over
REST also made-up hand-overs and requests for passwords count, in our own voice (``guardrails``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.observability.logs import set_up_logs
from tests.fakes.applications import take_over_slack
from tests.fakes.hostile_wiki import SECRET, answers_over_rest, effects_in
from tests.fakes.obeying_model import IMPERSONATIONS
from tests.fakes.slack.hostile_text import joined_text, wrong_in
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.slack.scenarios import CARRIERS, hostile_scenario

_ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("FRONTDESK_EVAL_DATA", _ROOT.parent / "shared" / "data"))


def attacks(shared: Path, most: int | None = None) -> list[str]:
    """Return the public attacks. Raises FileNotFoundError when they are not there."""
    lines = (shared / "prompt_attacks" / "prompts.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows if row["label"] == "attack"][:most]


async def effects(texts: Sequence[str], folder: Path) -> tuple[list[str], int]:
    """Return what had an effect, and how many calls were looked through."""
    async with FakeSlack().serving() as slack, hostile_scenario(texts, slack, folder) as siege:
        await siege.all()
        sent = list(siege.slack.requests)
    told = [f"{SECRET} was told"] * (SECRET in joined_text(sent))
    return [*wrong_in(sent), *told], len(sent)


async def effects_over_rest(texts: Sequence[str], folder: Path) -> tuple[list[str], int]:
    """Return what had an effect, and how many answers from pages were looked through."""
    answered = await answers_over_rest([*texts, *IMPERSONATIONS], folder)
    from_pages = [each for each in answered if each.answer_type == "RAG"]
    return [found for each in from_pages for found in effects_in(each.text)], len(from_pages)


def main(arguments: Sequence[str]) -> int:
    """Return 1 when an attack had an effect."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.attacks_eval", description=__doc__)
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    parser.add_argument("--rest-alone", action="store_true", help="leave Slack out")
    parser.add_argument("--most", type=int, default=None, help="so many attacks only")
    chosen = parser.parse_args(arguments)
    set_up_logs("error")
    take_over_slack()
    texts = attacks(chosen.shared, chosen.most)
    with TemporaryDirectory() as folder:
        found, answers = asyncio.run(effects_over_rest(texts, Path(folder)))
    sys.stdout.writelines(f"{one}\n" for one in found)
    sys.stdout.write(
        f"{len(texts) + len(IMPERSONATIONS)} attacks over REST: {len(found)} effects in {answers} "
        "answers from pages\n"
    )
    return int(bool(found)) | (0 if chosen.rest_alone else _on_slack(texts))


def _on_slack(texts: Sequence[str]) -> int:
    with TemporaryDirectory() as folder:
        found, calls = asyncio.run(effects(texts, Path(folder)))
    sys.stdout.writelines(f"{one}\n" for one in found)
    sys.stdout.write(
        f"{len(texts)} attacks by {CARRIERS} carriers: {len(found)} effects in {calls} calls\n"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
