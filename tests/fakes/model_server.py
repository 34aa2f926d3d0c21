"""Chat and embedding servers of OpenAI's protocol on 127.0.0.1 that misbehave on demand."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
from aiohttp import web
from pydantic import BaseModel, Field

from rag.models.chat_model import ModelSettings, OpenAICompatibleModel, open_model
from rag.models.client import Endpoint, SettingNames
from rag.models.openai_embedder import (
    EmbedderSettings,
    OpenAIEmbedder,
    RetryBudget,
    open_openai_embedder,
)
from rag.models.protocol import ReasoningEffort
from rag.ports import ChatMessage, Prompt
from rag.retrying import RetryPolicy
from tests.fakes.rag_ports import understood

KEY = "sk-right-0123456789"

Answer = Callable[[web.Request, dict[str, object]], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request, as it arrived."""

    path: str
    authorization: str
    body: dict[str, object]

    @property
    def roles(self) -> list[str]:
        messages = self.body["messages"]
        assert isinstance(messages, list)
        return [message["role"] for message in messages]

    @property
    def format(self) -> str:
        wanted = self.body.get("response_format")
        return str(wanted["type"]) if isinstance(wanted, dict) else "text"


@dataclass
class OpenAIServer:
    """Gives the scripted answers in order, the last one for ever; remembers what it was asked.

    A request with another key than ``key`` is answered 401, and the answer repeats that key, as
    some proxies do.
    """

    answers: list[Answer] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    key: str = KEY
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        body = await request.json()
        self.seen.append(Seen(request.path, authorization, body))
        if authorization != f"Bearer {self.key}":
            return failure(401, f"Incorrect API key provided: {authorization}")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request, body)


@asynccontextmanager
async def openai_server(*answers: Answer) -> AsyncIterator[OpenAIServer]:
    """Serve the answers at ``url`` until the block ends."""
    server = OpenAIServer(list(answers))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/v1/"
    try:
        yield server
    finally:
        await runner.cleanup()


def completion(content: str | None, **changes: object) -> dict[str, object]:
    """The JSON of a good answer; ``changes`` go into its choice, ``top`` into its top level."""
    top = changes.pop("top", {})
    assert isinstance(top, dict)
    message = {"role": "assistant", "content": content, "refusal": changes.pop("refusal", None)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [choice],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        **top,
    }


def says(content: str | None, **changes: object) -> Answer:
    """Answer properly."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        return web.json_response(completion(content, **changes))

    return answer


def calls_tool(*arguments: object, name: str = "search_wiki", **changes: object) -> Answer:
    """Answer with a call of a tool for each of the arguments; text is sent as it is."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in arguments]
    tool_calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, text in enumerate(texts, 1)
    ]
    return says_tools(tool_calls, **changes)


def says_tools(tool_calls: object, **changes: object) -> Answer:
    """Answer with any value where tool calls belong."""
    message = {"role": "assistant", "content": None, "tool_calls": tool_calls}
    return says(None, **{"message": message, "finish_reason": "tool_calls", **changes})


def failure(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error as the protocol writes it."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status, headers=headers)


def fails(status: int, headers: dict[str, str] | None = None, **error: object) -> Answer:
    """Answer with an error."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        if not error:
            return failure(status, "broken", headers)
        return web.json_response({"error": {"message": "", **error}}, status=status)

    return answer


def sends(body: bytes, content_type: str = "application/json") -> Answer:
    """Answer 200 with any bytes."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        return web.Response(body=body, content_type=content_type)

    return answer


def slowly(seconds: float, then: Answer) -> Answer:
    """Answer late."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, body)

    return answer


async def resets(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
    """Drop the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cuts(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
    """Promise a whole body and send half of it."""
    body = json.dumps(completion("whole")).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


def redirects(target: str) -> Answer:
    """Send the caller elsewhere."""

    async def answer(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect(target)

    return answer


def floods(size: int) -> Answer:
    """Send ``size`` bytes of answer, in pieces."""

    async def answer(request: web.Request, _: dict[str, object]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _piece in range(size // 65536):
            await response.write(b" " * 65536)
        return response

    return answer


def rejects(field_name: str, message: str, otherwise: Answer, value: object = None) -> Answer:
    """Answer 400 while the request has a field (with a value), else properly."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        given = body.get(field_name)
        kind = given.get("type") if isinstance(given, dict) else given
        if field_name in body and value in (None, kind):
            error = {"message": message, "type": "invalid_request_error", "code": None}
            return web.json_response({"error": {**error, "param": field_name}}, status=400)
        return await otherwise(request, body)

    return answer


QUICK_RETRIES = RetryPolicy(
    attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.02, jitter_seconds=0.01
)

DAYS_PROMPT = Prompt(
    id="answer@1",
    messages=(ChatMessage("system", "Be brief."), ChatMessage("user", "How many days?")),
)

DAYS_REPLY = '{"days": 25, "why": null}'


class Days(BaseModel):
    days: int = Field(ge=0)
    why: str | None = None


@asynccontextmanager
async def open_test_model(
    *answers: Answer,
    timeout_seconds: float = 5,
    api_key: str | None = KEY,
    reasoning_effort: ReasoningEffort | None = None,
) -> AsyncIterator[tuple[OpenAICompatibleModel, OpenAIServer]]:
    async with openai_server(*answers) as server:
        settings = ModelSettings(
            model="gpt-4o-mini",
            base_url=server.url,
            api_key=api_key,
            timeout_seconds=timeout_seconds,
            retry=QUICK_RETRIES,
            reasoning_effort=reasoning_effort,
        )
        model = open_model(settings)
        try:
            yield model, server
        finally:
            await model.close()


VECTOR_LENGTH = 8
SETTING_NAMES = SettingNames("EMBEDDING_MODEL", "EMBEDDING_BASE_URL", "EMBEDDING_API_KEY")
SMALL_MODEL = "text-embedding-3-small"

ReplyChange = Callable[[dict[str, object]], object]


def vector_of(text: str, length: int = VECTOR_LENGTH) -> list[float]:
    """Return the vector that the server has for a text, of any length but one."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte - 127.5 for byte in digest[:length]]


def unit(numbers: Sequence[float]) -> list[float]:
    """Return a vector's direction."""
    array = np.asarray(numbers, dtype=np.float64)
    return [float(number) for number in array / np.linalg.norm(array)]


def texts_of(body: dict[str, object]) -> list[str]:
    """Return the texts of a request."""
    texts = body["input"]
    assert isinstance(texts, list)
    return texts


def reply_to(body: dict[str, object], length: int = VECTOR_LENGTH) -> dict[str, object]:
    """The JSON of a good answer: as it was asked for, in reverse order, three tokens a text."""
    rows: list[dict[str, object]] = []
    for index, text in enumerate(texts_of(body)):
        vector = vector_of(text, length)
        encoded = base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
        wanted = encoded if body.get("encoding_format") == "base64" else vector
        rows.insert(0, {"object": "embedding", "index": index, "embedding": wanted})
    usage = {"prompt_tokens": 3 * len(rows), "total_tokens": 3 * len(rows)}
    return {"object": "list", "data": rows, "model": SMALL_MODEL, "usage": usage}


def embeds(length: int | None = None, *, changed: ReplyChange | None = None) -> Answer:
    """Answer properly, with vectors as long as was asked for, else as ``length`` says.

    ``changed`` makes the answer what it should not be.
    """

    async def answer(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
        wanted = body.get("dimensions", VECTOR_LENGTH)
        assert isinstance(wanted, int)
        reply = reply_to(body, length or wanted)
        if changed is not None:
            changed(reply)
        return web.Response(text=json.dumps(reply), content_type="application/json")

    return answer


def refuses(
    when: Callable[[dict[str, object]], bool], message: str, otherwise: Answer, status: int = 400
) -> Answer:
    """Answer with an error where ``when`` holds of a request, else properly."""

    async def answer(request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        if when(body):
            error = {"message": message, "type": "invalid_request_error", "code": None}
            return web.json_response({"error": error}, status=status)
        return await otherwise(request, body)

    return answer


@asynccontextmanager
async def open_test_embedder(
    *answers: Answer, seconds: float = 5.0, **changes: object
) -> AsyncIterator[tuple[OpenAIEmbedder, OpenAIServer]]:
    """Open an embedder of vectors of LENGTH numbers that asks a server with these answers."""
    async with openai_server(*answers) as server:
        settings = EmbedderSettings(
            **{
                "model": "small",
                "endpoint": Endpoint(server.url, KEY, SETTING_NAMES),
                "dimensions": VECTOR_LENGTH,
                "queries": RetryBudget(seconds, QUICK_RETRIES),
                "texts": RetryBudget(seconds, QUICK_RETRIES),
                **changes,
            }  # type: ignore[arg-type]  # a test says what it changes
        )
        embedder = await open_openai_embedder(settings)
        try:
            yield embedder, server
        finally:
            await embedder.close()


_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def answer_part(text: str, *lines: int, kind: str = "paragraph") -> dict[str, object]:
    """Return one part of an answer."""
    return {"lines": list(lines), "kind": kind, "text": text}


def answer_json(*parts: dict[str, object], **changes: object) -> str:
    """Return a whole answer, in the order of its fields."""
    whole = {
        "reading": None,
        "parts": list(parts),
        "conflict": False,
        "missing": None,
        "certainty": "high",
        "answerable": bool(parts),
    }
    return json.dumps(whole | changes)


def line_of(prompt: str, words: str) -> int:
    """Return the number of the first line that has these words; 0 when none has."""
    return next((int(number) for number, text in _LINE.findall(prompt) if words in text), 0)


def answer_citing(prompt: str, stated: Sequence[tuple[str, str]], **changes: object) -> str:
    """Return an answer of (text, words of the line that it cites)."""
    parts = [answer_part(text, line_of(prompt, words)) for text, words in stated]
    return answer_json(*parts, **changes)


def replies_citing(*stated: tuple[str, str], **changes: object) -> Answer:
    """Answer a request with passages so; any other is taken for one to understand a message."""

    async def answer(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
        messages = body["messages"]
        assert isinstance(messages, list)
        prompt = str(messages[-1]["content"])
        said = answer_citing(prompt, stated, **changes)
        said = said if "<<passages" in prompt else understood()
        return web.json_response(completion(said))

    return answer
