"""A chat model behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from azure.core.credentials_async import AsyncTokenCredential

from rag.errors import ModelAnswerInvalid, ModelUnavailable, RagError
from rag.models.connecting import Connection, Endpoint, connect
from rag.models.dialect import Dialect, WantedShape
from rag.models.json_shape import read_shape, wanted_shape
from rag.models.recording import recorded
from rag.models.repair import problem_of, refusal_of, repair_messages
from rag.models.retrying import Deadline, RetryPolicy
from rag.models.transport import ChatTransport, Tally
from rag.ports import Completion, Prompt, Shape, Structured
from rag.types import ModelCall

Value = TypeVar("Value")
Reader = Callable[[str], tuple[Value | None, str]]
"""Makes a value of a text, or says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model, where, and how long to wait for it.

    Args:
        model: the model's name; on Azure the deployment's.
        base_url: what comes before ``/chat/completions``; None for OpenAI itself.
        api_key: None for servers without keys, and on Azure to use the process's identity.
        timeout_seconds: deadline of one call with all its tries and its repair.
        retry: how often, and how long between tries.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 20.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[Value]):
    """``value`` is None exactly when ``refusal`` is not."""

    value: Value | None
    refusal: str | None
    call: ModelCall


class OpenAICompatibleModel:
    """Implements ChatModel; open_model makes it, ``close`` ends it.

    A refusal, the model's or a content filter's, is an outcome. Raises ModelUnavailable and
    ModelAnswerInvalid as the port says.
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
        return self._transport.model

    async def complete(self, prompt: Prompt) -> Completion:
        outcome = await self._converse(prompt, None, _read_text)
        if outcome.value is None:
            return Completion(outcome.refusal or "", outcome.call, refused=True)
        return Completion(outcome.value, outcome.call)

    async def structured(self, prompt: Prompt, shape: type[Shape]) -> Structured[Shape]:
        outcome = await self._converse(
            prompt, wanted_shape(shape), lambda text: read_shape(text, shape)
        )
        return Structured(outcome.value, outcome.call, outcome.refusal)

    async def close(self) -> None:
        """Close the connections, and the identity that open_model made."""
        await self._connection.close()

    async def _converse(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value]
    ) -> _Outcome[Value]:
        started, tally = time.perf_counter(), Tally()
        try:
            value, refusal = await self._in_time(prompt, shape, read, tally)
        except RagError as error:
            error.calls = (self._call(prompt, tally, started),) if tally.counted else ()
            raise
        return _Outcome(value, refusal, self._call(prompt, tally, started))

    async def _in_time(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value], tally: Tally
    ) -> tuple[Value | None, str | None]:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._ask_twice_at_most(prompt, shape, read, tally)
        except TimeoutError:
            raise ModelUnavailable(
                f"The model {self.name!r} did not answer within {self._timeout_seconds:g} seconds; "
                "raise OPENAI_TIMEOUT_SECONDS or choose a faster model."
            ) from None

    def _call(self, prompt: Prompt, tally: Tally, started: float) -> ModelCall:
        return recorded(
            prompt,
            tally,
            model=self.name,
            base_url=self._transport.base_url,
            duration_ms=(time.perf_counter() - started) * 1000,
        )

    async def _ask_twice_at_most(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value], tally: Tally
    ) -> tuple[Value | None, str | None]:
        """Ask, and once more with what was wrong. Raises ModelAnswerInvalid after that."""
        deadline = Deadline(self._timeout_seconds)
        messages, problem = prompt.messages, ""
        for _ in range(2):
            exchange = await self._transport.ask(prompt, messages, shape, deadline, tally)
            refusal = refusal_of(exchange)
            if exchange.reply is None or refusal is not None:
                return None, refusal or ""
            value, problem = read(exchange.reply.text)
            problem = problem_of(exchange.reply, prompt.max_output_tokens) or problem
            if value is not None and not problem:
                return value, None
            messages = repair_messages(prompt.messages, exchange.reply.text, problem)
        raise ModelAnswerInvalid(
            f"The model {self.name!r} gave no usable answer to {prompt.id!r} in two tries "
            f"({problem}); raise max_output_tokens in the prompt file if it was cut off, else "
            "choose a model that follows JSON schemas."
        )


def open_model(
    settings: ModelSettings, credential: AsyncTokenCredential | None = None
) -> OpenAICompatibleModel:
    """Make a model ready to be asked; nothing is sent yet.

    ``credential`` is an identity to use when there is no key (rag.models.connecting.connect).
    Raises ModelUnavailable when the settings cannot work, naming the one to change.
    """
    endpoint = Endpoint(settings.base_url, settings.api_key)
    connection = connect(endpoint, settings.timeout_seconds, credential)
    dialect = Dialect("max_completion_tokens" if endpoint.is_vendor else "max_tokens")
    transport = ChatTransport(connection.client, settings.model, dialect, settings.retry)
    return OpenAICompatibleModel(transport, settings.timeout_seconds, connection)


def _read_text(text: str) -> tuple[str | None, str]:
    stripped = text.strip()
    return (stripped, "") if stripped else (None, "the answer is empty")
