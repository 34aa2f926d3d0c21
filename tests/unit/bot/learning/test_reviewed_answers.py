"""Answers by people: drafts, readers, review, the index, expiry and thumbs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.cases import Actor
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.interactions import PostedRef
from bot.domain.messages import Person
from bot.domain.usage import UsageLimits
from bot.learning.answer_drafts import Draft, ModelDraft
from bot.learning.answer_library import AnswerLibrary
from bot.learning.reviewed_answers import ReadersBound, ReviewedAnswer, answer_id_of
from bot.store.database import Store
from ingestion.library import Library
from ingestion.uploads import UploadMetadata
from rag.answer.grounded import StatedPart
from rag.types import EVERYONE, ModelCall, Principal, Readers, may_read
from tests.fakes import learning
from tests.fakes.answers import ANNA, BEN, EVERYBODY, HR, AnswerRoom, answer_room, viewer
from tests.fakes.builders import message
from tests.fakes.learning import MemoryPublisher
from tests.fakes.rag_ports import ScriptedModel

QUESTION = "How do I reset the token?"


@pytest.fixture
async def room(store: Store, tmp_path: Path) -> AsyncIterator[AnswerRoom]:
    async with answer_room(store, tmp_path) as made:
        yield made


class LibraryWith:
    """A library that lists its answers in another way."""

    def __init__(
        self, library: Library, answers: Callable[[], Awaitable[Mapping[str, UploadMetadata]]]
    ) -> None:
        self._library = library
        self.answers = answers

    def __getattr__(self, name: str) -> object:
        return getattr(self._library, name)


async def state(room: AnswerRoom, answer: ReviewedAnswer) -> str:
    found = await room.store.answers.get("default", answer.id)
    assert found is not None
    return found.state


async def test_a_draft_has_the_experts_words_and_a_public_question(room: AnswerRoom) -> None:
    case = await room.answered_case(QUESTION, "Hold both buttons.", "Then wait.")

    draft, _ = await room.review.draft(case, viewer(ANNA))

    assert draft.content.text == "Hold both buttons.\n\nThen wait."
    assert (draft.content.question, draft.content.chosen) == (QUESTION, EVERYBODY)
    assert not draft.is_asked_anew


async def test_the_words_of_a_private_question_are_not_in_the_draft(room: AnswerRoom) -> None:
    case = await room.answered_case("Am I on the redundancy list?", channel="")

    draft, _ = await room.review.draft(case, viewer(ANNA))

    assert draft.is_asked_anew
    assert "redundancy" not in str(draft.content)
    assert draft.content.chosen == frozenset()


@pytest.mark.parametrize(
    "typed", ["am i on the  Redundancy list", "Hi, am I on the redundancy list?"]
)
async def test_a_private_question_can_not_be_kept_in_its_askers_words(
    room: AnswerRoom, typed: str
) -> None:
    case = await room.answered_case("Am I on the redundancy list?", channel="")

    with pytest.raises(ActRefused):
        await room.kept(case, question="Who is on it?", variants=(typed,))
    await room.kept(case, question="Where is the list of those who leave?")


async def test_what_others_asked_gives_none_of_an_askers_other_words_away(
    room: AnswerRoom,
) -> None:
    common, typed = "return a laptop", "My colleague Ann was fired, how do I get her laptop"
    for person in ("ben", "eva", "jan"):
        await learning.asked(room.store, common, person)
    await learning.run(learning.gap_job(room.store))
    asked = await learning.asked(
        room.store, common, "mika", question=replace(message(typed), author=Person("mika"))
    )
    await room.store.escalations.act("default", asked.id, "resolve", ANNA)

    draft, _ = await room.review.draft(asked.id, viewer(ANNA))

    assert draft.content.question == common
    assert "Ann" not in str(draft.content)
    with pytest.raises(ActRefused):
        await room.kept(asked.id, variants=(typed,))


async def test_who_agreed_to_share_lets_the_draft_have_their_words(room: AnswerRoom) -> None:
    case = await room.answered_case(QUESTION, channel="")
    asked = await room.store.interactions.get(case)
    assert asked is not None
    await room.words.agree("default", asked.message.author, shares=True)

    draft, _ = await room.review.draft(case, viewer(ANNA))

    assert draft.content.question == QUESTION


async def test_a_live_answer_is_found_by_question_wording_and_text(room: AnswerRoom) -> None:
    answer = await room.live(variants=("My fob is locked",))

    (found,) = await room.found("reset token")
    assert (found.title, found.source_type, found.updated_by) == (QUESTION, "answer", "IT")
    assert found.url == f"/answers/{answer.id}"
    assert "fob" not in found.text
    assert [each.page_id for each in await room.found("fob locked")] == [found.page_id]
    assert await room.found("ten seconds buttons")


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\ufffe", "\x7f"])
async def test_no_character_of_a_question_costs_an_answer_its_head(
    room: AnswerRoom, odd: str
) -> None:
    answer = await room.live(variants=(f"My fob{odd}--- is locked",))

    (found,) = await room.found("reset token")
    assert (found.title, found.url) == (QUESTION, f"/answers/{answer.id}")


async def test_a_draft_and_one_in_review_are_not_found(room: AnswerRoom) -> None:
    answer = await room.kept(await room.answered_case())
    await room.review.act(answer.id, 0, "submit", None, viewer=viewer(ANNA), actor=ANNA)
    await room.run()

    assert not await room.found("reset token")


async def test_withdrawing_removes_it_from_the_index_at_once(room: AnswerRoom) -> None:
    answer = await room.live()

    await room.review.act(answer.id, 1, "withdraw", None, viewer=viewer(ANNA), actor=ANNA)

    assert not await room.found("reset token")


async def test_it_expires_by_its_date_and_can_be_given_again(room: AnswerRoom) -> None:
    answer = await room.live()
    room.ahead = timedelta(days=181)

    await room.run()

    assert await state(room, answer) == "expired"
    assert not await room.found("reset token")
    later = replace(answer.content, valid_until=room.now() + timedelta(days=9))
    await room.review.act(answer.id, 2, "approve", later, viewer=viewer(ANNA), actor=ANNA)
    await room.shelf.runs.settled()
    assert await room.found("reset token")


async def test_two_thumbs_down_bring_it_back_to_review(room: AnswerRoom) -> None:
    answer = await room.live()
    await room.thumb_down(answer, "mika")
    await room.thumb_down(answer, "mika")
    await room.run()
    assert await state(room, answer) == "live"

    await room.thumb_down(answer, "lena")
    await room.run()

    assert await state(room, answer) == "in_review"
    assert not await room.found("reset token")


async def test_one_thumb_down_of_an_expert_brings_it_back(room: AnswerRoom) -> None:
    answer = await room.live()
    await room.thumb_down(answer, "anna")

    await room.run()

    assert await state(room, answer) == "in_review"


async def test_a_thumb_that_was_taken_back_does_not_count(room: AnswerRoom) -> None:
    answer = await room.live()
    asked = await room.thumb_down(answer, "mika")
    await room.run()
    await room.store.interactions.unrate(asked.id, "mika")
    await room.thumb_down(answer, "lena")

    await room.run()

    assert await state(room, answer) == "live"


async def test_thumbs_of_before_it_was_approved_again_do_not_count(room: AnswerRoom) -> None:
    answer = await room.live()
    for person in ("mika", "lena"):
        await room.thumb_down(answer, person)
    await room.run()
    await room.review.act(answer.id, 2, "approve", None, viewer=viewer(ANNA), actor=ANNA)

    await room.run()

    assert await state(room, answer) == "live"


async def test_of_two_reviewers_at_once_the_second_is_told(room: AnswerRoom) -> None:
    answer = await room.kept(await room.answered_case())
    await room.review.act(answer.id, 0, "approve", None, viewer=viewer(ANNA), actor=ANNA)

    with pytest.raises(ActRefused, match="changed this answer"):
        await room.review.act(answer.id, 0, "reject", None, viewer=viewer(BEN), actor=BEN)
    assert await state(room, answer) == "live"


async def test_nobody_approves_their_own_words_where_two_are_asked_for(room: AnswerRoom) -> None:
    room.by_second = True
    answer = await room.kept(await room.answered_case())

    with pytest.raises(ActRefused):
        await room.review.act(answer.id, 0, "approve", None, viewer=viewer(ANNA), actor=ANNA)
    await room.review.act(answer.id, 0, "approve", None, viewer=viewer(BEN), actor=BEN)
    assert await state(room, answer) == "live"


async def test_who_wrote_the_words_does_not_approve_them_after_another_sent_them(
    room: AnswerRoom,
) -> None:
    room.by_second = True
    answer = await room.kept(await room.answered_case())
    eva = Actor("eva", "Eva", "expert")
    other = replace(answer.content, text="Call us.")
    saved = await room.review.act(answer.id, 0, "save", other, viewer=viewer(BEN), actor=BEN)
    await room.review.act(answer.id, saved.version, "submit", None, viewer=viewer(eva), actor=eva)

    with pytest.raises(ActRefused):
        await room.review.act(answer.id, 2, "approve", None, viewer=viewer(BEN), actor=BEN)
    await room.review.act(answer.id, 2, "approve", None, viewer=viewer(eva), actor=eva)
    assert await state(room, answer) == "live"


async def test_a_saved_live_answer_goes_to_the_second_again(room: AnswerRoom) -> None:
    answer = await room.live()
    room.by_second = True
    other = replace(answer.content, text="Call us.")

    await room.review.act(answer.id, 1, "save", other, viewer=viewer(ANNA), actor=ANNA)

    assert await state(room, answer) == "in_review"
    assert not await room.found("reset token")


async def test_a_change_of_a_live_answer_is_indexed(room: AnswerRoom) -> None:
    answer = await room.live()
    other = replace(answer.content, text="Call the night desk.")

    await room.review.act(answer.id, 1, "save", other, viewer=viewer(ANNA), actor=ANNA)
    await room.shelf.runs.settled()

    assert [each.text for each in await room.found("night desk")] == ["Call the night desk."]


async def test_what_a_kill_left_undone_is_mended_by_the_job(room: AnswerRoom) -> None:
    given = await room.live()
    late = await room.live(await room.answered_case("Where is the badge desk?", "In hall 2."))
    # Killed after the record was written, and before the index was.
    await room.shelf.drop_answer(f"{late.id}.md", by="kill")
    gone = replace(given, state="withdrawn", version=2, live_at=None)
    assert await room.store.answers.change("default", gone, act="withdraw", detail="")

    await room.run()

    assert not await room.found("reset token")
    assert await room.found("badge desk")


async def test_what_is_withdrawn_while_the_index_is_mended_stays_gone(room: AnswerRoom) -> None:
    answer = await room.live()
    stored = room.shelf.answers

    async def withdrawn_meanwhile() -> Mapping[str, UploadMetadata]:
        await room.review.act(answer.id, 1, "withdraw", None, viewer=viewer(ANNA), actor=ANNA)
        return await stored()

    await AnswerLibrary(
        "default",
        answers=room.store.answers,
        interactions=room.store.interactions,
        library=LibraryWith(room.shelf, withdrawn_meanwhile),  # type: ignore[arg-type]  # delegates
        marks=room.store.jobs,
        signed="IT",
        now=room.now,
    ).run()
    await room.shelf.runs.settled()

    assert not await room.found("reset token")


async def test_an_answer_of_a_question_withdrawn_meanwhile_is_not_kept(room: AnswerRoom) -> None:
    case = await room.answered_case()
    answer = await room.kept(await room.answered_case("Where is the badge desk?"))
    await room.store.work.cancel(case)

    with pytest.raises(InteractionUnknown):
        await room.store.answers.add("default", replace(answer, id="late", case=case))


async def test_reading_everything_again_keeps_it(room: AnswerRoom) -> None:
    await room.live()

    await room.shelf.runs.start(None, by="admin")
    await room.shelf.runs.settled()

    assert len(await room.found("reset token")) == 1


async def test_a_new_index_is_filled_with_it(room: AnswerRoom) -> None:
    await room.live()
    await room.index.delete_pages(
        "default", "answers", list(await room.index.pages("default", "answers"))
    )
    source = await room.shelf.sources.source("answers")
    assert source.type == "answer"

    await room.run()

    assert await room.found("reset token")


async def test_only_who_reads_all_found_pages_reads_the_answer(room: AnswerRoom) -> None:
    restricted = await room.page("plan", (frozenset({HR}),))
    room.groups["mika"] = (HR,)
    case = await room.answered_case(QUESTION, channel="", found=[restricted])

    await room.live(case, question="Where is the plan?", chosen=EVERYBODY)

    assert not await room.found("plan")
    assert await room.found("plan", HR)


async def test_nobody_is_chosen_who_was_not_among_the_case_s_readers(room: AnswerRoom) -> None:
    case = await room.answered_case(QUESTION, channel="")

    with pytest.raises(ActRefused):
        await room.live(case, question="Where is the plan?", chosen=frozenset({HR}))
    assert not await room.found("plan", HR)


async def test_a_page_that_is_gone_leaves_a_private_answer_to_nobody(room: AnswerRoom) -> None:
    page = await room.page("plan", (frozenset({HR}),))
    room.groups["mika"] = (HR,)
    case = await room.answered_case(QUESTION, channel="", found=[page])
    await room.index.delete_pages("default", "WIKI", ["plan.md"])

    with pytest.raises(ActRefused, match="gone"):
        await room.live(case, question="Where is the plan?", chosen=frozenset({EVERYONE}))


async def test_an_expert_sees_only_answers_that_are_theirs_to_read(room: AnswerRoom) -> None:
    restricted = await room.page("plan", (frozenset({HR}),))
    room.groups["mika"] = (HR,)
    case = await room.answered_case(QUESTION, channel="", found=[restricted])
    answer = await room.live(case, question="Where is the plan?", chosen=EVERYBODY)

    assert await room.review.listed({"live"}, viewer(BEN), limit=9) == ([], 1)
    with pytest.raises(InteractionUnknown):
        await room.review.one(answer.id, viewer(BEN), BEN)
    assert (await room.review.one(answer.id, viewer(BEN, HR), BEN)).answer.id == answer.id


async def test_a_case_has_one_answer(room: AnswerRoom) -> None:
    case = await room.answered_case()

    first, second = await room.kept(case), await room.kept(case)

    assert first.id == second.id
    assert await room.review.of_case(case) == first.id


async def test_a_draft_goes_with_its_question_and_a_live_answer_stays(room: AnswerRoom) -> None:
    draft = await room.kept(await room.answered_case())
    live = await room.live(await room.answered_case("Where is the badge desk?", "In hall 2."))
    for answer in (draft, live):
        assert answer.case is not None
        await room.store.work.posted(answer.case, PostedRef("C1", answer.id))

    await room.store.retention.sweep(room.now() + timedelta(days=400), 365)

    assert await room.store.answers.get("default", draft.id) is None
    left = await room.store.answers.get("default", live.id)
    assert left is not None
    assert left.case is None


async def test_nobody_acts_on_an_answer_that_another_kept_meanwhile(room: AnswerRoom) -> None:
    case = await room.answered_case()
    draft, _ = await room.review.draft(case, viewer(BEN))
    await room.kept(case)

    with pytest.raises(ActRefused, match="already saved"):
        await room.review.keep(case, replace(draft.content, text="Call us."), BEN)


async def test_withdrawing_the_question_forgets_what_is_not_live(room: AnswerRoom) -> None:
    case = await room.answered_case()
    draft = await room.kept(case)

    await room.store.work.cancel(case)

    assert await room.store.answers.get("default", draft.id) is None


async def test_a_live_answer_to_the_same_question_is_shown(room: AnswerRoom) -> None:
    before = await room.live()
    again = await room.answered_case(f"{QUESTION[:-1]}")

    _, near = await room.review.draft(again, viewer(BEN))

    assert [each.id for each in near] == [before.id]


async def test_publishing_keeps_its_address(room: AnswerRoom) -> None:
    room.publisher = publisher = MemoryPublisher()
    answer = await room.live()

    done = await room.review.publish(answer.id, 1, viewer=viewer(ANNA), actor=ANNA)

    assert done.url == f"https://wiki.example/answers/{answer.id}"
    assert publisher.published[answer.id].readers == answer.readers


async def test_every_act_is_in_the_audit_log(room: AnswerRoom) -> None:
    await room.live()

    acts = [each.act for each in await room.store.audits.newest("default", 9)]

    assert {"answer.draft", "answer.approve"} <= set(acts)


def test_only_names_of_answers_have_an_id() -> None:
    assert answer_id_of("0" * 32 + ".md") == "0" * 32
    assert answer_id_of("notes.md") == ""


GROUPS = ["everyone", "group:hr", "group:it", "user:mika"]
SETS = st.frozensets(st.sampled_from(list(map(Principal, GROUPS))), min_size=1, max_size=3)
READERS = st.lists(SETS, max_size=2).map(tuple)


@given(offered=SETS, pages=st.lists(READERS, max_size=3), chosen=SETS, reader=SETS)
def test_readers_are_never_more_than_chosen_offered_and_of_every_page(
    offered: frozenset[Principal],
    pages: list[Readers],
    chosen: frozenset[Principal],
    reader: frozenset[Principal],
) -> None:
    found = ReadersBound(offered, tuple(pages)).within(chosen)

    anyone = reader | {EVERYONE}
    allowed = chosen <= offered and bool(chosen & anyone)
    everywhere = all(may_read(page, anyone) for page in pages)
    assert may_read(found, anyone) == (allowed and everywhere)


@given(chosen=SETS, reader=SETS)
def test_nobody_reads_what_is_not_known_to_be_theirs(
    chosen: frozenset[Principal], reader: frozenset[Principal]
) -> None:
    assert not may_read(ReadersBound(chosen, unknown="gone").within(chosen), reader)


def drafted(**changes: object) -> ModelDraft:
    said = {
        "parts": [StatedPart(lines=[1], text="Hold both buttons for ten seconds.")],
        "question": "How is a token reset?",
        "variants": ["My token does not work"],
    }
    return ModelDraft.model_validate({**said, **changes})


async def by_model(room: AnswerRoom, answer: ModelDraft, channel: str = "C1") -> Draft:
    room.model = ScriptedModel(lambda _: answer.model_dump_json())
    said = ("Hold both buttons for ten seconds.",)
    case = await room.answered_case(QUESTION, *said, channel=channel)
    draft, _ = await room.review.draft(case, viewer(ANNA), with_model=True)
    return draft


async def test_a_models_draft_keeps_what_the_experts_said_alone(room: AnswerRoom) -> None:
    invented = StatedPart(lines=[1], text="Then order a new token for 40 dollars.")
    parts = [*drafted().parts, invented]

    draft = await by_model(room, drafted(parts=parts))

    assert draft.content.text == "Hold both buttons for ten seconds."
    assert draft.dropped == 1
    assert "My token does not work" in draft.content.variants


async def test_words_of_the_question_support_nothing_in_a_draft(room: AnswerRoom) -> None:
    of_question = [StatedPart(lines=[1], text="How do I reset the token?")]

    draft = await by_model(room, drafted(parts=of_question))

    assert draft.content.text == "Hold both buttons for ten seconds."


async def test_a_model_is_not_told_the_words_of_a_private_question(room: AnswerRoom) -> None:
    draft = await by_model(room, drafted(), channel="")

    assert isinstance(room.model, ScriptedModel)
    assert QUESTION not in str(room.model.prompts)
    assert draft.content.question == "How is a token reset?"


async def test_a_models_question_has_no_figure_that_nobody_wrote(room: AnswerRoom) -> None:
    draft = await by_model(room, drafted(variants=["Token of 2019 locked"]))

    assert "2019" not in str(draft.content.variants)


async def test_a_model_drafts_nothing_once_the_days_budget_is_spent(room: AnswerRoom) -> None:
    room.model = ScriptedModel(lambda _: "")
    room.limits = UsageLimits(tokens=1)
    case = await room.answered_case()
    spent = ModelCall("answer", "large", "answer@3", 900, 80, 1.0)
    await room.store.usage.record("default", case, [spent], "answer")

    with pytest.raises(ActRefused, match="budget"):
        await room.review.draft(case, viewer(ANNA), with_model=True)
