"""Who is there, as the connector tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.bot.adapters.teams.tenant import names


@dataclass(frozen=True)
class Human:
    """Somebody. ``id`` is the object id, ``user`` the connector's own id.

    ``address`` is the verified name that they sign in with; ``email`` may be anything.
    """

    id: str
    user: str
    name: str
    address: str
    email: str
    tenant: str = names.ENTRA
    role: str = "user"

    def told(self) -> dict[str, Any]:
        """Return them as a roster does."""
        given, _, family = self.name.partition(" ")
        return {
            "id": self.user,
            "objectId": self.id,
            "aadObjectId": self.id,
            "name": self.name,
            "givenName": given,
            "surname": family,
            "email": self.email,
            "userPrincipalName": self.address,
            "tenantId": self.tenant,
            "userRole": self.role,
        }

    def account(self) -> dict[str, Any]:
        """Return them as activities name a sender."""
        return {"id": self.user, "name": self.name, "aadObjectId": self.id}


def everybody() -> dict[str, Human]:
    """Return the people who are always there, by object id.

    Bob's mail address is not what he signs in with; Carol has not added the app.
    """
    return {
        human.id: human
        for human in (
            _colleague(names.ALICE, "Alice"),
            _colleague(names.BOB, "Bob", email="anna@acme.example"),
            _colleague(names.ANNA, "Anna Lopez"),
            _colleague(names.CAROL, "Carol"),
            Human(
                names.GUEST,
                "29:guest",
                "Gus Guest",
                "gus_partner.example#EXT#@acme.onmicrosoft.com",
                "gus@partner.example",
                role="guest",
            ),
            Human(
                names.STRANGER,
                "29:stranger",
                "Stella Stranger",
                "stella@partner.example",
                "stella@partner.example",
                tenant=names.OTHER_ENTRA,
            ),
        )
    }


def _colleague(object_id: str, name: str, email: str = "") -> Human:
    short = name.partition(" ")[0].lower()
    address = f"{short}@acme.example"
    return Human(object_id, f"29:{short}", name, address, email or address)
