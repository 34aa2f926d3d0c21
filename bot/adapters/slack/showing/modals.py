"""Opens and changes forms; a trigger is good for three seconds."""

from __future__ import annotations

from collections.abc import Mapping

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.wire.events import Event, object_at, text_at

_PATIENCE_SECONDS = 1.0


class Modals:
    """Shows modals to whoever pressed. Raises DeliveryFailed."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    async def open(self, trigger_id: str, view: Mapping[str, object]) -> str:
        """Open a modal; return its id."""
        answer = await self._caller.call(
            "views.open",
            lambda: self._client.views_open(trigger_id=trigger_id, view={**view}),
            patience_seconds=_PATIENCE_SECONDS,
        )
        return text_at(answer.get("view") or {}, "id")

    async def change(self, view_id: str, view: Mapping[str, object]) -> None:
        """Show something else in a modal that is open."""
        await self._caller.call(
            "views.update", lambda: self._client.views_update(view_id=view_id, view={**view})
        )


def value_in(view: Event, field: str) -> str:
    """Return what was typed into a field whose block has the same id; "" where there is none."""
    values = object_at(object_at(view, "state"), "values")
    return text_at(object_at(object_at(values, field), field), "value")
