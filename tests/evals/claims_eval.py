"""Measures what the checks on a model's claims lose of what is right, and what they let through.

``python -m tests.evals.claims_eval [--only SET]`` has the recorded replies to the questions of each
set checked once more. Of the claims in right answers it prints how many each rule loses, and up
to which floor of words (rag.answer.citations.WORDS_FLOOR) one in a hundred is lost. Then it turns
claims, and lines of pages, round by a "not" put in or taken out, and prints how many of those
pass. An answer is judged right as the model stated it, so that no check decides what it is
measured on.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from bot.answering.evaluation.labelled_questions import (
    RecordedComposition,
    RecordingComposer,
    grade_answer,
    load_questions,
)
from bot.answering.evaluation.model_trial import drawn
from bot.answering.evaluation.question_cases import ask
from rag.answer.citations import WORDS_FLOOR, CheckedPart, Rule, check_part
from rag.answer.claim_support import has_negation
from rag.answer.grounded import GroundedAnswer, GroundedComposer, StatedPart
from rag.answer.source_lines import NumberedLines, number_lines
from rag.parts import paragraph
from rag.ports import Composition
from rag.search_scope import Asked
from rag.text.sentences import without_markdown
from rag.types import Chunk, Claim, Passage
from tests.evals.attacks_eval import SHARED
from tests.evals.copies_eval import chunks_of
from tests.evals.question_runs import WORK, opened
from tests.evals.recorded.server import Replay, load_replies, replaying
from tests.evals.sets import DRAWS, HANDBOOK, EvalSet, public_sets, sample

_AUXILIARY = r"is|are|must|can|may|will|should"
_PUT_IN = re.compile(rf"\b({_AUXILIARY})\b")
_TAKEN_OUT = re.compile(rf"\b({_AUXILIARY}|do|does)(?: not\b|n['\u2019]t\b)|\b(can)not\b")


def flip_denial(text: str) -> Iterator[tuple[str, str]]:
    """Yield how, and the text turned round: a "not" put in, or the only one taken out."""
    if not has_negation(text):
        denied, count = _PUT_IN.subn(r"\1 not", text, count=1)
        if count:
            yield "not put in", denied
        return
    stated = _TAKEN_OUT.sub(lambda found: found[1] or found[2], text, count=1)
    if stated != text and not has_negation(stated):
        yield "not taken out", stated


MOST_LOST = 0.01
"""Share of the right claims that one rule may lose."""

RULES = get_args(Rule)


@dataclass(frozen=True, slots=True)
class Stated:
    """A part in a model's words, with the lines that it was shown and the question asked."""

    part: StatedPart
    shown: NumberedLines
    question: str

    def checked(self, text: str | None = None) -> CheckedPart:
        """Check it, or another text in its place."""
        said = self.part.text if text is None else text
        return check_part(said, self.part.kind, self.part.lines, self.shown, self.question)


class HearingComposer(RecordingComposer):
    """Remembers also which question was put to the model, and what it was shown."""

    question = ""
    chunks: Sequence[Chunk] = ()

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Composition:
        self.question = question
        self.chunks = cast("GroundedComposer", self._composer).fitting(passages)
        return await super().compose(question, passages, attached, asked)


async def right_claims(one: EvalSet) -> list[Stated]:
    """Return the parts in a model's words of all recorded answers that are right as stated."""
    replay = Replay(one.name, load_replies(one.name), None)
    found: list[Stated] = []
    async with replaying(replay) as url, opened(one, url, HearingComposer) as desk:
        subject = desk.subject(one)
        composer = cast("HearingComposer", desk.composer)
        asks = drawn(DRAWS[one.name], load_questions(one.questions))
        for row in (each.row for each in asks if each.row.has_answer and not each.withheld):
            replay.next_question()
            await ask(subject, row)
            if replay.answer is None:
                continue
            answer = GroundedAnswer.model_validate_json(replay.answer)
            shown = number_lines(composer.chunks)
            if grade_answer(row, _unchecked(answer, shown)).right:
                stated = (Stated(part, shown, composer.question) for part in answer.parts)
                found += [each for each in stated if each.part.kind in {"paragraph", "step"}]
    if replay.missing:
        print(f"{one.name}: {len(replay.missing)} replies are missing", file=sys.stderr)
    return found


def _unchecked(answer: GroundedAnswer, shown: NumberedLines) -> RecordedComposition:
    """Return an answer as if every part held; tables and code are shown as they are stored."""
    claims = []
    for part in answer.parts:
        lines = [line for line in map(shown.line, part.lines) if line]
        stored = check_part(part.text, part.kind, part.lines, shown, "").claim
        literal = stored if part.kind in {"table", "code"} else None
        blocks = literal.blocks if literal else (paragraph(part.text),)
        claims.append(Claim(blocks, tuple(line.citation for line in lines), part.kind))
    passages = tuple(Passage(line.chunk, 0.0, {}) for line in shown.lines)
    return RecordedComposition(passages, Composition(tuple(claims)))


def lost_of(claims: Sequence[Stated]) -> Mapping[Rule, list[Stated]]:
    """Return by rule the claims that break it, whatever else they break."""
    broken = [(each, each.checked().broken) for each in claims]
    return {rule: [each for each, rules in broken if rule in rules] for rule in RULES}


def highest_floor(claims: Sequence[Stated]) -> float:
    """Return the highest share of words that all but one in a hundred of the claims have."""
    shares = sorted(each.checked().words for each in claims)
    return shares[int(MOST_LOST * len(shares))]


def lines_of(chunks: Sequence[Chunk]) -> Iterator[Stated]:
    """Yield each line of a page as a claim of its own, in its own words; no rows and no code."""
    for chunk in chunks:
        shown = number_lines([chunk])
        for number, line in enumerate(shown.lines, 1):
            if line.unit.kind not in {"row", "code"}:
                text = " ".join(without_markdown(line.stored).split())
                yield Stated(StatedPart(lines=[number], text=text), shown, "How?")


def passing(claims: Sequence[Stated]) -> tuple[Mapping[str, int], Mapping[str, list[str]]]:
    """Return by way of turning how many claims were turned round, and those that pass."""
    made, passed = Counter[str](), dict[str, list[str]]()
    for each in claims:
        for way, text in flip_denial(" ".join(each.part.text.split())):
            made[way] += 1
            if each.checked(text).kept:
                passed.setdefault(way, []).append(text)
    return made, passed


async def measure(one: EvalSet, *, show: bool = False) -> bool:
    """Print what a set's claims come to; False where a rule loses too many."""
    claims = await right_claims(one)
    lost = lost_of(claims)
    print(f"{one.name}: {len(claims)} claims in right answers")
    for rule, which in lost.items():
        print(f"  lost by {rule}: {len(which)} ({len(which) / len(claims):.2%})")
        if show:
            print(*(f"    {each.part.text}" for each in which), sep="\n")
    print(f"  highest floor of words: {highest_floor(claims):.3f} (is {WORDS_FLOOR})")
    for name, turnable in (("claims", claims), ("lines", [*lines_of(await chunks_of(one))])):
        made, passed = passing([each for each in turnable if each.checked().kept])
        for way, count in made.items():
            through = passed.get(way, [])
            print(f"  {name}, {way}: {len(through)} of {count} pass ({len(through) / count:.1%})")
            if show:
                print(*(f"    {text}" for text in through), sep="\n")
    return all(len(which) <= MOST_LOST * len(claims) for which in lost.values())


def main(arguments: Sequence[str]) -> int:
    """Return 1 when a rule loses more than one in a hundred; 18F is reported alone."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.claims_eval", description=__doc__)
    parser.add_argument("--only", default="", help="a part of a set's name, such as `sample`")
    parser.add_argument("--show", action="store_true", help="print what is lost and what passes")
    options = parser.parse_args(arguments)
    sets = [sample(WORK / "sets"), *public_sets(SHARED, WORK / "sets")]
    chosen = [one for one in sets if options.only in one.name]
    held = {one.name: asyncio.run(measure(one, show=options.show)) for one in chosen}
    return int(not all(good for name, good in held.items() if name != HANDBOOK))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
