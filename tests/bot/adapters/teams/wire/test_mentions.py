"""The bot's mention is taken out by its entity, and nothing else is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from botbuilder.core import TurnContext
from botbuilder.schema import Activity
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.payloads.markup import mentions_bot, without_mentions
from tests.bot.adapters.teams.wire.written import BOT, activity, mention

OURS = mention("Help")
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"], exclude_characters="<>&:,"),
    min_size=1,
    max_size=12,
)


def read(text: str, *entities: dict[str, Any]) -> str:
    return without_mentions(activity(text, *entities), text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<at>Help</at> vpn?", "vpn?"),
        ("<at>Help</at>: vpn?", "vpn?"),
        ("<at>Help</at>, vpn?", "vpn?"),
        ("hey <at>Help</at>, vpn?", "hey, vpn?"),
        ("hey <at>Help</at> vpn?", "hey vpn?"),
        ("vpn? <at>Help</at>", "vpn?"),
        ("<at>Help</at>", ""),
        ("a  b\n\n c <at>Help</at>", "a  b\n\n c"),
        ('<at id="0">Help</at> vpn?', "vpn?"),
    ],
)
def test_what_is_left_is_what_was_said(text: str, said: str) -> None:
    assert read(text, OURS) == said


def test_botbuilders_remove_recipient_mention_deletes_the_name_everywhere() -> None:
    """The defect that our own stripping is there for: should this fail, it is mended."""
    said = activity("<at>Help</at> Help me with the Help desk", OURS)
    theirs = TurnContext.remove_recipient_mention(Activity().deserialize({**said}))

    assert theirs.split() == ["me", "with", "the", "desk"]
    assert read(str(said["text"]), OURS) == "Help me with the Help desk"


def test_botbuilders_remove_recipient_mention_fails_on_a_malformed_entity() -> None:
    """As above."""
    broken = {"type": "mention"}
    said = activity("<at>Help</at> vpn?", broken, OURS)
    with pytest.raises(KeyError):
        TurnContext.remove_recipient_mention(Activity().deserialize({**said}))

    assert read("<at>Help</at> vpn?", broken, OURS) == "vpn?"


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "mention"},
        {"type": "mention", "mentioned": None, "text": "<at>Help</at>"},
        {"type": "mention", "mentioned": "28:bot", "text": 5},
        {"type": "mention", "mentioned": {"id": ""}, "text": "<at>Help</at>"},
        {"type": "mention", "mentioned": {"id": "29:bob"}, "text": None},
        {"type": "mention", "mentioned": {"id": "29:bob"}, "text": "  "},
        {"text": "<at>Help</at>"},
        {},
    ],
    ids=str,
)
def test_an_entity_that_says_nothing_changes_nothing(broken: dict[str, Any]) -> None:
    assert not mentions_bot(activity("vpn?", broken))
    assert read("<at>Help</at> the <at>Help</at> desk", broken, OURS) == "the <at>Help</at> desk"


def test_other_people_become_their_names_also_one_who_is_called_like_the_bot() -> None:
    bob, other = mention("Bob & Co", "29:bob"), mention("Help", "29:helga")
    said = read("<at>Help</at> ask <at>Bob &amp; Co</at> or <at>Help</at>", OURS, bob, other)

    assert said == "ask Bob & Co or Help"


def test_entities_may_come_in_another_order_than_their_mentions() -> None:
    bob = mention("Bob", "29:bob")
    assert read("<at>Help</at> is <at>Bob</at> in?", bob, OURS) == "is Bob in?"


def test_a_name_of_several_words_may_have_hard_spaces_in_one_of_the_two() -> None:
    desk = mention("Help Desk", text="<at>Help&nbsp;Desk</at>")
    assert read("<at>Help Desk</at> vpn?", desk) == "vpn?"


def test_each_entity_stands_for_one_place() -> None:
    assert read("<at>Help</at> <at>Help</at> x", OURS) == "<at>Help</at> x"
    assert read("<at>Help</at> <at>Help</at> x", OURS, OURS) == "x"


def test_a_name_that_was_put_in_is_not_read_again() -> None:
    sly = mention("x", "29:eve", text="<at>&lt;at&gt;Help&lt;/at&gt;</at>")
    said = read("<at>&lt;at&gt;Help&lt;/at&gt;</at> vpn? <at>Help</at>", sly, OURS)

    assert said == "<at>Help</at> vpn?"


@given(st.lists(st.tuples(st.booleans(), WORDS), max_size=8), st.sampled_from(["Help", "a.b", "*"]))
def test_no_text_but_the_mention_is_lost(parts: list[tuple[bool, str]], name: str) -> None:
    """Whatever else is said, the bot's own name among it: words stay, in their order."""
    ours = mention(name)
    text = " ".join(
        f"<at>{name}</at>" if named else word for named, word in [*parts, (False, name)]
    )
    entities = [ours for named, _ in parts if named]

    said = read(text, *entities)

    assert said.split() == [*(word for named, word in parts if not named), name]


@given(st.text(max_size=80))
def test_what_mentions_nobody_is_left_as_it_is(text: str) -> None:
    assert read(text) == text.strip()


@given(st.text("<at>/ Helpx", max_size=60), st.text("<at>/ Helpx&;", max_size=12))
def test_whatever_is_sent_is_read(text: str, written: str) -> None:
    assert len(read(text, mention("Help", text=written), mention("Help", "29:b"))) <= len(text) + 8


def test_a_megabyte_of_open_tags_takes_no_time() -> None:
    started = time.perf_counter()
    for piece in ("<at>", "<at ", "<at>a", " <at>Help</at>"):
        read(piece * (900_000 // len(piece)), OURS)

    assert time.perf_counter() - started < 5
    assert mentions_bot(activity("", mention("", BOT)))
