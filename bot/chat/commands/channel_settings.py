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
from bot.domain.texts import join_texts, tr

ALL_SPACES = "*"
"""The choice of all spaces; no space is called so."""

Field = Literal["spaces", "answers", "follow_ups", "people", "model", "other_bots", "reviewers"]
GENERAL_FIELD: Field = "answers"
"""The field that shows errors which concern no single field."""

LONGEST_NAME = 200
"""Characters of a channel's name."""

_ANSWERS: Mapping[AnswerMode, str] = {
    "mentions": tr("When I'm mentioned"),
    "questions": tr("Also to questions not addressed to anyone, if I'm sure"),
    "shadow": tr("Never, but let reviewers rate what I would have said"),
    "off": tr("Never"),
}
SETTINGS_CHANGED = tr(
    "Someone else has changed these settings in the meantime, so nothing was saved. Here are the "
    "current ones."
)
_PAGES_WORDS = tr("Quote the pages, without a model")
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
        return (Choice(ALL_SPACES, tr("All spaces")), *self.spaces)

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
        errors["answers"] = tr("{given} is not a valid choice.", given=quote_input(filled.answers))
    spaces = frozenset(filled.spaces)
    if problem := _spaces_problem(spaces, form):
        errors["spaces"] = problem
    if filled.model not in {choice.value for choice in form.models}:
        errors["model"] = tr(
            "{given} can't be used here. Choose one from the list.",
            given=quote_input(filled.model),
        )
    if not _is_name(filled.people):
        errors["people"] = tr("{given} is not a channel.", given=quote_input(filled.people))
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
        return tr("Nobody would read the drafts. Name at least one member of this channel.")
    wrong = [each for each in filled.reviewers if not each or not _is_name(each)]
    if not wrong:
        return ""
    return tr("{given} is not a user id. Enter people by their ids.", given=quote_input(wrong[0]))


def _spaces_problem(chosen: frozenset[str], form: ChannelSettingsForm) -> str:
    """Return why these spaces can't be saved; an empty choice never comes to mean all."""
    unknown = tuple(sorted(chosen - {choice.value for choice in form.space_choices}))
    if unknown:
        return tr(
            "There is no space {names}. Choose from the list.", names=join_names(unknown, _NAMED)
        )
    if ALL_SPACES in chosen and len(chosen) > 1:
        return tr("You selected all spaces and single ones. Choose one or the other.")
    if not chosen and form.policy.spaces != chosen:
        return tr(
            "No space is selected. Choose some, or all, or \u201c{never}\u201d above.",
            never=_ANSWERS["off"],
        )
    return ""


def describe_changes(before: Policy, after: Policy, form: ChannelSettingsForm) -> tuple[str, ...]:
    """Return a sentence per changed field; nothing if both are equal."""
    return tuple(_each_change(before, after, form))


def _each_change(before: Policy, after: Policy, form: ChannelSettingsForm) -> Iterator[str]:
    if before.answers != after.answers:
        yield tr("I answer: {when}.", when=_ANSWERS_IN_WORDS[after.answers])
    if before.follow_ups != after.follow_ups:
        yield _FOLLOW_UPS[after.follow_ups]
    if before.spaces != after.spaces:
        named = join_names(tuple(sorted(after.spaces or ())), _NAMED)
        yield tr("I answer from {spaces}.", spaces=_ALL_SPACES if after.spaces is None else named)
    if before.people != after.people:
        yield tr("People are asked in {place}.", place=after.people or _USUAL_PLACE)
    if before.model != after.model:
        labels = {choice.value: choice.label for choice in form.models}
        yield tr("Answers come from: {model}.", model=labels.get(after.model, after.model))
    if before.reviewers != after.reviewers:
        yield tr("Drafts are rated by: {people}.", people=_people_in_words(after.reviewers))
    if before.other_bots != after.other_bots:
        yield _OTHER_BOTS[after.other_bots]


_ALL_SPACES = tr("all spaces")
_USUAL_PLACE = tr("the usual place")
_FOLLOW_UPS: Mapping[bool, str] = {
    True: tr("In threads I'm in, no mention is needed."),
    False: tr("In threads I'm in, I have to be mentioned again."),
}
_OTHER_BOTS: Mapping[bool, str] = {
    True: tr("Other bots can ask me."),
    False: tr("Other bots can't ask me."),
}


def _model_choices(chosen: str, models: Sequence[str], usual: str | None) -> Iterator[Choice]:
    """Yield what is usual first: a model, or without one the pages' own words."""
    if usual is None:
        yield Choice("", _PAGES_WORDS)
    else:
        yield Choice("", tr("The usual model ({name})", name=usual))
        yield Choice(NO_MODEL, _PAGES_WORDS)
    yield from (Choice(name, name) for name in models if name != usual)
    offered = {*models} if usual is None else {NO_MODEL, *models} - {usual}
    if chosen not in {"", *offered}:
        gone = tr("{name} (no longer configured)", name=chosen)
        label = _PAGES_WORDS if chosen == NO_MODEL else gone
        yield Choice(chosen, label)


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and text.isprintable() and " " not in text


_ANSWERS_IN_WORDS: Mapping[AnswerMode, str] = {
    "mentions": tr("when mentioned"),
    "questions": tr("when mentioned, and questions not addressed to anyone if it is sure"),
    "shadow": tr("never; reviewers rate what it would have said"),
    "off": tr("never"),
}


def policy_in_words(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Return each field of a policy as name and description."""
    return (
        (tr("answers"), _ANSWERS_IN_WORDS[policy.answers]),
        (
            tr("follow-ups"),
            tr("without a mention") if policy.follow_ups else tr("when mentioned again"),
        ),
        (tr("spaces"), spaces_in_words(policy)),
        (tr("people"), policy.people or tr("as in the server settings")),
        (tr("model"), _model_in_words(policy)),
        (tr("other bots"), tr("can ask") if policy.other_bots else tr("are ignored")),
        (tr("reviewers"), _people_in_words(policy.reviewers)),
    )


def _people_in_words(ids: frozenset[str]) -> str:
    return join_names(tuple(sorted(ids)), _NAMED) if ids else tr("nobody")


def audited_policy_in_words(text: str) -> str:
    """Return an audited policy (JSON) in words; any other text unchanged."""
    try:
        policy = TypeAdapter(Policy).validate_python(json.loads(text)["value"])
    except (ValueError, KeyError, TypeError):
        return text
    return join_texts("; ", (join_texts(": ", each) for each in policy_in_words(policy)))


def policy_differences(policy: Policy) -> tuple[str, ...]:
    """Return the spaces, and the other fields that differ from the default policy."""
    usual = policy_in_words(Policy(spaces=policy.spaces))
    own = [join_texts(": ", each) for each in policy_in_words(policy) if each not in usual]
    return (spaces_in_words(policy), *own)


def spaces_in_words(policy: Policy) -> str:
    """Return the names of the spaces that a channel is answered from."""
    if policy.spaces is None:
        return tr("all")
    return ", ".join(sorted(policy.spaces)) or tr("none")


def _model_in_words(policy: Policy) -> str:
    if policy.model == NO_MODEL:
        return tr("none, quotes the pages")
    return policy.model or tr("the configured one")
