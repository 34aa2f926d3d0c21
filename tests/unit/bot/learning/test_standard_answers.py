"""Standard answers: when they are given first, for whom, and where; their CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.answering.answer_plan import SearchRequest
from bot.answering.standard_answers import MARK, StandardAnswers, may_mean_the_same
from bot.domain.interactions import Reply
from bot.domain.settings_loading import load_settings
from bot.learning.answer_csv import COLUMNS, row_of
from bot.learning.answer_review import CsvResult
from bot.learning.reviewed_answers import AnswerText, ReviewedAnswer
from bot.store.database import Store
from rag.factory import open_installed_embedder
from rag.ports import Embedder
from rag.search_scope import Asked, Scope
from rag.types import ANSWERS_SPACE, EVERYONE, Principal
from tests.fakes.answers import ANNA, EVERYBODY, HR, AnswerRoom, answer_room, viewer

PAYROLL = "When is payroll in December?"
TEXT = "On the 18th.\n\nIn other months on the 25th."


@pytest.fixture
async def room(store: Store, tmp_path: Path) -> AsyncIterator[AnswerRoom]:
    async with answer_room(store, tmp_path) as made:
        yield made


async def given(room: AnswerRoom, **changes: object) -> ReviewedAnswer:
    """Write a standard answer, and let it go live."""
    until = room.now() + timedelta(days=100)
    written = AnswerText(PAYROLL, TEXT, ("Pay day December?",), EVERYBODY, valid_until=until)
    draft = await room.review.write(replace(written, **changes), ANNA)  # type: ignore[arg-type]  # by name
    live = await room.review.act(draft.id, 0, "approve", None, viewer=viewer(ANNA), actor=ANNA)
    await room.shelf.runs.settled()
    return live


async def reply(
    room: AnswerRoom,
    question: str = PAYROLL,
    *principals: Principal,
    spaces: Collection[str] | None = None,
    near: Embedder | None = None,
) -> Reply | None:
    scope = Scope(
        "default",
        frozenset({EVERYONE, *principals}),
        None if spaces is None else frozenset(spaces),
    )
    found = await StandardAnswers(room.index, near).reply_to(SearchRequest(question, scope))
    return None if found is None else found.reply


async def test_it_comes_whole_and_marked_and_sure(room: AnswerRoom) -> None:
    answer = await given(room)

    found = await reply(room, "When in December is payroll")

    assert found is not None
    assert MARK in found.text
    assert TEXT in found.text
    assert found.confidence_level == "sure"
    assert [each.url for each in found.sources] == [f"/answers/{answer.id}"]


@pytest.mark.parametrize(
    ("question", "matches"),
    [
        (PAYROLL, True),
        ("pay day december", True),
        ("payroll december when?", True),
        ("When is payroll in January?", False),
        ("Who runs payroll, and is there a bonus with the salary in December?", False),
        ("When is the party in December?", False),
    ],
)
async def test_only_the_same_question_gets_it(
    room: AnswerRoom,
    question: str,
    matches: bool,  # noqa: FBT001 - a column
) -> None:
    await given(room)
    async with open_installed_embedder(load_settings()) as (near, _):
        assert (await reply(room, question, near=near) is not None) == matches


async def test_a_question_with_another_number_is_another_question() -> None:
    assert not may_mean_the_same("VPN error 809?", "VPN error 619?")
    assert may_mean_the_same("VPN error 809?", "error 809 of the VPN")


async def test_only_its_readers_get_it(room: AnswerRoom) -> None:
    await given(room, chosen=frozenset({HR}))

    assert await reply(room) is None
    assert await reply(room, PAYROLL, HR)


@pytest.mark.parametrize(
    ("own", "searched", "applies"),
    [
        (None, None, True),
        (None, {"IT", ANSWERS_SPACE}, True),
        (None, {"IT"}, False),
        ({"HR"}, None, True),
        ({"HR"}, {"HR", "IT"}, True),
        ({"HR"}, {"IT"}, False),
        ({"HR"}, {"IT", ANSWERS_SPACE}, False),
    ],
)
async def test_it_is_given_only_where_its_spaces_are_searched(
    room: AnswerRoom,
    own: set[str] | None,
    searched: set[str] | None,
    applies: bool,  # noqa: FBT001 - a column
) -> None:
    await given(room, spaces=None if own is None else frozenset(own))

    assert (await reply(room, spaces=searched) is not None) == applies


async def test_it_is_given_from_and_until_its_dates(room: AnswerRoom) -> None:
    await given(room, valid_from=room.now() + timedelta(days=3))
    assert await reply(room) is None

    room.ahead = timedelta(days=4)
    await room.run()
    assert await reply(room)

    room.ahead = timedelta(days=101)
    await room.run()
    assert await reply(room) is None


async def test_a_translated_question_is_not_answered_with_it(room: AnswerRoom) -> None:
    await given(room)
    scope = Scope("default", EVERYBODY)
    request = SearchRequest(PAYROLL, scope, asked=Asked("Wann ist Zahltag?", "de"))

    assert await StandardAnswers(room.index, None).reply_to(request) is None


async def test_an_answer_of_a_case_is_not_given_first(room: AnswerRoom) -> None:
    await room.live(await room.answered_case(PAYROLL))

    assert await reply(room) is None


def file_of(*rows: Mapping[str, str]) -> str:
    written = io.StringIO()
    table = csv.DictWriter(written, ["id", "question", "answer", "readers", "valid_until"])
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


async def take(room: AnswerRoom, text: str, *, dry_run: bool = False) -> CsvResult:
    result = await room.review.take_rows(text, viewer=viewer(ANNA, HR), actor=ANNA, dry_run=dry_run)
    await room.shelf.runs.settled()
    return result


GOOD = {"question": PAYROLL, "answer": "On the 18th.", "readers": "everyone"}


async def test_a_dry_run_says_what_would_be_and_changes_nothing(room: AnswerRoom) -> None:
    result = await take(room, file_of(GOOD), dry_run=True)

    assert (result.added, result.problems) == (1, ())
    assert await reply(room) is None
    assert await room.store.answers.find("default", ["draft", "live"], limit=9) == []


async def test_rows_of_a_file_are_given_and_bad_ones_said(room: AnswerRoom) -> None:
    bad = [
        {**GOOD, "readers": "hr team"},
        {**GOOD, "answer": ""},
        {**GOOD, "valid_until": "soon"},
        {**GOOD, "id": "unknown"},
    ]

    result = await take(room, file_of(GOOD, *bad))

    assert await reply(room)
    assert (result.added, [each.line for each in result.problems]) == (1, [3, 4, 5, 6])


async def test_a_file_that_is_sent_twice_adds_its_rows_once(room: AnswerRoom) -> None:
    text = file_of(GOOD)

    assert [(await take(room, text)).added for _ in range(2)] == [1, 0]


async def test_what_is_written_into_a_file_is_read_back_unchanged(room: AnswerRoom) -> None:
    today = room.now().replace(hour=0, minute=0, second=0, microsecond=0)
    until = today + timedelta(days=9)
    answer = await given(
        room, spaces=frozenset({"HR", "IT"}), valid_until=until, chosen=frozenset({HR, EVERYONE})
    )
    row = dict(zip(COLUMNS, map(str, row_of(answer)), strict=True))

    def written(**changes: str) -> str:
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS)
        table.writeheader()
        table.writerow({**row, **changes})
        return text.getvalue()

    same = await take(room, written())
    assert (same.added, same.changed, same.problems) == (0, 0, ())
    other = await take(room, written(answer="On the 17th."))
    assert other.changed == 1
    found = await reply(room)
    assert found is not None
    assert "On the 17th." in found.text
