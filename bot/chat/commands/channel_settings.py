"""Render a channel's policy as text and as a form, validate the form and describe changes.

Pure. The form's fields have the names of bot.domain.messages.Policy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import TypeAdapter

from bot.chat.commands.parsing import quote_input
from bot.domain.formatting import join_names
from bot.domain.messages import NO_MODEL, AnswerMode, Policy

ALL_SPACES = "*"
"""The choice of all spaces; no space is called so."""

Field = Literal["spaces", "answers", "follow_ups", "people", "model", "other_bots", "reviewers"]
GENERAL_FIELD: Field = "answers"
"""The field that shows errors which concern no single field."""

LONGEST_NAME = 200
"""Characters of a channel's name."""

_ANSWERS: Mapping[AnswerMode, str] = {
    "mentions": "When I am mentioned",
    "questions": "Also questions addressed to nobody, if I am sure",
    "shadow": "Never, but let reviewers judge what I would have said",
    "off": "Never",
}
SETTINGS_CHANGED = (
    "Somebody else changed these settings meanwhile, so nothing was saved. They are shown as they "
    "are now."
)
_PAGES_WORDS = "The pages' own words, without a model"
_NAMED = 20
_VERSION_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a form field, with its label."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettingsForm:
    """The settings form of a channel (``platform:channel``), with the current policy.

    A selected option that no longer exists is still offered, so that saving changes only what the
    user changed. ``people`` "" and ``model`` "" are as in Policy.
    """

    channel: str
    policy: Policy
    answers: tuple[Choice, ...]
    spaces: tuple[Choice, ...]
    models: tuple[Choice, ...]

    @property
    def space_choices(self) -> tuple[Choice, ...]:
        """The spaces, after the choice of all of them."""
        return (Choice(ALL_SPACES, "All spaces"), *self.spaces)

    @property
    def version(self) -> str:
        """A short text that differs for every policy, which the platform's form sends back."""
        shown = repr(current_values(self.policy))
        return hashlib.sha256(shown.encode()).hexdigest()[:_VERSION_LENGTH]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedSettings:
    """The submitted values of the form, as the platform sent them.

    ``spaces`` are names, or ALL_SPACES alone; none only where the policy allows none already.
    """

    answers: str
    follow_ups: bool = False
    spaces: tuple[str, ...] = ()
    people: str = ""
    model: str = ""
    other_bots: bool = False
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidSettings:
    """Submitted values that were not saved, with the errors by field, each with its cure."""

    errors: Mapping[Field, str]
    form: ChannelSettingsForm
    filled: SubmittedSettings


@dataclass(frozen=True, slots=True)
class OutdatedSettings:
    """Submitted values that were not saved, as the policy is another than the form showed.

    ``form`` has the present policy; SETTINGS_CHANGED tells the user.
    """

    form: ChannelSettingsForm


def build_form(
    channel: str, policy: Policy, *, spaces: Iterable[str], models: Sequence[str], usual: str | None
) -> ChannelSettingsForm:
    """Return the form. ``models`` are offered beside the ``usual`` one (None: no model)."""
    there = sorted({*spaces, *(policy.spaces or ())})
    return ChannelSettingsForm(
        channel=channel,
        policy=policy,
        answers=tuple(Choice(value, label) for value, label in _ANSWERS.items()),
        spaces=tuple(Choice(name, name) for name in there),
        models=tuple(_model_choices(policy.model, models, usual)),
    )


def current_values(policy: Policy) -> SubmittedSettings:
    """Return what a form that nobody changed submits."""
    return SubmittedSettings(
        answers=policy.answers,
        follow_ups=policy.follow_ups,
        spaces=(ALL_SPACES,) if policy.spaces is None else tuple(sorted(policy.spaces)),
        people=policy.people,
        model=policy.model,
        other_bots=policy.other_bots,
        reviewers=tuple(sorted(policy.reviewers)),
    )


def read_form(filled: SubmittedSettings, form: ChannelSettingsForm) -> Policy | InvalidSettings:
    """Return the submitted policy, or the validation errors by field."""
    errors: dict[Field, str] = {}
    answers = next((mode for mode in get_args(AnswerMode) if mode == filled.answers), None)
    if answers is None:
        errors["answers"] = f"{quote_input(filled.answers)} is none of the choices. Choose one."
    spaces = frozenset(filled.spaces)
    if problem := _spaces_problem(spaces, form):
        errors["spaces"] = problem
    if filled.model not in {choice.value for choice in form.models}:
        errors["model"] = (
            f"{quote_input(filled.model)} can't be used here. Choose one from the list."
        )
    if not _is_name(filled.people):
        errors["people"] = f"{quote_input(filled.people)} is no channel. Choose one, or none."
    if problem := _reviewers_problem(filled):
        errors["reviewers"] = problem
    if errors or answers is None:
        return InvalidSettings(errors, form, filled)
    return Policy(
        spaces=None if ALL_SPACES in spaces else spaces,
        answers=answers,
        follow_ups=filled.follow_ups,
        people=filled.people,
        model=filled.model,
        other_bots=filled.other_bots,
        reviewers=frozenset(filled.reviewers),
    )


def _reviewers_problem(filled: SubmittedSettings) -> str:
    """Return why these reviewers can't be saved; drafts that nobody reads would be for nothing."""
    if filled.answers == "shadow" and not filled.reviewers:
        return "Nobody would read the drafts. Name at least one member of this channel."
    wrong = [each for each in filled.reviewers if not each or not _is_name(each)]
    return f"{quote_input(wrong[0])} is nobody's id. Name people by their ids." if wrong else ""


def _spaces_problem(chosen: frozenset[str], form: ChannelSettingsForm) -> str:
    """Return why these spaces can't be saved; an empty choice never comes to mean all."""
    unknown = tuple(sorted(chosen - {choice.value for choice in form.space_choices}))
    if unknown:
        return f"There is no space {join_names(unknown, _NAMED)}. Choose from the list."
    if ALL_SPACES in chosen and len(chosen) > 1:
        return "All spaces and single ones are chosen. Choose the one or the others."
    if not chosen and form.policy.spaces != chosen:
        return f"No space is chosen. Choose some, or all, or \u201c{_ANSWERS['off']}\u201d above."
    return ""


def describe_changes(before: Policy, after: Policy, form: ChannelSettingsForm) -> tuple[str, ...]:
    """Return a sentence per changed field; nothing if both are equal."""
    return tuple(_each_change(before, after, form))


def _each_change(before: Policy, after: Policy, form: ChannelSettingsForm) -> Iterator[str]:
    if before.answers != after.answers:
        yield f"I answer: {_lower(_ANSWERS[after.answers])}."
    if before.follow_ups != after.follow_ups:
        how = "no mention is needed" if after.follow_ups else "I have to be mentioned again"
        yield f"In a thread that I am in, {how}."
    if before.spaces != after.spaces:
        named = join_names(tuple(sorted(after.spaces or ())), _NAMED)
        yield f"I answer from {'all spaces' if after.spaces is None else named}."
    if before.people != after.people:
        yield f"People are asked in {after.people or 'the usual place'}."
    if before.model != after.model:
        labels = {choice.value: choice.label for choice in form.models}
        yield f"Answers are made by: {_lower(labels.get(after.model, after.model))}."
    if before.reviewers != after.reviewers:
        yield f"Drafts are judged by: {_people_in_words(after.reviewers)}."
    if before.other_bots != after.other_bots:
        yield f"Other bots {'may' if after.other_bots else 'may not'} ask me."


def _model_choices(chosen: str, models: Sequence[str], usual: str | None) -> Iterator[Choice]:
    """Yield what is usual first: a model, or without one the pages' own words."""
    if usual is None:
        yield Choice("", _PAGES_WORDS)
    else:
        yield Choice("", f"The usual model ({usual})")
        yield Choice(NO_MODEL, _PAGES_WORDS)
    yield from (Choice(name, name) for name in models if name != usual)
    offered = {*models} if usual is None else {NO_MODEL, *models} - {usual}
    if chosen not in {"", *offered}:
        label = _PAGES_WORDS if chosen == NO_MODEL else f"{chosen} (not configured any more)"
        yield Choice(chosen, label)


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and text.isprintable() and " " not in text


def _lower(text: str) -> str:
    """Return a label to end a sentence with, in lower case unless it begins with "I"."""
    return text if text[:2] == "I " else f"{text[:1].lower()}{text[1:]}"


_ANSWERS_IN_WORDS: Mapping[AnswerMode, str] = {
    "mentions": "when it is mentioned",
    "questions": "when it is mentioned, and questions addressed to nobody if it is sure",
    "shadow": "never; reviewers judge what it would have said",
    "off": "never",
}


def policy_in_words(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Return each field of a policy as name and description."""
    return (
        ("answers", _ANSWERS_IN_WORDS[policy.answers]),
        ("follow-ups", "without a mention" if policy.follow_ups else "when it is mentioned again"),
        ("spaces", spaces_in_words(policy)),
        ("people", policy.people or "where the settings say"),
        ("model", _model_in_words(policy)),
        ("other bots", "may ask" if policy.other_bots else "are not heard"),
        ("reviewers", _people_in_words(policy.reviewers)),
    )


def _people_in_words(ids: frozenset[str]) -> str:
    return join_names(tuple(sorted(ids)), _NAMED) if ids else "nobody"


def audited_policy_in_words(text: str) -> str:
    """Return an audited policy (JSON) in words; any other text unchanged."""
    try:
        policy = TypeAdapter(Policy).validate_python(json.loads(text)["value"])
    except (ValueError, KeyError, TypeError):
        return text
    return "; ".join(f"{name}: {words}" for name, words in policy_in_words(policy))


def policy_differences(policy: Policy) -> tuple[str, ...]:
    """Return the spaces, and the other fields that differ from the default policy."""
    usual = policy_in_words(Policy(spaces=policy.spaces))
    own = [
        f"{name}: {words}" for name, words in policy_in_words(policy) if (name, words) not in usual
    ]
    return (spaces_in_words(policy), *own)


def spaces_in_words(policy: Policy) -> str:
    """Return the names of the spaces that a channel is answered from."""
    if policy.spaces is None:
        return "all"
    return ", ".join(sorted(policy.spaces)) or "none"


def _model_in_words(policy: Policy) -> str:
    if policy.model == NO_MODEL:
        return "none: in the pages' own words"
    return policy.model or "the configured one"
