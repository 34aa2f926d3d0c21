"""What Microsoft says of all that is configured, as lines for `python -m bot doctor` and board."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.adapters.teams.arriving.keys import SigningKeys
from bot.adapters.teams.calling.cloud import Cloud
from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.calling.refusals import Refusal
from bot.adapters.teams.home.onlookers import Onlookers
from bot.adapters.teams.home.places import Places
from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused
from bot.domain.health import ComponentStatus, teams
from bot.domain.settings import Settings

NAME = "Teams"
PEOPLE = "Teams people"
_ADMINS = "Teams admins"
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PRINCIPAL_NAME = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
REACH_PEOPLE = (
    "Correct TEAMS_ESCALATION_CHANNEL (the 19:\u2026 in the channel's link, with %3a as : and %40 "
    "as @), or add the app to its team."
)


class Checking:
    """Asks Microsoft; nothing is posted, and nobody sees it.

    ``keys`` is None in development mode, in which nobody outside of this machine is asked.
    """

    def __init__(
        self,
        keys: SigningKeys | None,
        connector: Connector,
        cloud: Cloud,
        settings: Settings,
        *,
        places: Places,
        onlookers: Onlookers,
    ) -> None:
        self._keys = keys
        self._connector = connector
        self._cloud = cloud
        self._settings = settings
        self._places = places
        self._onlookers = onlookers

    async def parts(self) -> Sequence[ComponentStatus]:
        """Return a line for each thing that is configured; the first is about keys and token."""
        if self._keys is None:
            return [teams(self._settings)]
        try:
            await self._keys.prefetch()
            await self._connector.sign_in(self._cloud)
        except BotError as error:
            return [ComponentStatus(NAME, "failed", str(error))]
        signed_in = ComponentStatus(
            NAME, "ready", f"signed in as {self._settings.microsoft_app_id}"
        )
        return [signed_in, await self._people(), admins_part(self._settings.teams_admins)]

    async def _people(self) -> ComponentStatus:
        """Look at the channel where people are asked."""
        where, channel = await self._places.people(), self._settings.teams_escalation_channel
        if where is None:
            cure = "Set TEAMS_ESCALATION_CHANNEL to the id (19:\u2026) of the channel to ask in."
            return ComponentStatus(
                PEOPLE, "absent", "nobody is asked in Teams; the board shows cases.", cure
            )
        try:
            outside = await self._onlookers.outside(where)
        except DeliveryRefused:
            unseen = f"{channel} is not there, or its team is without the app."
            return ComponentStatus(PEOPLE, "failed", unseen, REACH_PEOPLE)
        except DeliveryFailed as error:
            return ComponentStatus(PEOPLE, "failed", str(error))
        if outside:
            cure = "Choose one of colleagues alone, unless that is meant."
            told = f"asked in {channel}, where guests or others see what colleagues ask."
            return ComponentStatus(PEOPLE, "ready", told, cure)
        return ComponentStatus(PEOPLE, "ready", f"asked in {channel}")


def admins_part(names: Sequence[str]) -> ComponentStatus:
    """Judge whether TEAMS_ADMINS names people; whether they are there shows when they order."""
    if not names:
        return ComponentStatus(
            _ADMINS,
            "absent",
            "nobody may reindex or change settings in Teams.",
            "Set TEAMS_ADMINS.",
        )
    wrong = [each for each in names if not _names_somebody(each)]
    if wrong:
        listed = ", ".join(wrong)
        cure = "Correct TEAMS_ADMINS: object ids or user principal names, by comma."
        return ComponentStatus(
            _ADMINS, "failed", f"{listed}: no object id or user principal name.", cure
        )
    return ComponentStatus(_ADMINS, "ready", ", ".join(names))


def standing(
    keys: SigningKeys | None, trouble: Refusal | None, settings: Settings
) -> ComponentStatus:
    """Return how it stands as far as is known without asking. ``trouble``: with the token."""
    if keys is not None and keys.trouble:
        return ComponentStatus(NAME, "failed", "nobody is let in.", keys.trouble)
    if trouble:
        return ComponentStatus(NAME, "failed", trouble.why, trouble.cure)
    return teams(settings)


def _names_somebody(name: str) -> bool:
    return bool(_OBJECT_ID.fullmatch(name) or _PRINCIPAL_NAME.fullmatch(name))
