"""Recorded replies in files, one a set: sorted lines of key, date and reply, without the prompt."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

REPLIES = Path(__file__).with_name("replies")

PromptKind = Literal["answer", "short"]
"""answer: asks for a structured answer from passages; short: routes, rewrites or makes talk."""


class Recorded(BaseModel):
    """One reply; ``reply`` is the content of the model's message, as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    date: date
    reply: str = Field(min_length=1)


class KeptPrompt(BaseModel):
    """A prompt that waits for its reply: all that whoever writes the reply may see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    kind: PromptKind
    messages: list[dict[str, str]]
    json_schema: dict[str, object] | None = None


def key_of(messages: Sequence[object], json_schema: Mapping[str, object] | None) -> str:
    """Return what a reply is found by: a hash of the messages and of the wanted JSON's schema."""
    asked = json.dumps([messages, json_schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()[:20]


def load_replies(name: str, folder: Path = REPLIES) -> dict[str, Recorded]:
    """Return a set's replies by key; none where nothing is recorded yet."""
    path = _path(name, folder)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {each.key: each for each in map(Recorded.model_validate_json, lines)}


def save_replies(name: str, replies: Collection[Recorded], folder: Path = REPLIES) -> None:
    """Write a set's replies, sorted by key, so that a change is a few lines of difference."""
    lines = (f"{each.model_dump_json()}\n" for each in sorted(replies, key=lambda one: one.key))
    _path(name, folder).write_text("".join(lines), "utf-8")


def keep_prompt(name: str, prompt: KeptPrompt, folder: Path) -> None:
    """Write a prompt to ``folder/<set>/<key>.json``."""
    path = folder / file_name(name) / f"{prompt.key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(prompt.model_dump_json(indent=1) + "\n", "utf-8")


def import_replies(prompts: Path, written: Path, today: date, folder: Path = REPLIES) -> int:
    """Take ``<key>.txt`` files, anywhere below ``written``, into the sets their prompts are of.

    Returns how many were taken; a reply without a kept prompt is left alone, an empty one too.
    """
    taken = 0
    texts = {path.stem: path.read_text("utf-8").strip() for path in written.rglob("*.txt")}
    for of_set in (path for path in prompts.iterdir() if path.is_dir()):
        keys = {path.stem for path in of_set.glob("*.json")}
        new = [
            Recorded(key=key, date=today, reply=text)
            for key, text in texts.items()
            if text and key in keys
        ]
        known = load_replies(of_set.name, folder)
        save_replies(of_set.name, (known | {each.key: each for each in new}).values(), folder)
        taken += len(new)
    return taken


def file_name(name: str) -> str:
    """Return a set's name as a file's: ``sample company`` is ``sample-company``."""
    return re.sub(r"[^\w.]+", "-", name)


def _path(name: str, folder: Path) -> Path:
    return folder / f"{file_name(name)}.jsonl"
