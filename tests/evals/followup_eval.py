"""Measures the rules for follow-ups: ``python -m tests.evals.followup_eval``.

Compares content-word stems of the result with those of a person's rewrite; "copy" leaves the
message as it is. Sets that are absent are skipped. TREC CAsT and CANARD chose the rules' numbers,
the 18F handbook only checks them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.answering.routing.conversation import dependence, with_missing_words
from rag.text.words import stems
from rag.types import Turn
from tests.evals.router_eval import SHARED

_TITLE_LINES = 2
"""CANARD begins each conversation with a page's title and heading."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A message in its conversation, and how a person would ask it alone."""

    history: tuple[Turn, ...]
    text: str
    standalone: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of the stems in a question and in the rewrite, each 0..1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def overlap(question: str, standalone: str) -> Overlap:
    """Compare two questions by their content words."""
    said, meant = set(stems(question)), set(stems(standalone))
    common = len(said & meant)
    return Overlap(common / len(said) if said else 0.0, common / len(meant) if meant else 1.0)


def by_rule(item: FollowUp) -> str:
    """Return what the router searches for when no model is configured."""
    leaning = dependence(item.text, item.history) == "leaning"
    return with_missing_words(item.text, item.history) if leaning else item.text


def cast(path: Path) -> Iterator[FollowUp]:
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        history = tuple(Turn("user", text) for text in entry["history"])
        yield FollowUp(history, entry["question"], entry["rewrite"])


def canard(path: Path) -> Iterator[FollowUp]:
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        title = Turn("user", " ".join(entry["history"][:_TITLE_LINES]))
        turns = enumerate(entry["history"][_TITLE_LINES:])
        said = (Turn("assistant" if number % 2 else "user", text) for number, text in turns)
        yield FollowUp((title, *said), entry["question"], entry["rewrite"])


def handbook(path: Path) -> Iterator[FollowUp]:
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        if entry["kind"] == "multi_turn":
            history = tuple(Turn(turn["role"], turn["text"]) for turn in entry["history"])
            yield FollowUp(history, entry["question"], entry["standalone"])


def report(name: str, items: Sequence[FollowUp]) -> str:
    """Return one line: copy and rules by precision, recall and F1, and new questions spoilt."""
    copied = [overlap(item.text, item.standalone) for item in items]
    ruled = [overlap(by_rule(item), item.standalone) for item in items]
    alone = [item for item in items if set(stems(item.text)) == set(stems(item.standalone))]
    spoilt = sum(set(stems(by_rule(item))) != set(stems(item.text)) for item in alone)
    return (
        f"{name:<18}{len(items):>6}   copy {_means(copied)}   rules {_means(ruled)}"
        f"   spoilt {spoilt} of {len(alone)} that stood alone"
    )


def _means(overlaps: Sequence[Overlap]) -> str:
    precision = statistics.mean(item.precision for item in overlaps)
    recall = statistics.mean(item.recall for item in overlaps)
    f1 = statistics.mean(item.f1 for item in overlaps)
    return f"P {precision:.3f} R {recall:.3f} F1 {f1:.3f}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.evals.followup_eval", description=__doc__
    )
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    shared: Path = parser.parse_args(arguments).shared
    sources = {
        "trec_cast_2019": (shared / "trec_cast_2019/rewrites.jsonl", cast),
        "canard_dev": (shared / "canard_dev/dev.jsonl", canard),
        "kb_18f_handbook": (shared / "kb_18f_handbook/questions.jsonl", handbook),
    }
    for name, (path, read) in sources.items():
        if path.exists():
            sys.stdout.write(report(name, [item for item in read(path) if item.history]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
