"""A model of ours that asks the local server, and what it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import BaseModel, Field

from rag.models.chat.openai_compatible import ModelSettings, OpenAICompatibleModel, open_model
from rag.ports import ChatMessage, Prompt
from rag.retrying import RetryPolicy
from tests.rag.models.openai_server import KEY, Answer, OpenAIServer, openai_server

FAST = RetryPolicy(
    attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.02, jitter_seconds=0.01
)

PROMPT = Prompt(
    id="answer@1",
    messages=(ChatMessage("system", "Be brief."), ChatMessage("user", "How many days?")),
)

GOOD = '{"days": 25, "why": null}'


class Days(BaseModel):
    days: int = Field(ge=0)
    why: str | None = None


@asynccontextmanager
async def asked(
    *answers: Answer, timeout_seconds: float = 5, api_key: str | None = KEY
) -> AsyncIterator[tuple[OpenAICompatibleModel, OpenAIServer]]:
    async with openai_server(*answers) as server:
        settings = ModelSettings(
            model="gpt-4o-mini",
            base_url=server.url,
            api_key=api_key,
            timeout_seconds=timeout_seconds,
            retry=FAST,
        )
        model = open_model(settings)
        try:
            yield model, server
        finally:
            await model.close()
