"""What an asker reads of each step."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from bot.domain.cases import Act, Actor, Notice
from bot.domain.messages import InteractionId
from bot.escalations.asker_notices import as_plain, notice_text

ANNA = Actor("u1", "Anna Lopez", "expert")
TOLD = Notice("n1", InteractionId("i1"), 2, "reply", "asker", ANNA, "Restart it.\n\nThen wait.")


def test_a_reply_is_the_persons_and_so_are_the_words() -> None:
    news = notice_text(TOLD)

    assert (news.name, news.did, news.words) == ("Anna Lopez", "answered:", TOLD.text)
    assert as_plain(news) == "Anna Lopez answered:\n\nRestart it.\n\nThen wait."


@pytest.mark.parametrize("act", [act for act in get_args(Act) if act != "release"])
def test_every_step_that_is_told_has_words_with_and_without_the_persons_own(act: Act) -> None:
    with_words = as_plain(notice_text(replace(TOLD, step=act)))
    without = as_plain(notice_text(replace(TOLD, step=act, text=" ")))

    assert with_words.startswith("Anna Lopez ")
    assert with_words.endswith(":\n\nRestart it.\n\nThen wait.")
    assert without.startswith("Anna Lopez ")
    assert without.endswith(".")
    assert "wrote" not in with_words


def test_nobody_is_called_by_no_name() -> None:
    for actor in (None, Actor("u1", " ", "expert")):
        assert as_plain(notice_text(replace(TOLD, actor=actor))).startswith(
            "Somebody at the help desk a"
        )
