"""The app is removed, its token is revoked: from then on nothing is posted, and it is said."""

from __future__ import annotations

from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.home.own import Own
from bot.adapters.slack.wire.events import object_at


class Lifecycle:
    """Implements Registers: app_uninstalled and tokens_revoked.

    Events come late and more than once: Slack is asked whether the token works after all.
    """

    def __init__(self, own: Own) -> None:
        self._own = own

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_uninstalled")(self._removed)
        bolt.event("tokens_revoked")(self._revoked)

    async def _removed(self) -> None:
        self._own.lose("The app was removed from the workspace.")

    async def _revoked(self, body: dict[str, object], event: dict[str, object]) -> None:
        revoked = object_at(event, "tokens").get("bot")
        users = self._own.users(body)
        if isinstance(revoked, list) and (not users or users.intersection(map(str, revoked))):
            self._own.lose("The bot's token was revoked.")
