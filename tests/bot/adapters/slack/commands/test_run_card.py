"""A run as a message: Slack takes it whatever it holds, and nothing in it is live."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.commands.run_status import RunProblem, RunStatus
from bot.platforms.slack.client.posting import blocks_of
from bot.platforms.slack.commands.reindex_runs import run_message
from bot.platforms.slack.commands.slash_commands import plain_message
from tests.bot.adapters.slack.blocks import BLOCK_TYPES, refusal
from tests.bot.adapters.slack.workspace.names import ALICE

EVIL = "<!channel> <@U0CEO0000> <https://evil.example|x> &lt;!here&gt; ```*_~ > & "
LIVE = re.compile(r"<(?!@U0ALICE00>)")
names = st.text(max_size=400) | st.just(EVIL * 8)
troubles = st.builds(RunProblem, names, names, names, names, st.booleans())
runs = st.builds(
    RunStatus,
    run_id=st.just("r1"),
    state=st.sampled_from(["waiting", "running", "done", "failed", "cancelled", "interrupted"]),
    space=st.none() | names,
    at_space=names,
    pages=st.integers(0, 9),
    total=st.integers(0, 9),
    failed=st.integers(0, 10**6),
    troubles=st.lists(troubles, max_size=5).map(tuple),
    note=names,
    ended=st.booleans(),
)


@given(told=runs, alone=st.booleans())
def test_whatever_it_tells_slack_takes_it_and_nothing_is_live(told: RunStatus, alone: bool) -> None:  # noqa: FBT001
    for form in run_message(told, user=ALICE, alone=alone):
        shown = {"text": form.text, "blocks": blocks_of(form) or []}
        assert refusal(shown, BLOCK_TYPES) == ""
        assert len(form.text) <= 4_000
        assert not LIVE.search(str(shown))


@given(st.text(max_size=500) | st.just(EVIL * 300))
def test_whatever_is_said_of_an_order_slack_takes_it_and_nothing_is_live(text: str) -> None:
    form = plain_message(text)
    shown = {"text": form.text or "x", "blocks": blocks_of(form) or []}
    assert refusal(shown, BLOCK_TYPES) == ""
    assert not LIVE.search(str(shown))


@pytest.mark.parametrize("ended", [True, False])
def test_it_can_be_cancelled_until_its_end(*, ended: bool) -> None:
    told = replace(RunStatus(run_id="r1", state="running"), ended=ended)
    kinds = [block["type"] for block in run_message(told, user=ALICE, alone=False)[0].blocks]
    assert ("actions" in kinds) is not ended


def test_who_ordered_is_named_where_others_read_it() -> None:
    told = RunStatus(run_id="r1", state="running")
    for alone in (True, False):
        shown = str(run_message(told, user=ALICE, alone=alone)[0].blocks)
        assert (f"<@{ALICE}>" in shown) is not alone
