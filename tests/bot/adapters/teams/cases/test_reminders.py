"""What the people's channel is reminded of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.cases import Case, CaseStatus, Notice, is_card_thread
from bot.domain.errors import DeliveryFailed
from tests.bot.adapters.teams.cases.conftest import Process
from tests.bot.adapters.teams.cases.scenes import Scene
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.escalations.fakes import case_of, notice_of
from tests.bot.recorded import answered


def waiting(scene: Scene) -> Case:
    """Return a question that has waited for half an hour."""
    since = datetime.now(UTC) - timedelta(minutes=30)
    return case_of(scene.question, opened_at=since, changed_at=since)


def ping(scene: Scene) -> Notice:
    return notice_of(scene.question, 2, step="ping", to="people", actor=None, text="")


async def test_it_is_in_the_thread_of_the_card_and_says_how_long_the_question_waits(
    scene: Scene,
) -> None:
    case_id = await scene.ask()
    ref = await scene.channel.remind(waiting(scene), ping(scene))
    card, post = scene.in_people
    assert post.thread == card.id
    assert ref is not None
    assert (ref.channel, ref.id) == (names.PEOPLE, post.id)
    assert post.text == (
        "**Nobody has taken this question yet**; it has waited for 30 minutes.\n\n> vpn?\n\n"
        f"[Take it on the board](https://desk.example.com/board/escalations/{case_id})"
    )


async def test_what_was_asked_elsewhere_is_not_quoted_and_says_where(scene: Scene) -> None:
    await scene.channel.remind(replace(waiting(scene), channel="web:anna"), ping(scene))
    (post,) = scene.in_people
    assert "Asked by web." in post.text
    assert "vpn" not in post.text, "Teams would keep it when it is withdrawn there"
    assert post.thread == post.id


async def test_markup_in_the_question_is_dead(scene: Scene) -> None:
    hostile = "<at>All</at> [x](https://evil.example)\n# big " + "word " * 200
    await scene.channel.remind(replace(waiting(scene), question=hostile), ping(scene))
    (post,) = scene.in_people
    assert "<at>" not in post.text
    assert "](https://evil" not in post.text
    assert len(post.text) < 800


async def test_a_question_that_was_opened_again_is_told_as_such(scene: Scene) -> None:
    await scene.ask()
    case = replace(waiting(scene), standing=CaseStatus("reopened"))
    await scene.channel.remind(case, replace(ping(scene), step="reopen"))
    assert "**A question was opened again** and nobody has it." in scene.in_people[1].text


@pytest.mark.mended(id="teams-2")
async def test_people_hear_that_an_answer_could_not_be_delivered(scene: Scene) -> None:
    case = case_of(scene.question, reason="undelivered")
    notice = notice_of(scene.question, 1, step="open", to="people", actor=None, text="")
    await scene.channel.remind(case, notice)
    (post,) = scene.in_people
    assert "could not be delivered" in post.text


@pytest.mark.mended(id="slack-1d")
async def test_a_thread_that_a_reminder_began_takes_no_questions(scene: Scene) -> None:
    await answered(scene.store, scene.question, "It was given, and not taken.")
    posted = await scene.channel.remind(waiting(scene), ping(scene))

    assert posted is not None
    below = replace(scene.question.thread, channel=names.PEOPLE, id=posted.id)
    assert await is_card_thread(scene.store.notes, below)


async def test_without_a_channel_there_is_nothing_to_do(scene: Scene, process: Process) -> None:
    channel = process()
    channel.people._channel = None  # noqa: SLF001  # as without the setting
    assert await channel.remind(waiting(scene), ping(scene)) is None
    assert not scene.in_people


async def test_the_same_reminder_is_posted_once_by_whichever_process(
    scene: Scene, process: Process
) -> None:
    await scene.ask()
    first = await scene.channel.remind(waiting(scene), ping(scene))
    again = await process().remind(waiting(scene), replace(ping(scene), attempts=1))
    assert first == again
    assert len(scene.in_people) == 2


async def test_a_second_reminder_is_another(scene: Scene) -> None:
    await scene.ask()
    await scene.channel.remind(waiting(scene), ping(scene))
    await scene.channel.remind(waiting(scene), replace(ping(scene), id="another", number=3))
    assert len(scene.in_people) == 3


async def test_one_that_may_have_got_through_is_posted_again(scene: Scene) -> None:
    """Teams can't be asked; better twice than never."""
    await scene.ask()
    scene.teams.fail(Fault(status=502, after=True))
    with pytest.raises(DeliveryFailed):
        await scene.channel.remind(waiting(scene), ping(scene))
    await scene.channel.remind(waiting(scene), replace(ping(scene), attempts=1))
    assert len(scene.in_people) == 3


async def test_people_are_told_what_is_no_question_with_nothing_live(scene: Scene) -> None:
    await scene.channel.tell_people("I stopped <at>All</at> in [HR](https://evil.example). --all")
    (post,) = scene.in_people
    assert "I stopped" in post.text
    assert "--all" in post.text
    assert "<at>" not in post.text
    assert "](https://evil" not in post.text
