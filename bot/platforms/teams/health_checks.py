"""Check the whole configuration with Microsoft, for `python -m bot doctor` and the board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused
from bot.domain.health import ComponentStatus, teams
from bot.domain.settings import Settings
from bot.platforms.teams.auth import SigningKeys
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.client.registration import TokenRefusal
from bot.platforms.teams.members import OutsideReaders

TEAMS_PART = "Teams"
PEOPLE_PART = "Teams people"
_ADMINS_PART = "Teams admins"
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PRINCIPAL_NAME = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
PEOPLE_CHANNEL_CURE = (
    "Correct TEAMS_ESCALATION_CHANNEL (the 19:\u2026 in the channel's link, with %3a as : and %40 "
    "as @), or add the app to its team."
)


@dataclass(frozen=True, slots=True)
class HealthChecks:
    """Checks keys, token and channels with Microsoft; posts nothing.

    ``keys`` is None in development mode, which calls nothing outside this machine.
    """

    keys: SigningKeys | None
    client: TeamsClient
    settings: Settings
    outside_readers: OutsideReaders

    async def parts(self) -> Sequence[ComponentStatus]:
        """Return one status per configured component; the first is about keys and token."""
        if self.keys is None:
            return [teams(self.settings)]
        try:
            await self.keys.prefetch()
            await self.client.sign_in()
        except BotError as error:
            return [ComponentStatus(TEAMS_PART, "failed", str(error))]
        signed_in = ComponentStatus(
            TEAMS_PART, "ready", f"signed in as {self.settings.microsoft_app_id}"
        )
        return [signed_in, await self._people(), admins_part(self.settings.teams_admins)]

    async def _people(self) -> ComponentStatus:
        """Check the channel where people are asked."""
        channel = self.settings.teams_escalation_channel
        if channel is None:
            cure = "Set TEAMS_ESCALATION_CHANNEL to the id (19:\u2026) of the channel to ask in."
            return ComponentStatus(
                PEOPLE_PART, "absent", "nobody is asked in Teams; the board shows cases.", cure
            )
        try:
            where = await self.client.conversations.channel(channel)
            outside = await self.outside_readers.outside(where)
        except DeliveryRefused:
            unseen = f"{channel} is not there, or its team is without the app."
            return ComponentStatus(PEOPLE_PART, "failed", unseen, PEOPLE_CHANNEL_CURE)
        except DeliveryFailed as error:
            return ComponentStatus(PEOPLE_PART, "failed", str(error))
        if outside:
            cure = "Choose one of colleagues alone, unless that is meant."
            told = f"asked in {channel}, where guests or others see what colleagues ask."
            return ComponentStatus(PEOPLE_PART, "ready", told, cure)
        return ComponentStatus(PEOPLE_PART, "ready", f"asked in {channel}")


def admins_part(names: Sequence[str]) -> ComponentStatus:
    """Check the format of TEAMS_ADMINS; that the people exist is checked on their commands."""
    if not names:
        return ComponentStatus(
            _ADMINS_PART,
            "absent",
            "nobody may reindex or change settings in Teams.",
            "Set TEAMS_ADMINS.",
        )
    wrong = [each for each in names if not _names_somebody(each)]
    if wrong:
        listed = ", ".join(wrong)
        cure = "Correct TEAMS_ADMINS: object ids or user principal names, by comma."
        return ComponentStatus(
            _ADMINS_PART, "failed", f"{listed}: no object id or user principal name.", cure
        )
    return ComponentStatus(_ADMINS_PART, "ready", ", ".join(names))


def known_health(
    keys: SigningKeys | None, trouble: TokenRefusal | None, settings: Settings
) -> ComponentStatus:
    """Return the last known status without a call. ``trouble``: why there is no token."""
    if keys is not None and keys.trouble:
        return ComponentStatus(TEAMS_PART, "failed", "nobody is let in.", keys.trouble)
    if trouble:
        return ComponentStatus(TEAMS_PART, "failed", trouble.why, trouble.cure)
    return teams(settings)


def _names_somebody(name: str) -> bool:
    return bool(_OBJECT_ID.fullmatch(name) or _PRINCIPAL_NAME.fullmatch(name))
