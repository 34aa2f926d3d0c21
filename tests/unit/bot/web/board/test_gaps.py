"""Tests of the gaps' pages, CSV and API: first that no word of a hidden question is in them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.domain.cases import Actor
from bot.domain.messages import Person
from bot.learning.question_words import QuestionWords
from bot.store.database import Store
from bot.web.board.gaps import UNNAMED
from rag.types import Chunk
from tests.fakes.board_app import CLOSED, OPEN, BoardBrowser
from tests.fakes.chat_context import ReadsEverything
from tests.fakes.learning import NIGHT, AnswersNow, asked, gap_job, run

SECRET = "redundancy severance"
PLAIN = "park a bicycle"


async def ask_by(store: Store, text: str, *people: str, found: Sequence[Chunk] = (OPEN,)) -> None:
    for person in people:
        await asked(store, text, person, found=found)


async def everything(desk: BoardBrowser, words: str = "") -> str:
    """Return all that a person sees of gaps, in every view."""
    query = f"?state=all&words={words}"
    texts = [await desk.get(f"/board/gaps{query}"), await desk.get(f"/board/gaps.csv{query}")]
    listed = await api(desk, f"/api/v2/gaps?q={words}")
    texts.append(json.dumps(listed))
    for each in (await api(desk, "/api/v2/gaps"))["gaps"]:
        texts.append(await desk.get(f"/board/gaps/{each['id']}"))
        texts.append(json.dumps(await api(desk, f"/api/v2/gaps/{each['id']}")))
    return " ".join(texts)


async def api(desk: BoardBrowser, path: str, status: int = 200, **sent: object) -> Any:  # noqa: ANN401 - JSON
    headers = {"X-Who": desk.who}
    if sent:
        origin = str(desk.client.make_url("/")).rstrip("/")
        response = await desk.client.put(path, json=sent, headers={**headers, "Origin": origin})
    else:
        response = await desk.client.get(path, headers=headers)
    assert response.status == status, await response.text()
    return await response.json()


async def only(desk: BoardBrowser) -> Mapping[str, Any]:
    (gap,) = (await api(desk, "/api/v2/gaps"))["gaps"]
    found: Mapping[str, Any] = await api(desk, f"/api/v2/gaps/{gap['id']}")
    return found


def shows(text: str, *words: str) -> bool:
    return any(word in text for word in words)


async def test_no_view_has_a_word_of_a_question_of_two_people(desk: BoardBrowser) -> None:
    await ask_by(desk.store, SECRET, "mika", "noor")
    await run(gap_job(desk.store))

    for who in ("anna", "ines", "admin"):
        seen = await everything(desk.of(who))
        assert not shows(seen, *SECRET.split())
        assert UNNAMED in seen
    gap = await only(desk)
    assert (gap["name"], gap["asked"], gap["hidden"]) == (None, [], 2)
    assert (gap["questions"], gap["people"]) == (2, 2)


async def test_a_hidden_question_is_not_found_by_its_words(desk: BoardBrowser) -> None:
    await ask_by(desk.store, SECRET, "mika", "noor")
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await run(gap_job(desk.store))

    # The word that was searched for is in the page's links.
    assert not shows(await everything(desk, "severance"), "redundancy")
    assert (await api(desk, "/api/v2/gaps?q=severance"))["gaps"] == []
    (found,) = (await api(desk, "/api/v2/gaps?q=Bicycle+park"))["gaps"]
    assert found["name"] == PLAIN
    assert len((await api(desk, "/api/v2/gaps"))["gaps"]) == 2


async def test_what_three_people_asked_is_shown_to_readers_of_its_pages(
    desk: BoardBrowser,
) -> None:
    await ask_by(desk.store, SECRET, "a", "b", "c", found=(OPEN, CLOSED))
    await run(gap_job(desk.store))

    seen = await everything(desk)
    assert not shows(seen, *SECRET.split(), CLOSED.title)
    assert OPEN.title in seen
    seen = await everything(desk.of("ines"))
    assert shows(seen, SECRET)
    assert CLOSED.title in seen


async def test_a_gap_shows_those_of_its_questions_that_may_be_shown(desk: BoardBrowser) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await ask_by(desk.store, f"{PLAIN} severance", "mika")
    await run(gap_job(desk.store))

    assert not shows(await everything(desk), "severance")
    gap = await only(desk)
    assert [(each["question"], each["times"]) for each in gap["asked"]] == [(PLAIN, 3)]
    assert (gap["name"], gap["hidden"], gap["questions_in_all"]) == (PLAIN, 1, 4)


async def test_a_withdrawn_question_hides_what_too_few_asked_then(desk: BoardBrowser) -> None:
    await ask_by(desk.store, SECRET, "a", "b")
    third = await asked(desk.store, SECRET, "c", found=(OPEN,))
    await run(gap_job(desk.store))
    assert shows(await everything(desk), SECRET)

    await desk.store.work.cancel(third.id)
    assert not shows(await everything(desk), *SECRET.split())


async def test_who_works_on_a_case_or_asked_it_sees_a_question(desk: BoardBrowser) -> None:
    case = await asked(desk.store, SECRET, found=(OPEN,), channel="C1")
    await asked(desk.store, PLAIN, "anna", found=(OPEN,))
    await run(gap_job(desk.store))
    ben = Actor("ben", "Ben", "expert")
    await desk.store.escalations.act("default", case.id, "claim", ben)

    assert shows(await everything(desk.of("ben")), SECRET)
    seen = await everything(desk)
    assert not shows(seen, *SECRET.split())
    assert shows(seen, PLAIN)


async def test_an_asker_lets_others_see_their_questions(desk: BoardBrowser) -> None:
    await ask_by(desk.store, SECRET, "mika")
    await run(gap_job(desk.store))
    words = QuestionWords(desk.store.escalations, desk.store.notes, ReadsEverything())

    await words.agree("default", Person("mika"), shares=True)
    seen = await everything(desk)
    assert shows(seen, SECRET)
    assert not shows(seen, "Mika")
    await words.agree("default", Person("mika"), shares=False)
    assert not shows(await everything(desk), *SECRET.split())


async def test_askers_are_not_among_those_who_see_gaps(desk: BoardBrowser) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await run(gap_job(desk.store))
    gap = (await only(desk))["id"]
    mika = desk.of("mika")

    for path in ("/board/gaps", "/board/gaps.csv", f"/board/gaps/{gap}"):
        assert not shows(await mika.get(path, 403), PLAIN)
    await api(mika, "/api/v2/gaps", 403)
    await api(mika, f"/api/v2/gaps/{gap}", 403)
    await api(mika, f"/api/v2/gaps/{gap}/state", 403, state="taken")
    await mika.post(f"/board/gaps/{gap}", 403, state="taken")
    assert (await only(desk))["state"] == "new"


async def test_another_tenants_gap_does_not_exist(desk: BoardBrowser) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await run(gap_job(desk.store))
    gap = (await only(desk))["id"]

    other = await desk.store.gap_reports.members("acme", [gap], 9)
    assert not any(other.values())
    assert not await desk.store.gaps.set_state("acme", gap, "taken", actor="a", name="A")
    await api(desk, "/api/v2/gaps/nothing", 404)
    await desk.get("/board/gaps/nothing", 404)


async def test_pages_near_a_gap_have_their_owners(desk: BoardBrowser) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", found=(OPEN, CLOSED))
    await run(gap_job(desk.store))

    gap = await only(desk)
    (page,) = gap["pages"]
    assert (page["title"], page["owner"]) == (OPEN.title, OPEN.updated_by)
    pages = (await only(desk.of("ines")))["pages"]
    assert [each["title"] for each in pages] == [OPEN.title, CLOSED.title]


async def test_most_asked_gaps_come_first_and_can_be_narrowed(desk: BoardBrowser) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await ask_by(desk.store, "mail quota full", *"abcd")
    await run(gap_job(desk.store))

    async def names(query: str = "") -> list[str]:
        return [each["name"] for each in (await api(desk, f"/api/v2/gaps?{query}"))["gaps"]]

    assert await names() == ["mail quota full", PLAIN]
    assert await names("limit=1&offset=1") == [PLAIN]
    await asked(desk.store, PLAIN, "late", found=(OPEN,))
    await asked(desk.store, PLAIN, "later", found=(OPEN,))
    await run(gap_job(desk.store))
    assert await names() == [PLAIN, "mail quota full"]
    assert await names("order=recent") == [PLAIN, "mail quota full"]
    assert await names("state=taken&state=closed") == []
    await api(desk, "/api/v2/gaps?state=gone", 422)
    await api(desk, "/api/v2/gaps?days=0", 422)


async def test_the_list_goes_on_where_a_page_ends(desk: BoardBrowser) -> None:
    for number in range(30):
        await asked(desk.store, f"topic {number}", "anna", found=(OPEN,))
    await run(gap_job(desk.store, without_vectors=True))

    page: Mapping[str, Any] = {"next": 0}
    seen: list[str] = []
    while page["next"] is not None:
        page = await api(desk, f"/api/v2/gaps?limit=7&offset={page['next']}")
        seen += [each["id"] for each in page["gaps"]]
    assert len(seen) == len(set(seen)) == 30
    first = await desk.get("/board/gaps")
    assert "after=25" in first
    assert first.count('class="entry"') == 25
    assert (await desk.get("/board/gaps?after=25")).count('class="entry"') == 5


@pytest.mark.parametrize("by_api", [True, False])
async def test_a_state_is_kept_with_who_set_it(desk: BoardBrowser, *, by_api: bool) -> None:
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await run(gap_job(desk.store))
    gap = (await only(desk))["id"]

    if by_api:
        await api(desk, f"/api/v2/gaps/{gap}/state", state="taken")
    else:
        await desk.post(f"/board/gaps/{gap}", 303, htmx=False, state="taken")
    found = await only(desk)
    assert (found["state"], found["state_by"]) == ("taken", "Anna Lopez")
    (act,) = await desk.store.audits.newest("default", 9)
    assert (act.act, act.subject) == ("gap taken", gap)
    assert act.actor in {"api:anna", "board:anna"}
    await desk.post(f"/board/gaps/{gap}", 422, state="closed")
    await api(desk, f"/api/v2/gaps/{gap}/state", 422, state="closed")


async def test_a_closed_gap_names_the_page_to_its_readers(desk: BoardBrowser) -> None:
    for person in "abc":
        await asked(desk.store, PLAIN, person, found=(OPEN,))
    job = gap_job(desk.store, desk=AnswersNow(PLAIN, page=CLOSED), night=NIGHT)
    await run(job)

    gap = await only(desk)
    assert (gap["state"], gap["answered_by"]) == ("closed", None)
    assert CLOSED.title not in await everything(desk)
    gap = await only(desk.of("ines"))
    assert gap["answered_by"]["title"] == CLOSED.title
    assert "answered since" in await everything(desk.of("ines"))
    assert PLAIN not in await desk.get("/board/gaps")


async def test_the_csv_has_the_list_and_no_formula(desk: BoardBrowser) -> None:
    await ask_by(desk.store, "=cmd()", "a", "b", "c")
    await ask_by(desk.store, SECRET, "mika")
    await run(gap_job(desk.store))

    text = (await desk.get("/board/gaps.csv")).removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == ["'=cmd()", ""]
    assert [(row["questions"], row["people"], row["state"]) for row in rows] == [
        ("3", "3", "new"),
        ("1", "1", "new"),
    ]
    assert rows[0]["pages"] == f"{OPEN.title} ({OPEN.space})"


async def test_gaps_are_counted_while_the_index_is_away(desk: BoardBrowser, shelf: Any) -> None:  # noqa: ANN401 - the index
    await ask_by(desk.store, PLAIN, "a", "b", "c")
    await run(gap_job(desk.store))
    shelf.away = True

    seen = await everything(desk)
    assert not shows(seen, PLAIN, OPEN.title)
    assert (await only(desk))["questions"] == 3


async def test_words_typed_into_the_search_are_text(desk: BoardBrowser) -> None:
    page = await desk.get("/board/gaps?words=%3Cscript%3E&state=%3Cb%3E&after=x&days=oops")

    assert "<script>x" not in page
    assert "&lt;script&gt;" in page
