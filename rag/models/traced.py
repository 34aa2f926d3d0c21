"""A chat model whose every call is a span."""

from __future__ import annotations

from urllib.parse import urlsplit

from rag import telemetry
from rag.models.azure_token import is_azure
from rag.ports import ChatModel, Completion, Prompt, Shape, Structured
from rag.telemetry import Attributes, counting, describe, span

_OPENAI = "api.openai.com"


class TracedModel:
    """Implements ChatModel by another one.

    Args:
        model: what is asked.
        base_url: where it is; None for OpenAI itself.
    """

    def __init__(self, model: ChatModel, base_url: str | None = None) -> None:
        self._model = model
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
            telemetry.REQUEST_MODEL: self._model.name,
            telemetry.REQUEST_TEMPERATURE: prompt.temperature,
            telemetry.REQUEST_MAX_TOKENS: prompt.max_output_tokens,
            **telemetry.of_prompt(prompt.id),
        }


def provider_name(address: str) -> str:
    """Return the conventions' name of who runs a server, or its host where they have none."""
    host = urlsplit(address).hostname or ""
    if is_azure(address):
        return "azure.ai.openai"
    return "openai" if host == _OPENAI or host.endswith(f".{_OPENAI}") else host
