from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.payloads.mrkdwn import escaped, from_mrkdwn, to_mrkdwn, without_mention

BOT = frozenset({"U0BOT"})


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("<@U0BOT> vpn down?", "vpn down?"),
        ("<@U0BOT|frontdesk>: vpn down?", "vpn down?"),
        ("hey <@U0BOT> vpn down?", "hey vpn down?"),
        ("<@U0BOT> <@U2> can't log in", "<@U2> can't log in"),
        ("<@U0BOT>\n```\na  b\n```", "```\na  b\n```"),
        ("<@U0BOT>", ""),
        ("<@U0BOTTOM> is not us", "<@U0BOTTOM> is not us"),
        ("two  spaces kept", "two  spaces kept"),
    ],
)
def test_only_the_bots_own_mention_is_removed(text: str, stripped: str) -> None:
    assert without_mention(text, BOT) == stripped


def test_with_no_id_known_the_first_mention_is_taken_for_the_bots() -> None:
    assert without_mention("<@U9> ask <@U8>", frozenset()) == "ask <@U8>"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a &lt;b&gt; &amp;&amp; c", "a <b> && c"),
        ("&amp;lt;", "&lt;"),
        ("ask <@U2> or <@U3|bob>", "ask @U2 or @bob"),
        ("see <#C1|general>", "see #general"),
        ("<https://x.example/a?b=1&amp;c=2>", "https://x.example/a?b=1&c=2"),
        ("<https://x.example|the page>", "the page (https://x.example)"),
        ("<!here> <!subteam^S1|@ops> <!date^1^{date}|today>", "@here @ops today"),
    ],
)
def test_slack_notation_becomes_what_was_meant(text: str, meant: str) -> None:
    assert from_mrkdwn(text) == meant


@given(st.text(alphabet="<>&!@#|^ab/:*`\n ", max_size=80))
def test_nothing_escaped_is_live_and_nothing_is_lost(text: str) -> None:
    for shown in (escaped(text), to_mrkdwn(text)):
        assert "<" not in shown
        assert not re.search(r"&(?!amp;|lt;|gt;)", shown)
    assert from_mrkdwn(escaped(text)) == text


def test_a_quote_stays_a_quote() -> None:
    assert escaped("> a > b <c>") == "> a &gt; b &lt;c&gt;"


def test_marks_that_nothing_closes_take_no_time() -> None:
    began = time.process_time()
    to_mrkdwn("**a " * 10_000)
    assert time.process_time() - began < 4
