"""What the buttons of our cards are called, and what comes with them when they are pressed.

They are a contract with cards that were posted long ago: a name is never given another meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.cases import Act

ABOUT = "about"
"""The key in a button's data under which the interaction is named that it is about."""

PERSON = "frontdesk.person"
OPTION = "frontdesk.option"
WHY = "frontdesk.why"
SETTINGS = "frontdesk.settings"
RUN_CANCEL = "frontdesk.run.cancel"
CASES: Mapping[Act, str] = {
    "claim": "frontdesk.case.claim",
    "release": "frontdesk.case.release",
    "reply": "frontdesk.case.reply",
    "resolve": "frontdesk.case.resolve",
    "decline": "frontdesk.case.decline",
}
"""On the card that people are asked by."""

ASKERS: Mapping[Act, str] = {
    "resolve": "frontdesk.asker.resolve",
    "reopen": "frontdesk.asker.reopen",
}
"""Below what an asker is told."""
