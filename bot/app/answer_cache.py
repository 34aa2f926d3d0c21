"""Build the answer cache, with a digest of everything in this process that answers depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import date
from pathlib import Path

import bot.answering
import prompts
import rag
from bot.answering.answer_cache import AnswerCache, SavedAnswers
from bot.answering.cache_keys import CacheKeys, digest
from bot.answering.gate import Gate
from bot.domain.ports import RechecksPermissions
from bot.domain.settings import Settings
from rag.ports import Embedder, SearchIndex

OF_THE_PROCESS = frozenset({"host", "port", "data_dir", "cache_dir"})
"""The settings in which processes differ that answer alike; all others count."""

_CODE = (prompts, rag, bot.answering)
"""The packages of which every file counts: prompts, composing, checks, guardrails and the gate."""


def build_answer_cache(
    settings: Settings,
    saved: SavedAnswers | None,
    index: SearchIndex,
    *,
    embedder: Embedder | None,
    gate: Gate,
    gate_file: Path,
    recheck: RechecksPermissions | None,
    today: Callable[[], date],
    superseded: Collection[str],
) -> AnswerCache | None:
    """Return the answer cache; None if it is not switched on, or without a record."""
    if saved is None or not settings.answer_cache:
        return None
    basis = answer_basis(settings, embedder.name if embedder else "", gate_file, superseded)
    return AnswerCache(
        saved,
        CacheKeys(index, gate, basis=basis, today=today),
        index,
        hours=settings.answer_cache_hours,
        embeds=embedder is not None,
        recheck=recheck,
    )


def answer_basis(
    settings: Settings, embedder: str, gate_file: Path, superseded: Collection[str]
) -> str:
    """Return a digest of what an answer depends on, whoever asks whatever: see OF_THE_PROCESS.

    It reads the code of answering, about a megabyte: once a process.
    """
    return digest(
        settings.model_dump(mode="python", exclude=set(OF_THE_PROCESS)),
        embedder,
        frozenset(superseded),
        gate_file.read_text("utf-8"),
        list(_code()),
    )


def _code() -> Iterator[str]:
    """Yield the digests of the files that answers are made with, in the same order everywhere."""
    for package in _CODE:
        (folder,) = map(Path, package.__path__)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                yield digest(file.relative_to(folder).as_posix(), file.read_bytes().hex())
