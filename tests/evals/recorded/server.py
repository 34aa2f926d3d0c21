"""Replays recorded replies over OpenAI's protocol, and keeps the prompts that have none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

from aiohttp import web

from tests.evals.recorded.store import KeptPrompt, PromptKind, Recorded, keep_prompt, key_of

MODEL = "recorded"
NOT_RECORDED = "No reply is recorded for this prompt."

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
        kind: PromptKind = "answer" if wanted else "short"
        key = key_of(messages, wanted)
        recorded = self._replies.get(key)
        if recorded is not None:
            self.used[key] = kind
            self.answer = recorded.reply if kind == "answer" else self.answer
        else:
            self._miss(KeptPrompt(key=key, kind=kind, messages=messages, json_schema=wanted))
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


def _completion(
    key: str, model: str, messages: list[dict[str, str]], reply: str | None
) -> dict[str, object]:
    """Return a chat completion, declined without a reply; its tokens are counted roughly."""
    message = {"role": "assistant", "content": reply}
    if reply is None:
        message["refusal"] = NOT_RECORDED
    sent = sum(len(each["content"]) for each in messages) // _CHARACTERS_A_TOKEN
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
