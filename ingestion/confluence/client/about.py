"""What a site is, and whom it takes the token for."""

from __future__ import annotations

from pydantic import BaseModel

from ingestion.confluence.client.shapes import Person
from ingestion.confluence.client.transport import Transport
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import WikiAbout

_ANONYMOUS = "anonymous"


class _Account(Person):
    """Who asks; people who are not signed in have a type, too."""

    type: str = "known"


class _Server(BaseModel):
    """What a Data Center says of itself since 9.1."""

    version: str = ""


async def about(transport: Transport) -> WikiAbout:
    """Ask a site about itself. Raises as every request does."""
    told = await transport.get("/rest/api/user/current", shape=_Account)
    account = told.value
    return WikiAbout(
        edition=transport.address.edition,
        base=str(transport.address.base),
        version=await _version(transport),
        account=account.user() if account.id and account.type != _ANONYMOUS else None,
        asked_at=told.asked_at,
    )


async def _version(transport: Transport) -> str:
    if transport.address.edition == "cloud":
        return ""
    try:
        return (await transport.get("/rest/api/server-information", shape=_Server)).value.version
    except NotVisible:
        return ""
