"""Why an answer that somebody presses below is as it is."""

from __future__ import annotations

from bot.office import Office
from bot.readers import Readers
from bot.types import Interaction
from bot.why.explaining import Explanation


class WhyBelow:
    """Explains within what everybody in the thread may read: others may look over a shoulder."""

    def __init__(self, office: Office, readers: Readers) -> None:
        self._office = office
        self._readers = readers

    async def explain(self, interaction: Interaction, person_id: str) -> Explanation:
        """Explain an interaction to who sees it. Raises InteractionUnknown, StoreUnavailable."""
        reader = await self._readers.of_thread(interaction.message)
        return await self._office.explaining.explain(
            self._office.tenant, interaction.id, reader, asker_id=person_id
        )
