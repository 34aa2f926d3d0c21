"""The company that the playground plays: who is in it, and where they talk. Every id is fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BOT, BOT_NAME = "28:frontdesk", "Frontdesk"
TENANT = "5fcfb1b0-0000-4000-8000-000000000001"
CHAT = "a:chat-of-alex"
GROUP = "19:group@thread.v2"
TEAM = "19:team@thread.tacv2"
"""Also the channel General."""

PEOPLE = "19:people@thread.tacv2"
"""The channel in which people are asked."""


@dataclass(frozen=True)
class Person:
    """Somebody of the company: as the connector knows them, and by object id."""

    user: str
    id: str
    first: str
    last: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def said(self) -> Mapping[str, str]:
        """Return them as the configuration file spells them."""
        address = f"{self.first}@contoso.example".lower()
        named = {"name": self.name, "givenName": self.first, "surname": self.last}
        known = {"userPrincipleName": address, "email": address}
        return {"id": self.user, "aadObjectId": self.id, **named, **known}


def _person(number: int, first: str, last: str) -> Person:
    return Person(
        f"29:{first.lower()}", f"5fcfb1b0-0000-4000-8000-00000000010{number}", first, last
    )


ALEX = _person(0, "Alex", "Wilber")
"""Whose client it is."""

MEGAN = _person(1, "Megan", "Bowen")
_OTHERS = (("Adele", "Vance"), ("Isaiah", "Langer"), ("Patti", "Fernandez"), ("Lynne", "Robbins"))

CONFIG: Mapping[str, object] = {
    "version": "0.1.1",
    "tenantId": TENANT,
    "bot": {"id": BOT, "name": BOT_NAME},
    "currentUser": ALEX.said,
    # It ends at its start unless there are five besides.
    "users": [
        each.said for each in (MEGAN, *(_person(2 + at, *name) for at, name in enumerate(_OTHERS)))
    ],
    "personalChat": {"id": CHAT},
    "groupChat": {"id": GROUP, "name": "Lunch"},
    "team": {
        "id": TEAM,
        "name": "Contoso",
        "aadGroupId": "5fcfb1b0-0000-4000-8000-000000000200",
        "channels": [{"id": PEOPLE, "name": "Help desk"}],
    },
}
