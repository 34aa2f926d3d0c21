"""Which workspace is served: everything else that Slack sends is refused."""

from __future__ import annotations

from typing import Literal, Protocol

from bot.adapters.slack.wire.events import Event, authorization, object_at, text_at

Verdict = Literal["ours", "strange", "unknown"]
"""unknown: nobody has told yet which workspace the token is for."""


class KnowsItsPlace(Protocol):
    """Knows what the token is for."""

    @property
    def workspace(self) -> str:
        """A workspace or organisation, "" until it is known."""
        ...


class Tenancy:
    """Knows one workspace or organisation: the configured one, else the token's own."""

    def __init__(self, configured: str | None, own: KnowsItsPlace) -> None:
        self._configured = configured
        self._own = own

    def verdict(self, body: Event) -> Verdict:
        """Judge anything that Slack sends: events, buttons and forms, commands."""
        served = self._configured or self._own.workspace
        if not served:
            return "unknown"
        return "ours" if served in places_of(body) else "strange"


def places_of(body: Event) -> frozenset[str]:
    """Return the workspace and the organisation for which something was sent.

    In a shared channel an envelope may name another workspace than the one it is delivered for;
    the authorization then says the truth. So does a form that was opened in a shared channel.
    """
    installed = text_at(object_at(body, "view"), "app_installed_team_id")
    if installed:
        return frozenset({installed})
    granted = authorization(body)
    holders = [granted] if text_at(granted, "team_id") else [granted, body]
    found = {text_at(each, key) for each in holders for key in ("team_id", "enterprise_id")}
    for key in ("team", "enterprise"):
        found.add(text_at(object_at(body, key), "id"))
    return frozenset(found - {""})
