"""What people are called, asked once each, within bounds."""

from __future__ import annotations

from collections import OrderedDict

from ingestion.confluence.ports import Wiki
from ingestion.errors import PageUnreadable
from ingestion.text import clean

_MOST_KEPT = 2000


class Names:
    """Knows the names of those who were asked for last."""

    def __init__(self, wiki: Wiki) -> None:
        self._wiki = wiki
        self._known: OrderedDict[str, str] = OrderedDict()

    async def of(self, user_id: str) -> str:
        """Return a person's name; "" for nobody, and where it is hidden."""
        if not user_id:
            return ""
        if user_id not in self._known:
            self._known[user_id] = await self._asked(user_id)
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return self._known[user_id]

    async def _asked(self, user_id: str) -> str:
        try:
            return " ".join(clean((await self._wiki.user(user_id)).name).split())
        except PageUnreadable:
            return ""
