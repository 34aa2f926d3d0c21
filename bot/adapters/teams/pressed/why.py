"""Why this answer, or why none: a dialog for whoever presses the button.

Teams can show nothing else to one person alone, so it also asks what was wrong.
"""

from __future__ import annotations

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.pressed.reasons import Reasons, form_of
from bot.adapters.teams.pressed.why_view import explained, title_of
from bot.adapters.teams.wire.actions import WHY
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.invokes import dialog
from bot.chat.actions import GONE, ActionRejected, ActionTargets, ExplainAction
from bot.domain.errors import InteractionUnknown


class Why:
    """Implements Registers: the button below an answer."""

    def __init__(self, *, why: ExplainAction, subjects: ActionTargets, reasons: Reasons) -> None:
        self._why = why
        self._subjects = subjects
        self._reasons = reasons

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_dialog(WHY, self._open, self._reasons.take)

    async def _open(self, press: Press) -> Json:
        interaction = await self._subjects.acted_on(press.about, press.presser)
        try:
            explanation = await self._why.explain(interaction, press.person.id)
        except InteractionUnknown as error:
            raise ActionRejected(GONE) from error
        shown = explained(explanation, *form_of(interaction))
        return dialog(title_of(explanation), shown, height="large")
