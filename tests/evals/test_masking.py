"""The floors of masking, on fewer generated values than `python -m tests.evals.masking_eval`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.answering.evaluation.labelled_questions import load_questions
from prompts.files import load_prompt
from rag.models.masking_wrappers import MaskingModel
from rag.personal_data.findings import KINDS, Kind
from rag.personal_data.masking import Masker
from rag.personal_data.names import DirectoryNames
from rag.ports import Prompt
from rag.prompt_rendering import to_prompt
from tests.evals.confluence_eval import SHARED
from tests.evals.masking.names import TRAPS
from tests.evals.masking.values import GENERATED
from tests.evals.masking_eval import (
    LEAST_FOUND,
    LEAST_SPARED,
    MOST_TRAPPED,
    found_of,
    masker,
    names_found,
    trapped,
)
from tests.evals.sets import public_sets, sample
from tests.fakes.rag_ports import ScriptedModel
from tests.sweeps.sizes import sizes


@sizes("count", smoke=100, whole=500)
@pytest.mark.parametrize("kind", GENERATED)
def test_values_of_a_kind_are_masked_and_look_alikes_left_alone(kind: Kind, count: int) -> None:
    found = found_of(masker(), kind, count)

    assert found.values >= LEAST_FOUND
    assert found.look_alikes >= LEAST_SPARED


def test_every_kind_but_names_is_generated() -> None:
    assert {*GENERATED, "PERSON"} == set(KINDS)


def test_names_of_the_directory_are_masked_in_messages() -> None:
    found, missed = names_found(masker())

    assert found >= LEAST_FOUND, missed


def test_hardly_a_technical_message_is_touched() -> None:
    assert len(set(TRAPS)) == 200
    assert len(trapped(masker())) <= MOST_TRAPPED * len(TRAPS)


async def test_the_prompts_of_labelled_questions_stay_the_same(tmp_path: Path) -> None:
    known = Masker(DirectoryNames())
    inner = ScriptedModel(lambda _: "fine")
    model, template = MaskingModel(inner, known), load_prompt("generic")
    prompts: list[Prompt] = []
    for one in (sample(tmp_path), *public_sets(SHARED, tmp_path)):
        for each in load_questions(one.questions):
            prompts.append(to_prompt(template, history=(), message=each.question))
            await model.complete(prompts[-1])

    changed = [
        after.messages[-1].content
        for before, after in zip(prompts, inner.prompts, strict=True)
        if before.messages != after.messages
    ]
    assert len(prompts) >= 180
    assert changed == []
