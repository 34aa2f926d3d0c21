"""``serve`` as it is, but at the Teams that runs here: ``python -m tests.teams.serving serve``.

``TEAMS_HERE`` is that tenant's address. There is no setting for it: nobody else should have one.
"""

from __future__ import annotations

import os
import sys

from bot.__main__ import main
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA
from tests.teams.tenant import Local

PROGRAM = "tests.teams.serving"


def environment_of(url: str) -> dict[str, str]:
    """Return what such a server is started with."""
    return {
        "TEAMS_HERE": url,
        "TEAMS_SERVICE_URL": f"{url}/",
        "MICROSOFT_APP_ID": APP_ID,
        "MICROSOFT_APP_PASSWORD": "secret",
        "MICROSOFT_APP_TENANT_ID": ENTRA,
    }


if __name__ == "__main__":
    Local(os.environ["TEAMS_HERE"]).take_over()
    sys.exit(main())
