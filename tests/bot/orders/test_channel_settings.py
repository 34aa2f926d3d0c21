from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.channel_settings import (
    ChannelSettingsForm,
    Field,
    InvalidSettings,
    SubmittedSettings,
    build_form,
    describe_changes,
    read_form,
)
from bot.domain.messages import NO_MODEL, Policy

FILLED = SubmittedSettings(answers="mentions")


def form(policy: Policy = Policy(), usual: str | None = "gpt") -> ChannelSettingsForm:  # noqa: B008 - frozen
    return build_form("slack:C1", policy, spaces=["HR", "IT"], models=["small"], usual=usual)


def test_what_is_offered_is_what_there_is() -> None:
    shown = form()

    assert [choice.value for choice in shown.answers] == ["mentions", "questions", "off"]
    assert [choice.value for choice in shown.spaces] == ["HR", "IT"]
    assert [choice.value for choice in shown.models] == ["", NO_MODEL, "small"]
    assert [choice.value for choice in form(usual=None).models] == [""]


def test_what_was_chosen_and_is_gone_can_be_kept() -> None:
    policy = Policy(frozenset({"OLD", "HR"}), model="big")
    shown = form(policy)

    assert [choice.value for choice in shown.spaces] == ["HR", "IT", "OLD"]
    assert "big (not configured any more)" in [choice.label for choice in shown.models]
    kept = replace(FILLED, spaces=("OLD", "HR"), model="big")
    assert read_form(kept, shown) == policy
    assert describe_changes(policy, policy, shown) == ()


def test_all_fields_become_the_policy() -> None:
    filled = SubmittedSettings(
        answers="questions",
        follow_ups=True,
        spaces=("IT", "HR"),
        people="C9",
        model=NO_MODEL,
        other_bots=True,
    )

    assert read_form(filled, form()) == Policy(
        spaces=frozenset({"HR", "IT"}),
        answers="questions",
        follow_ups=True,
        people="C9",
        model=NO_MODEL,
        other_bots=True,
    )


def test_no_space_chosen_is_all() -> None:
    assert read_form(FILLED, form()) == Policy()


@pytest.mark.parametrize(
    ("filled", "field", "said"),
    [
        (replace(FILLED, answers="always"), "answers", "\u201calways\u201d"),
        (replace(FILLED, spaces=("HR", "PAY")), "spaces", "PAY"),
        (replace(FILLED, model="huge"), "model", "\u201chuge\u201d"),
        (replace(FILLED, people="the help channel"), "people", "no channel"),
        (replace(FILLED, people="C" * 999), "people", "no channel"),
    ],
)
def test_what_can_not_be_taken_is_told_at_its_field(
    filled: SubmittedSettings, field: Field, said: str
) -> None:
    wrong = read_form(filled, form())

    assert isinstance(wrong, InvalidSettings)
    assert list(wrong.errors) == [field]
    assert said in wrong.errors[field]


def test_all_that_is_wrong_is_told_at_once() -> None:
    filled = SubmittedSettings(answers="", spaces=("X",), people=" ", model="y")

    wrong = read_form(filled, form())

    assert isinstance(wrong, InvalidSettings)
    assert set(wrong.errors) == {"answers", "spaces", "people", "model"}


def test_what_is_different_is_said_in_words() -> None:
    after = Policy(frozenset({"HR"}), "questions", True, "C9", NO_MODEL, True)  # noqa: FBT003 - as stored

    assert describe_changes(Policy(), after, form()) == (
        "I answer: also questions addressed to nobody, if I am sure.",
        "In a thread that I am in, no mention is needed.",
        "I answer from HR.",
        "People are asked in C9.",
        "Answers are made by: the pages' own words, without a model.",
        "Other bots may ask me.",
    )
    assert len(describe_changes(after, Policy(), form())) == 6


POLICIES = st.builds(
    Policy,
    spaces=st.none() | st.frozensets(st.sampled_from(["HR", "IT"]), min_size=1),
    answers=st.sampled_from(["mentions", "questions", "off"]),
    follow_ups=st.booleans(),
    people=st.sampled_from(["", "C1", "C2"]),
    model=st.sampled_from(["", NO_MODEL, "small"]),
    other_bots=st.booleans(),
)


@given(before=POLICIES, after=POLICIES)
def test_what_is_filled_in_comes_out_and_each_difference_is_one_sentence(
    before: Policy, after: Policy
) -> None:
    filled = SubmittedSettings(
        answers=after.answers,
        follow_ups=after.follow_ups,
        spaces=tuple(after.spaces or ()),
        people=after.people,
        model=after.model,
        other_bots=after.other_bots,
    )
    fields = ("spaces", "answers", "follow_ups", "people", "model", "other_bots")
    different = [name for name in fields if getattr(before, name) != getattr(after, name)]

    assert read_form(filled, form(before)) == after
    assert len(describe_changes(before, after, form(before))) == len(different)
