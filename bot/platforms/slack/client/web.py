"""The Web API's client, which sends texts in the language of the workspace."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.texts import ENGLISH, Language


class TextWebClient(AsyncWebClient):
    """Renders the texts of each call, wherever they are in its payload."""

    language: Language = ENGLISH

    async def api_call(self, api_method: str, **given: Any) -> AsyncSlackResponse:  # noqa: ANN401 - as the client has it
        return await super().api_call(api_method, **self.language.render_all(given))


def language_of(web: AsyncWebClient) -> Language:
    """Return the language in which a client sends texts."""
    return web.language if isinstance(web, TextWebClient) else ENGLISH
