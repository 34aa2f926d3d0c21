"""Who is there: people and groups, with the ids that each edition gives them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

HOUSE = uuid.UUID("5b1d8f0e-7c1c-4c57-9d3a-2f1d7a4f6f00")
"""All invented ids hang on this, so that they are the same in every run."""


@dataclass(frozen=True)
class Person:
    """Somebody with an account. ``handle`` is what tests call them, and their username.

    ``email_shown``: whether the API tells the address, which on Cloud is the person's own choice.
    """

    handle: str
    name: str
    email: str
    email_shown: bool = False
    admin: bool = False

    @property
    def account_id(self) -> str:
        """What Cloud calls them; note the colon."""
        return f"712020:{uuid.uuid5(HOUSE, self.handle)}"

    @property
    def user_key(self) -> str:
        """What Data Center calls them."""
        return uuid.uuid5(HOUSE, f"key {self.handle}").hex

    @property
    def token(self) -> str:
        """Their API token, personal access token and OAuth token in one."""
        return f"token-of-{self.handle}"


@dataclass
class Group:
    """People by handle."""

    name: str
    members: set[str] = field(default_factory=set)

    @property
    def id(self) -> str:
        return str(uuid.uuid5(HOUSE, f"group {self.name}"))
