"""What only Data Center answers: shapes to read, and what they are to us."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, RootModel

from ingestion.confluence.client.paging import Part
from ingestion.confluence.client.shapes import ContentLinks
from ingestion.confluence.client.wording import web
from ingestion.confluence.types import Subjects, WikiSpace


class Space(BaseModel):
    """A space; its id is a number here, and not what anything is asked by."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    key: str
    name: str = ""
    status: str = "current"
    links: ContentLinks = Field(
        default_factory=lambda: ContentLinks.model_validate({}), alias="_links"
    )

    def space(self, *, base: str) -> WikiSpace:
        return WikiSpace(
            id=self.id,
            key=self.key,
            name=self.name,
            url=web(base, self.links.webui),
            archived=self.status.lower() == "archived",
        )


class Subject(BaseModel):
    """Who a permission is for: a user, a group, or those not signed in."""

    type: str = ""
    user_key: str | None = Field(None, alias="userKey")
    username: str | None = None
    name: str | None = None


class Operation(BaseModel):
    """What a permission allows."""

    key: str = Field(alias="operationKey")
    target_type: str = Field(alias="targetType")


class Permission(BaseModel):
    """One permission of a space."""

    operation: Operation
    subject: Subject | None = None

    @property
    def reads(self) -> bool:
        return self.operation.key == "read" and self.operation.target_type == "space"


class SpacePermissions(RootModel[tuple[Permission, ...]]):
    """All permissions of a space; this answer comes whole."""


SpacePart = Part[Space]


def readers_of(permissions: Sequence[Permission]) -> Subjects:
    """Return who may view a space; whoever is named in another way is left out."""
    named = [each.subject for each in permissions if each.reads and each.subject]
    users = {each.user_key or each.username or "" for each in named if _is_user(each)}
    return Subjects(
        users=frozenset(users - {""}),
        groups=frozenset(each.name for each in named if each.type == "group" and each.name),
        anyone=any(each.type == "anonymous" for each in named),
    )


def _is_user(subject: Subject) -> bool:
    return subject.type in {"user", "known"}
