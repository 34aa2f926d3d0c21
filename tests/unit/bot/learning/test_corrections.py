"""Tests of corrections, over a real index and record: found, held back, told, retried."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.interactions import Delivery, PostedRef, Reply
from bot.domain.messages import Person
from bot.learning.corrections import CorrectionLimits, correction_line, with_correction
from bot.learning.quote_fates import QuoteFate
from bot.learning.quote_watch import STORM_PAGES
from bot.store.database import Store
from rag.index.embedded.index import open_index
from rag.types import ANSWERS_SPACE, EVERYONE, Principal, Readers
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON
from tests.fakes.corrections import Corrections, EditingChannel, ListedRuns, Wiki

QUOTE = "Restart the client."
VPN = ("vpn", QUOTE)
HR: Readers = (frozenset({Principal("group:hr")}),)
IN_HR = frozenset({Principal("group:hr"), EVERYONE})


@pytest.fixture
async def corrections(store: Store, tmp_path: Path) -> AsyncIterator[Corrections]:
    index = await open_index(tmp_path / "index.sqlite", None)
    wiki = Wiki(index, ListedRuns())
    await wiki.write("vpn", f"If it hangs: {QUOTE}")
    yield Corrections(store, wiki)
    await index.close()


class Away:
    """A directory that is away."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        return frozenset({EVERYONE})


def undated(line: str) -> str:
    """Return a line without its day: the real clock may pass midnight in a test."""
    return line.partition(": ")[2]


CHANGED = undated(correction_line("changed", NOON))


def lines(edited: Sequence[Delivery]) -> list[str]:
    remarks = [each.outcome.remarks for each in edited]
    return [undated(each[-1]) if each else "" for each in remarks]


async def states(corrections: Corrections) -> dict[str, tuple[int, int, int, int]]:
    found = await corrections.store.corrections.pages("default", 50, 0)
    return {each.page: (each.told, each.noted, each.refused, each.waiting) for each in found}


async def test_an_answer_is_edited_once_its_quote_is_gone(corrections: Corrections) -> None:
    asked = await corrections.answer(VPN)
    await corrections.run()
    assert not corrections.channel.edited

    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    await corrections.run(hours=2)

    (edited,) = corrections.channel.edited
    assert asked.outcome is not None
    assert edited.outcome.response == asked.outcome.response
    assert lines([edited]) == [CHANGED]
    assert await states(corrections) == {"vpn": (1, 0, 0, 0)}
    recorded = (await corrections.recorded(asked)).outcome
    assert recorded is not None
    assert recorded.remarks == edited.outcome.remarks
    (audited, *_) = await corrections.store.audits.newest("default", 5)
    assert (audited.act, audited.subject, audited.detail) == ("answers.correct", "IT/vpn", "1 told")


async def test_an_edit_that_keeps_the_quote_corrects_nothing(corrections: Corrections) -> None:
    await corrections.answer(VPN)
    await corrections.run()

    await corrections.wiki.write("vpn", f"New words. {QUOTE}")
    await corrections.run()

    assert not corrections.channel.edited


async def test_a_page_that_changes_again_is_not_told_again(corrections: Corrections) -> None:
    await corrections.answer(VPN)
    for text in ("Call the desk.", "Write to the desk."):
        await corrections.wiki.write("vpn", text)
        await corrections.run()

    assert len(corrections.channel.edited) == 1


async def test_each_further_change_is_told_again(corrections: Corrections) -> None:
    await corrections.wiki.write("mfa", "Press the key.")
    await corrections.answer(VPN, ("mfa", "Press the key."))
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    await corrections.wiki.write("mfa", "Take the token.")
    await corrections.run()

    assert len(corrections.channel.edited) == 2
    assert len(corrections.channel.edited[-1].outcome.remarks) == 1


@pytest.mark.parametrize("deleted", [True, False], ids=["deleted", "restricted"])
async def test_a_closed_page_takes_the_answer_away(
    corrections: Corrections, *, deleted: bool
) -> None:
    asked = await corrections.answer(VPN)
    await corrections.run()
    if deleted:
        await corrections.wiki.delete("vpn")
    else:
        await corrections.wiki.restrict("vpn", HR)
    await corrections.run()
    await corrections.run(minutes=40)

    (edited,) = corrections.channel.edited
    assert isinstance(edited.outcome.response, Reply)
    assert edited.outcome.response.sources == ()
    assert "vpn" not in edited.outcome.response.text
    assert asked.outcome is not None
    assert asked.outcome.response.text not in edited.outcome.response.text


async def test_an_answer_told_as_changed_is_told_again_when_its_page_closes(
    corrections: Corrections,
) -> None:
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    await corrections.wiki.restrict("vpn", HR)
    await corrections.run()

    assert len(corrections.channel.edited) == 2
    assert not corrections.channel.edited[-1].outcome.remarks


async def test_who_may_still_read_a_restricted_page_keeps_the_answer(
    corrections: Corrections,
) -> None:
    await corrections.answer(VPN, private=True, principals=IN_HR)
    await corrections.answer(VPN, private=True)
    await corrections.run()
    await corrections.wiki.restrict("vpn", HR)
    await corrections.run()

    (edited,) = corrections.channel.edited
    assert edited.message.author.principals == frozenset()


async def test_a_directory_that_is_away_takes_no_answer_with_a_changed_page(
    corrections: Corrections,
) -> None:
    await corrections.wiki.write("pay", QUOTE, readers=HR)
    await corrections.answer(VPN, ("pay", QUOTE), private=True, principals=IN_HR)
    await corrections.run()

    corrections.directory = Away()
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    (edited,) = corrections.channel.edited
    assert edited.outcome.response.text == "It is so [1]."
    assert lines([edited]) == [CHANGED]


async def test_a_directory_that_is_away_closes_nothing(corrections: Corrections) -> None:
    await corrections.wiki.restrict("vpn", HR)
    await corrections.answer(VPN, private=True, principals=IN_HR)
    await corrections.run()
    corrections.directory = Away()
    await corrections.wiki.write("vpn", f"{QUOTE} Then wait.", readers=HR)
    await corrections.run()

    assert not corrections.channel.edited


async def test_a_page_that_moved_with_its_quote_corrects_nothing(
    corrections: Corrections,
) -> None:
    await corrections.answer(VPN)
    await corrections.run()
    await corrections.wiki.delete("vpn")
    await corrections.run()
    await corrections.wiki.write("vpn", QUOTE, space="HELP")
    await corrections.run(minutes=40)
    assert not corrections.channel.edited
    assert await states(corrections) == {}

    await corrections.wiki.write("vpn", "Call the desk.", space="HELP")
    await corrections.run()
    assert lines(corrections.channel.edited) == [CHANGED]


async def test_a_page_that_is_gone_waits_for_every_run(corrections: Corrections) -> None:
    await corrections.answer(VPN)
    await corrections.run()
    await corrections.wiki.delete("vpn")
    await corrections.run()
    corrections.wiki.runs.begins("HELP")
    await corrections.run(minutes=40)
    assert not corrections.channel.edited

    corrections.wiki.runs.ends()
    await corrections.run(minutes=5)
    assert len(corrections.channel.edited) == 1


async def test_a_quote_that_is_back_is_watched_again(corrections: Corrections) -> None:
    corrections.channel.error = DeliveryFailed("away")
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    corrections.channel.error = None
    await corrections.wiki.write("vpn", QUOTE)
    await corrections.run(hours=1)
    assert not corrections.channel.edited

    await corrections.wiki.write("vpn", "Call the desk again.")
    await corrections.run()
    assert len(corrections.channel.edited) == 1


async def test_nothing_is_corrected_while_the_space_is_synced(corrections: Corrections) -> None:
    await corrections.answer(VPN)
    await corrections.run()
    await corrections.wiki.write("vpn", "Call the desk.")
    corrections.wiki.runs.begins("IT")
    await corrections.run()
    assert not corrections.channel.edited

    corrections.wiki.runs.ends()
    await corrections.run(minutes=5)
    assert len(corrections.channel.edited) == 1


async def test_what_was_found_waits_for_a_run_that_began_since(corrections: Corrections) -> None:
    corrections.channel.error = DeliveryFailed("away")
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    corrections.channel.error = None
    corrections.wiki.runs.begins("IT")
    await corrections.run(minutes=5)
    assert not corrections.channel.edited

    corrections.wiki.runs.ends()
    await corrections.run(minutes=5)
    assert len(corrections.channel.edited) == 1


async def test_a_space_that_was_skipped_is_looked_at_when_its_run_vanishes(
    corrections: Corrections,
) -> None:
    await corrections.answer(VPN)
    await corrections.run()
    await corrections.wiki.write("vpn", "Call the desk.")
    corrections.wiki.runs.begins("IT")
    await corrections.run()
    del corrections.wiki.runs.runs[0]  # as one that changed nothing
    await corrections.run()

    assert len(corrections.channel.edited) == 1


async def test_what_was_found_is_told_after_a_kill(corrections: Corrections) -> None:
    class Killed(EditingChannel):
        async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
            raise StoreUnavailable("The process died here.")

    healthy, corrections.channel = corrections.channel, Killed()
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    with pytest.raises(StoreUnavailable):
        await corrections.run()

    corrections.channel = healthy
    await corrections.run()
    assert len(corrections.channel.edited) == 1


async def test_where_the_answer_cant_be_edited_the_asker_gets_a_note(
    corrections: Corrections,
) -> None:
    corrections.channel.error = DeliveryRefused("locked")
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    (note,) = corrections.channel.notes
    assert CHANGED in note
    assert await states(corrections) == {"vpn": (0, 1, 0, 0)}


async def test_what_a_platform_takes_neither_way_is_recorded_as_refused(
    corrections: Corrections,
) -> None:
    corrections.channel.error = corrections.channel.note_error = DeliveryRefused("blocked")
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    assert await states(corrections) == {"vpn": (0, 0, 1, 0)}


async def test_a_platform_that_is_away_is_tried_for_a_day(corrections: Corrections) -> None:
    corrections.channel.error = DeliveryFailed("away")
    await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    assert await states(corrections) == {"vpn": (0, 0, 0, 1)}

    await corrections.run(hours=25)
    assert await states(corrections) == {"vpn": (0, 0, 1, 0)}


async def test_a_platform_without_a_channel_shows_it_from_the_record(
    corrections: Corrections,
) -> None:
    asked = await corrections.answer(VPN, platform="web", private=True)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    recorded = (await corrections.recorded(asked)).outcome
    assert recorded is not None
    assert [undated(each) for each in recorded.remarks] == [CHANGED]
    assert await states(corrections) == {"vpn": (1, 0, 0, 0)}


@pytest.mark.parametrize(("expired", "told"), [({"fob.md"}, 0), (set(), 1)])
async def test_a_persons_answer_that_expired_stays_as_it_was_posted(
    corrections: Corrections, expired: set[str], told: int
) -> None:
    await corrections.wiki.write("fob.md", QUOTE, space=ANSWERS_SPACE)
    await corrections.answer(("fob.md", QUOTE), space=ANSWERS_SPACE)
    await corrections.run()
    corrections.expired |= expired

    await corrections.wiki.delete("fob.md", space=ANSWERS_SPACE)
    await corrections.run()
    await corrections.run(hours=2)

    assert len(corrections.channel.edited) == told


async def test_an_answer_is_not_watched_for_more_than_two_weeks(corrections: Corrections) -> None:
    await corrections.answer(VPN)
    await corrections.run()
    await corrections.run(days=15)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    assert not corrections.channel.edited


async def test_a_withdrawn_question_is_neither_watched_nor_corrected(
    corrections: Corrections,
) -> None:
    asked = await corrections.answer(VPN)
    await corrections.run()
    await corrections.store.work.cancel(asked.id)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    assert not corrections.channel.edited
    assert await corrections.store.corrections.spaces("default") == []


async def test_nobody_gets_a_note_about_a_question_that_is_withdrawn_meanwhile(
    corrections: Corrections,
) -> None:
    asked = await corrections.answer(VPN)

    class Withdrawn(EditingChannel):
        async def correct(self, delivery: Delivery, posted: PostedRef) -> None:
            await corrections.store.work.cancel(asked.id)
            raise DeliveryRefused("gone")

    corrections.channel = Withdrawn()
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()

    assert not corrections.channel.notes


@pytest.mark.parametrize(
    "limits", [CorrectionLimits(2, 500), CorrectionLimits(50, 2)], ids=["page", "day"]
)
async def test_the_rest_waits_where_a_limit_is_reached(
    corrections: Corrections, limits: CorrectionLimits
) -> None:
    corrections.limits = limits
    for _ in range(3):
        await corrections.answer(VPN)
    await corrections.wiki.write("vpn", "Call the desk.")
    await corrections.run()
    assert await states(corrections) == {"vpn": (2, 0, 0, 1)}

    await corrections.run(hours=1 if limits.per_day > 2 else 25, minutes=20)
    assert await states(corrections) == {"vpn": (3, 0, 0, 0)}


async def storm(corrections: Corrections) -> None:
    """Have a whole space converted anew."""
    for number in range(STORM_PAGES):
        await corrections.wiki.write(f"p{number}", f"Text {number}.")
        await corrections.answer((f"p{number}", f"Text {number}."))
    await corrections.run()
    for number in range(STORM_PAGES):
        await corrections.wiki.write(f"p{number}", f"Other text of {number}.")
    await corrections.run()


async def test_a_whole_space_that_changed_is_held_back_and_told_once(
    corrections: Corrections,
) -> None:
    await storm(corrections)
    await corrections.run(hours=2)

    assert not corrections.channel.edited
    assert await corrections.store.corrections.held("default") == {"IT": STORM_PAGES}
    assert len(corrections.channel.told) == 1


async def test_what_was_held_back_is_told_when_an_admin_releases_it(
    corrections: Corrections,
) -> None:
    await storm(corrections)
    kept = corrections.store.corrections

    released = await kept.decide("default", "IT", "due", corrections.now(), "board:ada")
    await corrections.run()

    assert released == STORM_PAGES == len(corrections.channel.edited)


async def test_what_an_admin_drops_is_never_told(corrections: Corrections) -> None:
    await storm(corrections)
    kept = corrections.store.corrections

    await kept.decide("default", "IT", "dropped", corrections.now(), "board:ada")
    await corrections.run(hours=2)

    assert not corrections.channel.edited
    assert await kept.held("default") == {}


@pytest.mark.parametrize("fate", ["changed", "closed"])
def test_a_line_names_the_day(fate: QuoteFate) -> None:
    assert "24 November" in correction_line(fate, NOON.replace(day=24))


@pytest.mark.parametrize("language", ["de", "ja", "ar", "x"])
def test_a_line_is_in_the_askers_language_and_there_once(language: str) -> None:
    changed = correction_line("changed", NOON, language)
    closed = correction_line("closed", NOON, language)

    twice = with_correction(with_correction(generic_outcome("a"), changed), closed)

    assert (changed == correction_line("changed", NOON)) == (language == "x")
    assert twice.remarks == (closed,)


def test_the_line_of_an_older_version_is_replaced() -> None:
    old = "Updated 3 May: the page this came from has changed. Ask again for the present answer."

    assert with_correction(replace(generic_outcome("a"), remarks=(old,)), "new").remarks == ("new",)
