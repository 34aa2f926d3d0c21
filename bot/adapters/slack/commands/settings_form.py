"""What a channel allows, as a modal, and what was put into it: pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from bot.adapters.slack.showing.blocks import Block, section, words
from bot.adapters.slack.wire.actions import SETTINGS_FORM
from bot.adapters.slack.wire.events import Event, id_at, object_at, text_at
from bot.chat.commands.channel_settings import ChannelSettingsForm, Choice, Field, SubmittedSettings
from bot.domain.text.markdown import clip
from bot.domain.types import Policy

_MOST_OPTIONS = 100
_SHORT = 30
_GIVEN = "="
"""Goes before every value, for Slack takes no empty one."""

_ON = "on"
_FOLLOW_UPS = "In a thread that I am in, I need not be mentioned again."
_SPACES = "I answer only from these; none chosen means all."
_PEOPLE = "Where people are asked"
_USUAL = "None chosen means the usual place. I have to be in the channel."
_CHANNEL = re.compile(r"[CG][A-Z0-9]{2,}")


def settings_view(
    form: ChannelSettingsForm, channel: str, response_url: str
) -> Mapping[str, object]:
    """Return the modal; ``response_url`` is where its result can be told."""
    return {
        "type": "modal",
        "callback_id": SETTINGS_FORM,
        "private_metadata": json.dumps({"channel": channel, "response_url": response_url}),
        "title": words("Settings"),
        "submit": words("Save"),
        "close": words("Cancel"),
        "blocks": list(_blocks(form, channel)),
    }


def saved_where(view: Event) -> tuple[str, str]:
    """Return the channel that a modal is about, and where to tell; "" for what it doesn't say."""
    try:
        about = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        about = {}
    about = about if isinstance(about, Mapping) else {}
    return id_at(about, "channel"), text_at(about, "response_url")


def filled(view: Event, before: Policy) -> SubmittedSettings:
    """Return what was put in; what the modal could not show stays as it was ``before``."""
    shown = _field(view, "spaces")
    kept = "" if is_listed(before.people) else before.people
    return SubmittedSettings(
        answers=_chosen(view, "answers"),
        follow_ups=bool(_several(view, "follow_ups")),
        spaces=tuple(_several(view, "spaces") if shown else sorted(before.spaces or ())),
        people=text_at(_field(view, "people"), "selected_conversation") or kept,
        model=_chosen(view, "model"),
        other_bots=bool(_several(view, "other_bots")),
    )


def is_listed(people: str) -> bool:
    """Tell whether Slack's list of channels can show where people are asked."""
    return _CHANNEL.fullmatch(people) is not None


def _blocks(form: ChannelSettingsForm, channel: str) -> Iterator[Block]:
    policy = form.policy
    yield section(f"What <#{channel}> allows. It holds for everybody there.")
    yield _input("answers", "I answer", _radio(form.answers, policy.answers))
    yield _boxed("follow_ups", "Follow-ups", _FOLLOW_UPS, on=policy.follow_ups)
    spaces = policy.spaces or frozenset()
    if form.spaces and len(spaces) <= _MOST_OPTIONS:
        yield _input("spaces", "Spaces", _many(form.spaces, spaces), _SPACES, optional=True)
    people = policy.people
    yield _input("people", _PEOPLE, _rooms(people), _where_people(people), optional=True)
    yield _input("model", "Answers are made by", _menu(form.models, policy.model))
    yield _boxed("other_bots", "Other bots", "Other bots may ask me.", on=policy.other_bots)


def _input(
    field: Field, label: str, element: Block, hint: str = "", *, optional: bool = False
) -> Block:
    return {
        "type": "input",
        "block_id": field,
        "label": words(label),
        "element": {**element, "action_id": field},
        "optional": optional,
        **({"hint": words(hint)} if hint else {}),
    }


def _boxed(field: Field, label: str, text: str, *, on: bool) -> Block:
    option = {"text": words(text), "value": _ON}
    boxes = {"type": "checkboxes", "options": [option]}
    return _input(
        field, label, {**boxes, "initial_options": [option]} if on else boxes, optional=True
    )


def _radio(choices: Sequence[Choice], chosen: str) -> Block:
    return {"type": "radio_buttons", **_offered(choices, chosen)}


def _menu(choices: Sequence[Choice], chosen: str) -> Block:
    return {"type": "static_select", **_offered(choices[:_MOST_OPTIONS], chosen)}


def _many(choices: Sequence[Choice], chosen: frozenset[str]) -> Block:
    """Return a menu of as many as there are, in groups where one list doesn't take them."""
    first = [_option(choice) for choice in choices if choice.value in chosen]
    begun = {"initial_options": first} if first else {}
    menu = {"type": "multi_static_select", "placeholder": words("All spaces"), **begun}
    if len(choices) <= _MOST_OPTIONS:
        return {**menu, "options": [_option(choice) for choice in choices]}
    starts = range(0, min(len(choices), _MOST_OPTIONS**2), _MOST_OPTIONS)
    return {**menu, "option_groups": [_group(choices[at : at + _MOST_OPTIONS]) for at in starts]}


def _group(choices: Sequence[Choice]) -> Block:
    label = f"{clip(choices[0].label, _SHORT)} \u2013 {clip(choices[-1].label, _SHORT)}"
    return {"label": words(label), "options": [_option(choice) for choice in choices]}


def _rooms(people: str) -> Block:
    chosen = {"initial_conversation": people} if is_listed(people) else {}
    return {
        "type": "conversations_select",
        "placeholder": words("The usual place"),
        "filter": {"include": ["public", "private"], "exclude_external_shared_channels": True},
        **chosen,
    }


def _where_people(people: str) -> str:
    """Return what is said below the list, which can't show every name."""
    if is_listed(people) or not people:
        return _USUAL
    return f"Now {clip(people, _SHORT)}; choose a channel to change it."


def _offered(choices: Sequence[Choice], chosen: str) -> Mapping[str, object]:
    options = [_option(choice) for choice in choices]
    first = [_option(choice) for choice in choices if choice.value == chosen]
    return {"options": options, **({"initial_option": first[0]} if first else {})}


def _option(choice: Choice) -> Block:
    return {"text": words(choice.label), "value": f"{_GIVEN}{choice.value}"}


def _field(view: Event, field: Field) -> Event:
    values = object_at(object_at(view, "state"), "values")
    return object_at(object_at(values, field), field)


def _chosen(view: Event, field: Field) -> str:
    return text_at(object_at(_field(view, field), "selected_option"), "value").removeprefix(_GIVEN)


def _several(view: Event, field: Field) -> list[str]:
    options = _field(view, field).get("selected_options")
    listed = options if isinstance(options, list) else []
    found = [each for each in listed if isinstance(each, Mapping)]
    return [text_at(each, "value").removeprefix(_GIVEN) for each in found]
