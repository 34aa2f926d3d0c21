from __future__ import annotations

from structlog.testing import capture_logs

from bot.domain.errors import StoreUnavailable
from bot.observability.logs import LastingTrouble

AWAY = StoreUnavailable("The disk is full.")


def test_it_is_said_once_that_it_began_and_once_that_it_is_over() -> None:
    trouble = LastingTrouble("news")
    with capture_logs() as logs:
        for error in (None, AWAY, AWAY, None, None):
            trouble.note(error)

    assert [line["event"] for line in logs] == ["news.troubled", "news.well_again"]
    assert logs[0]["why"] == "The disk is full."


def test_the_words_of_a_defect_are_for_nobody_but_the_log() -> None:
    trouble = LastingTrouble("news")
    with capture_logs() as logs:
        trouble.note(RuntimeError("password=hunter2"))

    assert trouble.text == "RuntimeError"
    assert isinstance(logs[0]["exc_info"], RuntimeError)
