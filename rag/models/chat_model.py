"""Chat model on any server with OpenAI's chat completions API, and a traced wrapper.

JSON schemas for structured outputs are reduced to those that servers accept in strict mode. An
answer that does not match is sent back once, with the validation errors.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from pydantic import BaseModel, ValidationError

from rag import telemetry
from rag.errors import ModelAnswerInvalid, ModelUnavailable, RagError
from rag.models.chat_transport import CallTally, ChatTransport, Exchange, model_call
from rag.models.client import (
    CHAT_SETTINGS,
    Connection,
    Endpoint,
    SettingNames,
    connect,
    is_azure,
)
from rag.models.protocol import ChatReply, Dialect, Prices, ReasoningEffort, WantedShape
from rag.ports import ChatMessage, ChatModel, Completion, Prompt, Shape, Structured, ToolCall
from rag.retrying import (
    MOST_CALLS,
    Deadline,
    RetryPolicy,
    limited_call,
    question_call,
    question_calls_left,
)
from rag.telemetry import Attributes, counting, describe, span
from rag.types import FilterVerdict, ModelCall

_NOT_IN_STRICT_MODE = frozenset(
    {"default", "title", "minLength", "maxLength", "format", "minItems", "maxItems", "uniqueItems"}
)
"""JSON-schema keywords that servers reject in strict mode."""
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_REPORTED_ERRORS = 5


def wanted_shape(shape: type[BaseModel]) -> WantedShape:
    """Return the shape's schema for strict mode: every property required, no others allowed.

    Keywords that strict mode rejects are left out; pydantic validates them on the answer.
    """
    schema = _strict(shape.model_json_schema())
    return WantedShape(shape.__name__, schema if isinstance(schema, dict) else {})


def read_shape(text: str, shape: type[Shape]) -> tuple[Shape | None, str]:
    """Parse an answer: return (value, "") or (None, the errors, without the answer's values)."""
    match = _FENCED.match(text)
    try:
        return shape.model_validate_json(match[1] if match else text), ""
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False, include_context=False)
        problems = [
            f"{'.'.join(map(str, item['loc'])) or 'the answer'}: {item['msg']}"
            for item in details[:_REPORTED_ERRORS]
        ]
        return None, "; ".join(problems)


def _strict(node: object) -> object:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _strict_members(value) if key in {"properties", "$defs"} else _strict(value)
        for key, value in node.items()
        if key not in _NOT_IN_STRICT_MODE
    }
    if kept.get("type") == "object":
        properties = kept.get("properties")
        kept["required"] = list(properties) if isinstance(properties, dict) else []
        kept["additionalProperties"] = False
    return kept


def _strict_members(members: object) -> object:
    """Convert a mapping of names to schemas; a name may equal a keyword (property ``title``)."""
    if not isinstance(members, Mapping):
        return members
    return {name: _strict(member) for name, member in members.items()}


_LONGEST_REPEATED = 8000
"""The most characters of an invalid answer that are sent back."""


def refusal_of(exchange: Exchange) -> str | None:
    """Return the refusal of the model or its content filter; None if neither declined."""
    if exchange.reply is None or exchange.reply.finish_reason == "content_filter":
        return _filter_words(exchange.filters)
    return exchange.reply.choice.message.refusal or None


def problem_of(reply: ChatReply, max_output_tokens: int) -> str:
    """Return the error of an answer truncated at the output limit, or ""."""
    if reply.finish_reason == "length":
        return f"it was cut off at the limit of {max_output_tokens} tokens; be much shorter"
    return ""


def repair_messages(
    asked: Sequence[ChatMessage], text: str, problem: str
) -> tuple[ChatMessage, ...]:
    """Return the messages that repeat a request with the invalid answer and its error."""
    wrong = (ChatMessage("assistant", text[:_LONGEST_REPEATED]),) if text.strip() else ()
    request = (
        f"That answer cannot be used: {problem}. Answer the same question again, in exactly the "
        "form asked for, with nothing before or after it."
    )
    return (*asked, *wrong, ChatMessage("user", request))


def _filter_words(filters: Sequence[FilterVerdict]) -> str:
    categories = sorted({verdict.category for verdict in filters if verdict.filtered})
    return f"Stopped by the content filter ({', '.join(categories)})."


Value = TypeVar("Value")
Reader = Callable[[ChatReply], tuple[Value | None, str]]
"""Parses a reply: returns (value, "") or (None, the error)."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model, server, deadline and retries of a chat model.

    Args:
        model: the model's name at its server; on Azure the deployment's.
        base_url: the URL before ``/chat/completions``; None for OpenAI itself.
        api_key: None for servers without keys, and on Azure to use the process's identity.
        timeout_seconds: deadline of one call with all its retries and its repair; within
            `rag.retrying.question_limits` what is left of the question's, if that is less.
        retry: the retry policy.
        reasoning_effort: None asks reasoning models for the least that they accept.
        prices: what the server charges; None looks it up.
        name: what the operator calls it; "" is the server's name of it.
        names: the settings to name in error messages.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 20.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    reasoning_effort: ReasoningEffort | None = None
    prices: Prices | None = None
    name: str = ""
    names: SettingNames = CHAT_SETTINGS


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[Value]):
    """The outcome of a call; ``value`` is None exactly when ``refusal`` is not."""

    value: Value | None
    refusal: str | None
    call: ModelCall


class OpenAICompatibleModel:
    """Calls a model with OpenAI's chat completions. Implements `ChatModel`.

    Created by ``open_model``; the owner calls ``close``. A refusal by the model or a content
    filter is returned, not raised.
    """

    def __init__(
        self,
        transport: ChatTransport,
        timeout_seconds: float,
        connection: Connection,
    ) -> None:
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._connection = connection

    @property
    def name(self) -> str:
        return self._transport.name

    async def complete(self, prompt: Prompt) -> Completion:
        read = _read_text_or_tools if prompt.tools else _read_text
        outcome = await self._converse(prompt, None, read)
        if outcome.value is None:
            return Completion(outcome.refusal or "", outcome.call, refused=True)
        text, tool_calls = outcome.value
        return Completion(text, outcome.call, tool_calls=tool_calls)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        outcome = await self._converse(
            prompt, wanted_shape(shape), lambda reply: read_shape(reply.text, shape)
        )
        return Structured(outcome.value, outcome.call, outcome.refusal)

    async def close(self) -> None:
        """Close the client, and the credential created for it."""
        await self._connection.close()

    async def _converse(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value]
    ) -> _Outcome[Value]:
        started, tally = time.perf_counter(), CallTally()
        try:
            with limited_call(self._timeout_seconds) as deadline:
                value, refusal = await self._in_time(prompt, shape, read, deadline, tally)
        except RagError as error:
            error.calls = (self._call(prompt, tally, started),) if tally.counted else ()
            raise
        return _Outcome(value, refusal, self._call(prompt, tally, started))

    async def _in_time(
        self,
        prompt: Prompt,
        shape: WantedShape | None,
        read: Reader[Value],
        deadline: Deadline,
        tally: CallTally,
    ) -> tuple[Value | None, str | None]:
        try:
            async with asyncio.timeout(deadline.seconds):
                return await self._ask_twice_at_most(prompt, shape, read, deadline, tally)
        except TimeoutError:
            raise ModelUnavailable(
                f"The model {self.name!r} did not answer within the {deadline.seconds:.3g} "
                f"seconds left of {self._timeout_seconds:g} for a question; raise "
                f"{self._transport.names.timeout} or choose a faster model."
            ) from None

    def _call(self, prompt: Prompt, tally: CallTally, started: float) -> ModelCall:
        return model_call(
            prompt,
            tally,
            model=self._transport.model,
            name=self._transport.given_name,
            price=self._transport.price,
            duration_ms=(time.perf_counter() - started) * 1000,
        )

    async def _ask_twice_at_most(
        self,
        prompt: Prompt,
        shape: WantedShape | None,
        read: Reader[Value],
        deadline: Deadline,
        tally: CallTally,
    ) -> tuple[Value | None, str | None]:
        """Ask, and once more with the error. Raises ModelAnswerInvalid if both answers fail.

        There is no second time for a prompt without repairs, or when the question's calls are used
        up; when they are before the first, raises ModelUnavailable.
        """
        messages, problem = prompt.messages, ""
        if not question_calls_left():
            raise ModelUnavailable(
                f"The model {self.name!r} was not asked {prompt.id!r}: its question has used up "
                f"the {MOST_CALLS} answers that one may take."
            )
        for _ in range(1 + prompt.repairs):
            if not question_calls_left():
                break
            with question_call():
                exchange = await self._transport.ask(prompt, messages, shape, deadline, tally)
            refusal = refusal_of(exchange)
            if exchange.reply is None or refusal is not None:
                return None, refusal or ""
            value, problem = read(exchange.reply)
            problem = problem_of(exchange.reply, prompt.max_output_tokens) or problem
            if value is not None and not problem:
                return value, None
            messages = repair_messages(prompt.messages, exchange.reply.text, problem)
        raise ModelAnswerInvalid(
            f"The model {self.name!r} gave no usable answer to {prompt.id!r} "
            f"({problem}); raise max_output_tokens in the prompt file if it was cut off, else "
            "choose a model that follows JSON schemas."
        )


def open_model(
    settings: ModelSettings, credential: AsyncTokenCredential | None = None
) -> OpenAICompatibleModel:
    """Open a chat model; nothing is sent yet.

    ``credential`` is an identity to use when there is no key (rag.models.client.connect).
    Raises ModelUnavailable if the settings are invalid, naming the one to change.
    """
    endpoint = Endpoint(settings.base_url, settings.api_key, settings.names)
    connection = connect(endpoint, settings.timeout_seconds, credential)
    dialect = Dialect(
        "max_completion_tokens" if endpoint.is_vendor else "max_tokens",
        effort=settings.reasoning_effort,
    )
    transport = ChatTransport(
        connection.client,
        settings.model,
        dialect,
        settings.retry,
        name=settings.name,
        names=settings.names,
        prices=settings.prices,
    )
    return OpenAICompatibleModel(transport, settings.timeout_seconds, connection)


_Message = tuple[str, tuple[ToolCall, ...]]


def _read_text(reply: ChatReply) -> tuple[_Message | None, str]:
    text = reply.text.strip()
    return ((text, ()), "") if text else (None, "the answer is empty")


def _read_text_or_tools(reply: ChatReply) -> tuple[_Message | None, str]:
    return (reply.text.strip(), reply.choice.message.called_tools()), ""


_OPENAI = "api.openai.com"


class TracedModel:
    """Records a span for each call of another chat model. Implements `ChatModel`.

    Args:
        model: the model to call.
        base_url: its server, for the span; None for OpenAI itself.
        requested: its server's name of it, for the span; "" where that is the model's own.
    """

    def __init__(
        self, model: ChatModel, base_url: str | None = None, *, requested: str = ""
    ) -> None:
        self._model = model
        self._requested = requested or model.name
        address = base_url or f"https://{_OPENAI}"
        self._host = urlsplit(address).hostname or ""
        self._provider = provider_name(address)

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Completion:
        with (
            span(telemetry.GENERATION, self._asked(prompt), kind="client") as current,
            counting(current),
        ):
            completion = await self._model.complete(prompt)
            describe(current, telemetry.of_call(completion.call))
            describe(current, {telemetry.REFUSED: completion.refused})
            return completion

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        with (
            span(telemetry.GENERATION, self._asked(prompt), kind="client") as current,
            counting(current),
        ):
            answered = await self._model.structured(prompt, shape)
            describe(current, telemetry.of_call(answered.call))
            describe(current, {telemetry.REFUSED: answered.value is None})
            return answered

    def _asked(self, prompt: Prompt) -> Attributes:
        return {
            telemetry.OPERATION_NAME: "chat",
            telemetry.PROVIDER_NAME: self._provider,
            telemetry.SERVER_ADDRESS: self._host,
            telemetry.REQUEST_MODEL: self._requested,
            telemetry.MODEL_NAME: self._model.name,
            **telemetry.of_prompt(prompt.id),
        }


def provider_name(address: str) -> str:
    """Return OpenTelemetry's name of a server's provider, or the host if there is none."""
    host = urlsplit(address).hostname or ""
    if is_azure(address):
        return "azure.ai.openai"
    return "openai" if host == _OPENAI or host.endswith(f".{_OPENAI}") else host
