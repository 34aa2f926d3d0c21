"""What the endpoint needs to let somebody in."""

from __future__ import annotations

from dataclasses import dataclass

from botbuilder.integration.aiohttp import CloudAdapter

from bot.adapters.teams.arriving.gatekeeper import Gatekeeper
from bot.adapters.teams.arriving.keys import SigningKeys


@dataclass(frozen=True, slots=True)
class Door:
    """botbuilder's adapter, who is let in to it, and the keys that this is told by.

    ``keys`` is None in development mode, in which nothing is signed.
    """

    adapter: CloudAdapter
    gatekeeper: Gatekeeper
    keys: SigningKeys | None
