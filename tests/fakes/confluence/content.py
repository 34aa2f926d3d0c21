"""Spaces, pages, attachments, people and groups of a local Confluence site."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

ContentKind = Literal["page", "blogpost", "folder", "whiteboard", "database", "attachment"]
Status = Literal["current", "archived", "trashed", "draft"]


@dataclass
class Named:
    """Who is named at one layer: people by handle, groups by name."""

    users: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    anonymous: bool = False

    @property
    def empty(self) -> bool:
        return not (self.users or self.groups or self.anonymous)


@dataclass
class Space:
    """A space; ``readers`` may view it, and nobody else."""

    id: str
    key: str
    name: str
    kind: Literal["global", "personal"] = "global"
    status: Literal["current", "archived"] = "current"
    readers: Named = field(default_factory=Named)
    home: str | None = None


@dataclass
class Attachment:
    """A file on a page. It has ``size`` bytes: ``content``, over and over."""

    id: str
    page: str
    name: str
    media_type: str
    content: bytes
    size: int
    version: int
    updated: datetime
    author: str
    status: Status = "current"


@dataclass
class Content:
    """A page, blog post or folder. Dates are the site's; ``readers`` empty: no restriction."""

    id: str
    kind: ContentKind
    space: str
    title: str
    storage: str
    parent: str | None
    author: str
    created: datetime
    updated: datetime
    updated_by: str
    version: int = 1
    minor: bool = False
    message: str = ""
    status: Status = "current"
    position: int = 0
    labels: list[str] = field(default_factory=list)
    readers: Named = field(default_factory=Named)
    attachments: dict[str, Attachment] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The id as a number, by which listings are in order."""
        return int(self.id.removeprefix("att"))


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
