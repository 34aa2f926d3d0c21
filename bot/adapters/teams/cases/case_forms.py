"""What people do on a card: its buttons, and the forms that some of them unfold; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.adapters.teams.showing.elements import field, press, text_block, unfolds
from bot.adapters.teams.wire.actions import CASES
from bot.adapters.teams.wire.body import Body, Json, text_at
from bot.domain.cases import Act, Case
from bot.escalations.case_view import CaseButton, buttons_for_people
from bot.escalations.casework import LONGEST_REPLY

VERSION = "version"
"""The key under which a form says which version of the case its writer saw."""


@dataclass(frozen=True, slots=True)
class _Form:
    label: str
    hint: str


_FORMS: Mapping[Act, _Form] = {
    "reply": _Form("Your reply", "It is posted where the question was asked, in your name."),
    "decline": _Form("Why, or who to ask", "The one who asked reads it, with your name."),
}


def buttons(case: Case) -> Sequence[Json]:
    """Return what can be done about a case, as buttons."""
    return [_button(offer, case) for offer in buttons_for_people(case.standing.state)]


def asks_for_words(act: Act) -> bool:
    """Tell whether something is written with an act."""
    return act in _FORMS


def words_in(act: Act, data: Body) -> str:
    """Return what was written in the form of an act."""
    return text_at(data, _field(act))


def _button(offer: CaseButton, case: Case) -> Json:
    form = _FORMS.get(offer.act)
    if form is not None:
        return unfolds(offer.label, *_form(form, offer.act, case), first=offer.first)
    return press(offer.label, CASES[offer.act], case.interaction_id, first=offer.first)


def _form(form: _Form, act: Act, case: Case) -> tuple[Sequence[Json], Sequence[Json]]:
    asked = field(_field(act), form.label, lines=True, most=LONGEST_REPLY, required=True)
    data = {VERSION: str(case.version)}
    send = press("Send", CASES[act], case.interaction_id, first=True, **data)
    return [asked, text_block(form.hint, isSubtle=True)], [send]


def _field(act: Act) -> str:
    """Return what a field is called; names are unique in a card."""
    return f"{act}_words"
