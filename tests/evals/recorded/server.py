"""Replay recorded replies over OpenAI's protocol, from files of one set each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

REPLIES = Path(__file__).with_name("replies")

PromptKind = Literal["answer", "short"]
"""answer: asks for a structured answer from passages; short: understands, or makes talk."""


class Recorded(BaseModel):
    """One reply; ``reply`` is the content of the model's message, as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    date: date
    reply: str = Field(min_length=1)


class KeptPrompt(BaseModel):
    """A prompt that waits for its reply: all that whoever writes the reply may see.

    With ``tools``, the reply may be lines that call them instead of a text (see ``CALLS``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    kind: PromptKind
    messages: list[dict[str, object]]
    json_schema: dict[str, object] | None = None
    tools: list[dict[str, object]] | None = None


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


MODEL = "recorded"
NOT_RECORDED = "No reply is recorded for this prompt."

CALLS = "CALL "
"""How each line of a reply begins that calls a tool: ``CALL name {"argument": …}``."""

_LARGEST_REQUEST = 16 * 1024 * 1024
_CHARACTERS_A_TOKEN = 4


class Replay:
    """Answers prompts of one set from its recorded replies, and counts.

    A prompt without a reply is declined, which every caller takes for an outcome, so that the
    question goes on. What is asked after that in the same question may not be what would have
    been asked: only its first missing prompt is kept (``next_question`` begins another one).

    Args:
        name: the set's name.
        replies: the replies by key.
        prompts: where prompts without a reply are kept; None keeps none.
    """

    def __init__(self, name: str, replies: Mapping[str, Recorded], prompts: Path | None) -> None:
        self._name = name
        self._replies = replies
        self._prompts = prompts
        self._astray = False
        self.used: dict[str, PromptKind] = {}
        self.missing: dict[str, PromptKind] = {}
        self.answer: str | None = None
        """The last recorded reply to a question from passages, since the question began."""

    def next_question(self) -> None:
        """Begin another question: its first missing prompt is one to be recorded."""
        self._astray = False
        self.answer = None

    def count(self, kind: PromptKind) -> int:
        """Return how many different prompts of a kind were answered."""
        return sum(each == kind for each in self.used.values())

    @property
    def dates(self) -> tuple[date, date] | None:
        """The first and the last day on which the replies that were used were written."""
        days = sorted(self._replies[key].date for key in self.used)
        return (days[0], days[-1]) if days else None

    async def chat(self, request: web.Request) -> web.Response:
        """Answer ``POST /v1/chat/completions``."""
        body = await request.json()
        messages = body["messages"]
        wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        kind: PromptKind = "answer" if "parts" in (wanted or {}).get("properties", {}) else "short"
        key = key_of(messages, wanted)
        recorded = self._replies.get(key)
        if recorded is not None:
            self.used[key] = kind
            self.answer = recorded.reply if kind == "answer" else self.answer
        else:
            self._miss(
                KeptPrompt(
                    key=key,
                    kind=kind,
                    messages=messages,
                    json_schema=wanted,
                    tools=body.get("tools"),
                )
            )
        reply = recorded.reply if recorded else None
        return web.json_response(_completion(key, body["model"], messages, reply))

    def _miss(self, prompt: KeptPrompt) -> None:
        if self._astray:
            return
        self._astray = True
        self.missing[prompt.key] = prompt.kind
        if self._prompts is not None:
            keep_prompt(self._name, prompt, self._prompts)


@asynccontextmanager
async def replaying(replay: Replay) -> AsyncIterator[str]:
    """Serve on a free port of this machine; yields the base URL for OPENAI_BASE_URL."""
    app = web.Application(client_max_size=_LARGEST_REQUEST)
    app.router.add_post("/v1/chat/completions", replay.chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


def _tool_calls(lines: Sequence[str]) -> list[dict[str, object]]:
    calls = [line.removeprefix(CALLS).partition(" ") for line in lines if line.startswith(CALLS)]
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, _, arguments) in enumerate(calls, 1)
    ]


def _completion(
    key: str, model: str, messages: list[dict[str, object]], reply: str | None
) -> dict[str, object]:
    """Return a chat completion, declined without a reply; its tokens are counted roughly."""
    message: dict[str, object] = {"role": "assistant", "content": reply}
    if reply is None:
        message["refusal"] = NOT_RECORDED
    elif reply.startswith(CALLS):
        message |= {"content": None, "tool_calls": _tool_calls(reply.splitlines())}
    sent = sum(len(str(each["content"])) for each in messages) // _CHARACTERS_A_TOKEN
    written = len(reply or "") // _CHARACTERS_A_TOKEN
    return {
        "id": key,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": written,
            "total_tokens": sent + written,
        },
    }
