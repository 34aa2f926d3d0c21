"""Measures the router on labelled messages: ``python -m tests.evals.router_eval``.

Runs without a model, so a message that would be put to one shows as UNKNOWN by default. Sets that
are absent are skipped. Phrases that occur among the seeds word for word are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.answering.routing.classifier_training import load_seeds, normalized_seeds
from bot.answering.routing.intent_classifier import load_classifier
from bot.answering.routing.languages import LanguageDetector
from bot.answering.routing.message_text import normalized
from bot.answering.routing.router import Router
from bot.domain.interactions import Route
from bot.domain.messages import Intent
from rag.embedding import word_test
from rag.models.local_embedder import open_local_embedder
from rag.ports import Embedder
from rag.types import Turn, Vectors

SHARED = Path("../shared/data")
SAMPLE = Path(__file__).parents[2] / "infra/sample/questions.jsonl"

LOOKED_UP = frozenset({Intent.DOMAIN, Intent.UNKNOWN})
_BY_KIND = {"generic": frozenset({Intent.GENERIC}), "human": frozenset({Intent.HUMAN})}
_RASA = {
    **dict.fromkeys(("greet", "goodbye", "thank", "bot_challenge", "help"), Intent.GENERIC),
    **dict.fromkeys(("password_reset", "problem_email", "incident_status"), Intent.DOMAIN),
    "human_handoff": Intent.HUMAN,
    "open_incident": Intent.HUMAN,
}
_CLINC_GENERIC = frozenset({"calculator", "definition", "spelling", "measurement_conversion"})


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message, and the routes that are right for it."""

    kind: str
    text: str
    right: frozenset[Intent]
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Routed:
    """What became of a labelled message; ``own_ms`` leaves the embedding out."""

    message: Labelled
    route: Route
    own_ms: float

    @property
    def right(self) -> bool:
        return self.route.intent in self.message.right

    @property
    def asks_model(self) -> bool:
        return self.route.decided_by == "default"

    @property
    def costly(self) -> bool:
        """Whether a question for the pages never touches them."""
        looked_up = bool(self.message.right & LOOKED_UP)
        return looked_up and self.route.intent is Intent.GENERIC


class TimedEmbedder:
    """An embedder that counts its own milliseconds, so that they can be left out."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.milliseconds = 0.0

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(texts)

    async def embed_query(self, text: str) -> Vectors:
        started = time.perf_counter()
        vector = await self._embedder.embed_query(text)
        self.milliseconds += (time.perf_counter() - started) * 1000
        return vector


def questions(path: Path) -> Iterator[Labelled]:
    """Read questions in the format of ``python -m bot evaluate``."""
    for entry in _lines(path):
        kind = str(entry["kind"])
        turns = entry.get("history") or []
        history = tuple(Turn(turn["role"], turn["text"]) for turn in turns)
        yield Labelled(kind, str(entry["question"]), _BY_KIND.get(kind, LOOKED_UP), history)


def rasa(path: Path) -> Iterator[Labelled]:
    for entry in _lines(path):
        intent = _RASA.get(entry["intent"])
        if intent is not None:
            yield Labelled(entry["intent"], entry["text"], _right(intent))


def chitchat(path: Path) -> Iterator[Labelled]:
    for entry in _lines(path):
        for text in entry["questions"]:
            if not text.startswith("editorial ="):
                yield Labelled("chitchat", text, _right(Intent.GENERIC))


def clinc(folder: Path) -> Iterator[Labelled]:
    """Read the intents whose route is beyond doubt, from the validation part."""
    domains = json.loads((folder / "domains.json").read_text("utf-8"))
    work, chat = frozenset(domains["work"]), frozenset(domains["small_talk"])
    for text, intent in json.loads((folder / "dev.json").read_text("utf-8"))["val"]:
        if intent in work:
            yield Labelled("work", text, LOOKED_UP)
        elif intent in chat:
            yield Labelled("small_talk", text, _right(Intent.GENERIC))
        elif intent in _CLINC_GENERIC:
            yield Labelled("knowledge", text, _right(Intent.GENERIC))


def collected(shared: Path) -> dict[str, list[Labelled]]:
    """Read every set that is there."""
    sources = {
        "sample": (SAMPLE, questions),
        "kb_18f_handbook": (shared / "kb_18f_handbook/questions.jsonl", questions),
        "rasa_helpdesk": (shared / "rasa_helpdesk/utterances.jsonl", rasa),
        "ms_chitchat": (shared / "ms_chitchat/chitchat_professional.jsonl", chitchat),
        "clinc150": (shared / "clinc150", clinc),
    }
    seeds = normalized_seeds(load_seeds())
    return {
        name: [item for item in read(path) if normalized(item.text) not in seeds]
        for name, (path, read) in sources.items()
        if path.exists()
    }


async def routed(
    router: Router, embedder: TimedEmbedder, messages: Sequence[Labelled]
) -> list[Routed]:
    results = []
    for message in messages:
        embedding, started = embedder.milliseconds, time.perf_counter()
        route = await router.route(message.text, message.history)
        passed = (time.perf_counter() - started) * 1000
        results.append(Routed(message, route, passed - (embedder.milliseconds - embedding)))
    return results


def table(name: str, results: Sequence[Routed]) -> list[str]:
    """Return one line a kind: how many, right, each route, and what a model would be asked."""
    kinds = dict.fromkeys(result.message.kind for result in results)
    return [
        f"\n{name}",
        _row("kind", "n", "right", *Intent, "to a model", "costly"),
        *(_summary(kind, [r for r in results if r.message.kind == kind]) for kind in kinds),
        _summary("all", results),
    ]


def _summary(kind: str, results: Sequence[Routed]) -> str:
    intents = Counter(result.route.intent for result in results)
    return _row(
        kind,
        len(results),
        _share(sum(result.right for result in results), len(results)),
        *(intents[intent] for intent in Intent),
        _share(sum(result.asks_model for result in results), len(results)),
        sum(result.costly for result in results),
    )


def _row(*cells: object) -> str:
    first, *rest = map(str, cells)
    return f"{first:<16}" + "".join(f"{cell:>11}" for cell in rest)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def _right(intent: Intent) -> frozenset[Intent]:
    return LOOKED_UP if intent in LOOKED_UP else frozenset({intent})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


async def _measure(shared: Path) -> list[str]:
    inner = await open_local_embedder()
    embedder = TimedEmbedder(inner)
    router = Router(
        embedder, load_classifier(), None, detector=LanguageDetector("en", word_test(inner))
    )
    lines, own = [], []
    for name, messages in collected(shared).items():
        results = await routed(router, embedder, messages)
        own += [result.own_ms for result in results]
        lines += table(name, results)
    inner.close()
    centiles = statistics.quantiles(own, n=100)
    return [*lines, f"\nown decision: p50 {centiles[49]:.2f} ms, p95 {centiles[94]:.2f} ms"]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evals.router_eval", description=__doc__)
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the public sets")
    chosen = parser.parse_args(arguments)
    sys.stdout.write("\n".join(asyncio.run(_measure(chosen.shared))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
