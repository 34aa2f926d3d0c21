"""Opens a Confluence by what the settings say of it."""

from __future__ import annotations

from typing import Literal

from ingestion.confluence.client.address import address_of
from ingestion.confluence.client.cloud import Cloud
from ingestion.confluence.client.data_center import DataCenter
from ingestion.confluence.client.line import Line, authorization, trusted
from ingestion.confluence.client.pacing import Pace
from ingestion.confluence.client.patience import Patience
from ingestion.confluence.client.proxies import Proxies
from ingestion.confluence.client.transport import Transport
from ingestion.confluence.ports import WikiSite


def open_wiki(
    *,
    url: str,
    token: str,
    email: str | None = None,
    edition: Literal["auto", "cloud", "data-center"] = "auto",
    ca_file: str | None = None,
    patience: Patience | None = None,
) -> WikiSite:
    """Return the Confluence at ``url``; the caller closes it. Nothing is asked of it yet.

    Raises SettingInvalid for an address or a file of certificates that can't be used.
    """
    address = address_of(url, edition)
    line = Line(
        address,
        authorization=authorization(token, email),
        trust=trusted(ca_file),
        proxies=Proxies(),
    )
    transport = Transport(address, line=line, pace=Pace(), patience=patience)
    return Cloud(transport) if address.edition == "cloud" else DataCenter(transport)
