"""What a channel allows, as the card of a dialog, and what was put into it: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, unquote

from bot.adapters.teams.commands.saying import paragraphs
from bot.adapters.teams.showing.elements import card, field, sends, text_block
from bot.adapters.teams.wire.actions import SETTINGS
from bot.adapters.teams.wire.body import Body, Json, text_at
from bot.adapters.teams.wire.reference import ROOM_ID
from bot.chat.commands.channel_settings import ChannelSettingsForm, Choice, Field, SubmittedSettings
from bot.domain.text.markdown import clip

_MOST_OFFERED = 100
"""Of more spaces the names are typed."""

_GIVEN = "="
"""Goes before every value, for Teams takes no empty one."""

_ON, _OFF = "true", "false"
_LONGEST_LABEL = 200
_LONGEST_NAMES = 4_000
_LONGEST_ADDRESS = 1_000
_FOLLOW_UPS = "In a thread that I am in, I need not be mentioned again."
_OTHER_BOTS = "Other bots may ask me."
_SPACES = "Spaces that I answer from; none chosen means all"
_TYPED_SPACES = "Spaces that I answer from, by comma; empty means all"
_PEOPLE = "Where people are asked: the link to a channel, or its id; empty means the usual place"

_FIELDS: Sequence[Field] = ("answers", "follow_ups", "spaces", "people", "model", "other_bots")


def settings_card(
    form: ChannelSettingsForm, shown: SubmittedSettings, wrong: Mapping[Field, str]
) -> Json:
    """Return the form with what is ``shown`` in it, and what is ``wrong`` with it by field."""
    body: list[Json] = [text_block("What this conversation allows. It holds for everybody here.")]
    inputs = dict(_inputs(form, shown))
    for name in _FIELDS:
        if name in wrong:
            body += [{**each, "color": "Attention"} for each in paragraphs(wrong[name])]
        body += [inputs[name]] if name in inputs else []
    return card(body, [sends("Save", SETTINGS)])


def first_shown(form: ChannelSettingsForm) -> SubmittedSettings:
    """Return what the form shows before anybody has put something in."""
    policy = form.policy
    return SubmittedSettings(
        answers=policy.answers,
        follow_ups=policy.follow_ups,
        spaces=tuple(sorted(policy.spaces or ())),
        people=policy.people,
        model=policy.model,
        other_bots=policy.other_bots,
    )


def filled(sent: Body, form: ChannelSettingsForm) -> SubmittedSettings:
    """Return what was put in; what the form did not show stays as it was.

    Teams leaves out fields that are empty.
    """
    before = first_shown(form)
    return SubmittedSettings(
        answers=_chosen(sent, "answers", before.answers),
        follow_ups=_toggled(sent, "follow_ups", on=before.follow_ups),
        spaces=_spaces(sent, form) if form.spaces else before.spaces,
        people=_channel(text_at(sent, "people").strip()),
        model=_chosen(sent, "model", before.model),
        other_bots=_toggled(sent, "other_bots", on=before.other_bots),
    )


def _inputs(form: ChannelSettingsForm, shown: SubmittedSettings) -> Iterator[tuple[Field, Json]]:
    yield "answers", _one_of("answers", "I answer", form.answers, shown.answers, unfolded=True)
    yield "follow_ups", _toggle("follow_ups", _FOLLOW_UPS, on=shown.follow_ups)
    if _offers_spaces(form):
        yield "spaces", _many_of("spaces", _SPACES, form.spaces, shown.spaces)
    elif form.spaces:
        typed = field("spaces", _TYPED_SPACES, lines=True, most=_LONGEST_NAMES)
        yield "spaces", {**typed, "value": ", ".join(shown.spaces)}
    yield "people", {**field("people", _PEOPLE, most=_LONGEST_ADDRESS), "value": shown.people}
    yield "model", _one_of("model", "Answers are made by", form.models, shown.model)
    yield "other_bots", _toggle("other_bots", _OTHER_BOTS, on=shown.other_bots)


def _toggle(name: Field, title: str, *, on: bool) -> Json:
    return {"type": "Input.Toggle", "id": name, "title": title, "value": _ON if on else _OFF}


def _one_of(
    name: Field, label: str, choices: Sequence[Choice], chosen: str, *, unfolded: bool = False
) -> Json:
    style = "expanded" if unfolded else "compact"
    value = f"{_GIVEN}{_written(chosen)}"
    return {**_choices(name, label, choices), "style": style, "value": value}


def _many_of(name: Field, label: str, choices: Sequence[Choice], chosen: Sequence[str]) -> Json:
    value = ",".join(f"{_GIVEN}{_written(each)}" for each in chosen)
    return {**_choices(name, label, choices), "isMultiSelect": True, "value": value}


def _choices(name: Field, label: str, choices: Sequence[Choice]) -> Json:
    offered = [
        {"title": clip(each.label, _LONGEST_LABEL), "value": f"{_GIVEN}{_written(each.value)}"}
        for each in choices
    ]
    return {"type": "Input.ChoiceSet", "id": name, "label": label, "choices": offered, "wrap": True}


def _offers_spaces(form: ChannelSettingsForm) -> bool:
    return 0 < len(form.spaces) <= _MOST_OFFERED


def _written(value: str) -> str:
    """Return a value without commas, by which Teams parts several."""
    return quote(value, safe="")


def _read(value: str) -> str:
    return unquote(value.strip().removeprefix(_GIVEN))


def _chosen(sent: Body, name: Field, before: str) -> str:
    return _read(text_at(sent, name)) if name in sent else before


def _toggled(sent: Body, name: Field, *, on: bool) -> bool:
    return text_at(sent, name) == _ON if name in sent else on


def _spaces(sent: Body, form: ChannelSettingsForm) -> tuple[str, ...]:
    given = [each.strip() for each in text_at(sent, "spaces").split(",") if each.strip()]
    return tuple(map(_read, given)) if _offers_spaces(form) else tuple(given)


def _channel(given: str) -> str:
    """Return a channel's id, also out of a link to it or to a message in it."""
    found = ROOM_ID.search(unquote(given)) if "://" in given else None
    return found[0] if found else given
