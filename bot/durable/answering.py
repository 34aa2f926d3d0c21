"""From a message to its outcome, whatever happens on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from bot.domain.errors import AskerUnknown, StoreUnavailable
from bot.domain.outcomes import error_code, refused_outcome, unavailable_outcome
from bot.domain.ports import Admits, AnswersInquiries, ReportStage
from bot.domain.types import Message, Outcome, Person, Refusal, Stage

log = structlog.get_logger(__name__)


class Answering:
    """Admits a message and lets the desk handle it.

    Args:
        admission: Builds the inquiry, or says why the message is not worked on.
        desk: Answers it.
        deadline_seconds: After that nobody waits any longer.
    """

    def __init__(
        self, admission: Admits, desk: AnswersInquiries, *, deadline_seconds: float = 120.0
    ) -> None:
        self._admission = admission
        self._desk = desk
        self._deadline = deadline_seconds

    async def answer(self, message: Message, report: ReportStage) -> Outcome:
        """Return what becomes of a message; what goes wrong is logged and becomes an escalation.

        Raises StoreUnavailable: without the record no outcome could be kept either. Raises
        AskerUnknown: a later attempt may be answered.
        """
        asker: Person | None = None
        try:
            async with asyncio.timeout(self._deadline):
                admitted = await self._admission.admit(message)
                if isinstance(admitted, Refusal):
                    return refused_outcome(message, admitted)
                asker = admitted.asker
                return await self._desk.handle(admitted, report)
        except (AskerUnknown, StoreUnavailable):
            raise
        except Exception as error:
            log.exception("desk.failed", interaction_id=message.interaction_id)
            await report(Stage.FAILED)
            stopped = "The desk stopped; the log says why."
            failed = unavailable_outcome(message, stopped, error_code(error))
            return replace(failed, asker=asker)
