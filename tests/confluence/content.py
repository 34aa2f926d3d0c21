"""What is there: spaces, pages and what else hangs in their trees, attachments."""

from __future__ import annotations

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
