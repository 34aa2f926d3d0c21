"""A chat model behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.identity.aio import DefaultAzureCredential
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from rag.errors import ModelAnswerInvalid, ModelUnavailable
from rag.models.azure_token import TokenProvider, azure_tokens, is_azure
from rag.models.dialect import Dialect, WantedShape
from rag.models.json_shape import read_shape, wanted_shape
from rag.models.recording import recorded
from rag.models.repair import problem_of, refusal_of, repair_messages
from rag.models.retrying import Deadline, RetryPolicy
from rag.models.transport import ChatTransport, Exchange
from rag.ports import Completion, Prompt, Shape, Structured
from rag.types import ModelCall

OPENAI_BASE_URL = "https://api.openai.com/v1/"
_NO_KEY = "no-key"
"""Sent to servers that need none; the SDK insists on something."""

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
        credential: AsyncTokenCredential | None = None,
    ) -> None:
        self._transport = transport
        self._timeout_seconds = timeout_seconds
        self._credential = credential

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
        await self._transport.close()
        if self._credential is not None:
            await self._credential.close()

    async def _converse(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value]
    ) -> _Outcome[Value]:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                value, refusal, exchanges = await self._ask_twice_at_most(prompt, shape, read)
        except TimeoutError:
            raise ModelUnavailable(
                f"The model {self.name!r} did not answer within {self._timeout_seconds:g} seconds; "
                "raise OPENAI_TIMEOUT_SECONDS or choose a faster model."
            ) from None
        call = recorded(
            prompt,
            exchanges,
            model=self.name,
            base_url=self._transport.base_url,
            duration_ms=(time.perf_counter() - started) * 1000,
        )
        return _Outcome(value, refusal, call)

    async def _ask_twice_at_most(
        self, prompt: Prompt, shape: WantedShape | None, read: Reader[Value]
    ) -> tuple[Value | None, str | None, list[Exchange]]:
        """Ask, and once more with what was wrong. Raises ModelAnswerInvalid after that."""
        deadline = Deadline(self._timeout_seconds)
        messages, exchanges, problem = prompt.messages, list[Exchange](), ""
        for _ in range(2):
            exchange = await self._transport.ask(prompt, messages, shape, deadline)
            exchanges.append(exchange)
            refusal = refusal_of(exchange)
            if exchange.reply is None or refusal is not None:
                return None, refusal or "", exchanges
            value, problem = read(exchange.reply.text)
            problem = problem_of(exchange.reply, prompt.max_output_tokens) or problem
            if value is not None and not problem:
                return value, None, exchanges
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

    Args:
        settings: which model and where.
        credential: identity to use when there is no key, whatever the host; it stays the caller's
            to close. None takes the process's own (azure.identity.DefaultAzureCredential) for
            Azure's hosts alone, which is closed with the model.

    Raises:
        ModelUnavailable: when the settings cannot work, naming the one to change.
    """
    base_url = _checked(settings.base_url or OPENAI_BASE_URL)
    own = DefaultAzureCredential() if _needs_identity(settings, base_url, credential) else None
    key = _key(settings, base_url, credential or own)
    client = AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        timeout=settings.timeout_seconds,
        # Not following redirects keeps the key with the origin that it was given for.
        http_client=DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=settings.timeout_seconds
        ),
    )
    vendor = is_azure(base_url) or _is_openai(base_url)
    dialect = Dialect("max_completion_tokens" if vendor else "max_tokens")
    transport = ChatTransport(client, settings.model, dialect, settings.retry)
    return OpenAICompatibleModel(transport, settings.timeout_seconds, own)


def _read_text(text: str) -> tuple[str | None, str]:
    stripped = text.strip()
    return (stripped, "") if stripped else (None, "the answer is empty")


def _checked(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ModelUnavailable(
            f"OPENAI_BASE_URL is {base_url!r}; write a whole address such as {OPENAI_BASE_URL!r}."
        )
    return base_url


def _is_openai(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def _needs_identity(
    settings: ModelSettings, base_url: str, credential: AsyncTokenCredential | None
) -> bool:
    return settings.api_key is None and credential is None and is_azure(base_url)


def _key(
    settings: ModelSettings, base_url: str, credential: AsyncTokenCredential | None
) -> str | TokenProvider:
    if settings.api_key:
        return settings.api_key
    if credential is not None:
        return azure_tokens(credential)
    if _is_openai(base_url):
        raise ModelUnavailable("OpenAI needs a key; set OPENAI_API_KEY, or OPENAI_BASE_URL.")
    return _NO_KEY
