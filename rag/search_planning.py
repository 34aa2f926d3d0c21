"""Let a model search again, in its own words, for what a question's own words did not find.

The model sees the sections found so far and calls a search tool. Its searches run within the
question's scope: it can narrow what is searched, never widen it. What they find is merged with the
first search by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from prompts.files import PromptFile, fenced, unforgeable_code
from rag.errors import RagError
from rag.ports import ChatMessage, ChatModel, Prompt, Tool, ToolCall
from rag.prompt_rendering import to_prompt
from rag.retrying import question_calls_left, question_time_share_left
from rag.search_scope import PlannedSearch, Scope
from rag.text.plain_text import visible
from rag.types import ModelCall, Passage

MOST_SEARCHES = 3
"""The most searches that a model makes for a question, failed ones included."""
CALLS_FOR_ANSWER = 2
"""The calls of a question that planning leaves: for the answer and its repair, or for a second
answer, or for the asker's private addition."""
SHARE_FOR_ANSWER = 0.5
"""The share of a question's time for models from which on nothing is planned any more."""
RESULTS_SHOWN = 6
"""The most results of a search that the model sees; of its own searches no others are kept, so that
all that it has seen is recorded."""
EXCERPT_CHARACTERS = 1000
"""The length of a result's text that the model sees: almost always the whole chunk."""
MOST_SPACES = 50
"""The most spaces whose keys the model is told."""

_RANK_CONSTANT = 60
"""The constant of reciprocal rank fusion in its authors' experiments."""
_LONGEST_QUERY = 300
_CUT_SHORT = "the planning of the search was cut short: the model failed"

_log = structlog.get_logger(__name__)


class SearchArguments(BaseModel):
    """The arguments of a model's search, checked."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(min_length=1)
    space: str | None = None
    label: str | None = None
    changed_since: date | None = None

    @field_validator("query", "space", "label", mode="after")
    @classmethod
    def _on_one_line(cls, value: str | None) -> str | None:
        return " ".join(value.split())[:_LONGEST_QUERY] if value else value

    @field_validator("space", "label", "changed_since", mode="before")
    @classmethod
    def _none_if_empty(cls, value: object) -> object:
        return None if isinstance(value, str) and value in {"", "null", "None"} else value


_NULLABLE_STRING: Mapping[str, object] = {"type": ["string", "null"]}
SEARCH_TOOL = Tool(
    name="search_wiki",
    description="Search the sections of the wiki's pages, by words and by meaning.",
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A few words or a short question."},
            "space": {**_NULLABLE_STRING, "description": "The key of one space, or null for all."},
            "label": {**_NULLABLE_STRING, "description": "A label that pages must have, or null."},
            "changed_since": {
                **_NULLABLE_STRING,
                "description": "Only pages changed on or after this day, YYYY-MM-DD, or null.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)

Search = Callable[[str, Scope], Awaitable[tuple[Passage, ...]]]
"""Searches within a scope. Raises IndexUnavailable."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The passages of a question's searches together, best first, and how they were found."""

    passages: tuple[Passage, ...]
    searches: tuple[PlannedSearch, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Result:
    call: ToolCall
    search: PlannedSearch | None
    passages: tuple[Passage, ...]
    text: str


class SearchPlanner:
    """Lets a model search up to ``MOST_SEARCHES`` times for a question.

    Args:
        model: is called once before each round of searches.
        prompt: takes ``today``, ``spaces``, ``results`` and ``question`` (prompts/search_plan.md).
        today: returns the date given to the model.
    """

    def __init__(self, model: ChatModel, prompt: PromptFile, today: Callable[[], date]) -> None:
        self._model = model
        self._prompt = prompt
        self._today = today

    async def plan(
        self,
        question: str,
        first: tuple[Passage, ...],
        spaces: Sequence[str],
        scope: Scope,
        search: Search,
    ) -> SearchPlan:
        """Return the first search's passages and those of the model's own searches.

        Never raises RagError: if the model or a search fails, what was found until then is
        returned with a note.
        """
        rounds = _Rounds(self._first_prompt(question, first, spaces), first)
        try:
            while rounds.left and _leaves_an_answer():
                completion = await self._model.complete(rounds.prompt)
                rounds.calls.append(completion.call)
                wanted = completion.tool_calls[: rounds.left]
                if completion.refused or not wanted:
                    break
                rounds.add(await asyncio.gather(*(_run(call, scope, search) for call in wanted)))
        except RagError as error:
            _log.warning("search_planning_failed", why=str(error))
            rounds.calls.extend(error.calls)
            return rounds.plan(_CUT_SHORT)
        return rounds.plan()

    def _first_prompt(
        self, question: str, first: Sequence[Passage], spaces: Sequence[str]
    ) -> Prompt:
        prompt = to_prompt(
            self._prompt,
            today=self._today().isoformat(),
            spaces=spaces[:MOST_SPACES],
            results=_shown(first),
            question=visible(question),
        )
        # A repair would take the time and the call of the answer.
        return replace(prompt, tools=(SEARCH_TOOL,), repairs=False, shown=False)


def _leaves_an_answer() -> bool:
    """Return whether after one more call there is enough of the question's limits to answer it."""
    enough_calls = question_calls_left() > CALLS_FOR_ANSWER
    return enough_calls and question_time_share_left() >= SHARE_FOR_ANSWER


class _Rounds:
    """The conversation with the model so far, and what its searches found."""

    def __init__(self, prompt: Prompt, first: tuple[Passage, ...]) -> None:
        self.prompt = prompt
        self.left = MOST_SEARCHES
        self.calls: list[ModelCall] = []
        self._found = [first]
        self._searches: list[PlannedSearch] = []

    def add(self, results: Sequence[_Result]) -> None:
        """Append a round of searches and their results to the conversation.

        Calls are numbered on, because some servers begin again in each reply.
        """
        made = MOST_SEARCHES - self.left
        results = [
            replace(each, call=replace(each.call, id=f"call_{number}"))
            for number, each in enumerate(results, made + 1)
        ]
        self.left -= len(results)
        called = ChatMessage("assistant", "", tool_calls=tuple(each.call for each in results))
        answers = (ChatMessage("tool", each.text, tool_call_id=each.call.id) for each in results)
        self.prompt = replace(self.prompt, messages=(*self.prompt.messages, called, *answers))
        self._found += [each.passages for each in results]
        self._searches += [each.search for each in results if each.search]

    def plan(self, *notes: str) -> SearchPlan:
        return SearchPlan(
            merge_searches(self._found[0], self._found[1:]),
            tuple(self._searches),
            tuple(self.calls),
            notes,
        )


async def _run(call: ToolCall, scope: Scope, search: Search) -> _Result:
    """Run one search of the model; one that can't be read gives an explanation as its result."""
    if call.name != SEARCH_TOOL.name:
        return _Result(call, None, (), f"There is no such tool; there is {SEARCH_TOOL.name}.")
    try:
        arguments = SearchArguments.model_validate_json(call.arguments)
    except ValidationError:
        return _Result(call, None, (), "The arguments do not match the tool's parameters.")
    passages = (await search(arguments.query, _narrowed(scope, arguments)))[:RESULTS_SHOWN]
    made = PlannedSearch(
        query=arguments.query,
        space=arguments.space,
        label=arguments.label,
        changed_since=arguments.changed_since,
        found=len(passages),
    )
    return _Result(call, made, passages, _results_block(passages))


def _narrowed(scope: Scope, arguments: SearchArguments) -> Scope:
    """Return the scope limited further; a space outside of it leaves nothing to search."""
    if arguments.space is not None:
        wanted = frozenset({arguments.space})
        scope = replace(scope, spaces=wanted if scope.spaces is None else scope.spaces & wanted)
    if arguments.label is not None:
        scope = replace(scope, label=arguments.label)
    if arguments.changed_since is not None:
        start = datetime.combine(arguments.changed_since, time(), UTC)
        scope = replace(scope, changed_since=start)
    return scope


def _results_block(passages: Sequence[Passage]) -> str:
    shown = _shown(passages)
    return fenced("results", shown, unforgeable_code({"results": shown}))


def _shown(passages: Sequence[Passage]) -> list[str]:
    return [_excerpt(passage) for passage in passages[:RESULTS_SHOWN]]


def _excerpt(passage: Passage) -> str:
    chunk = passage.chunk
    changed = f"{chunk.updated_at:%Y-%m-%d}" if chunk.updated_at else "unknown"
    head = f"Page: {' > '.join(chunk.trail)}\nSpace: {chunk.space}  Changed: {changed}"
    labels = f"  Labels: {', '.join(chunk.labels)}" if chunk.labels else ""
    return visible(f"{head}{labels}\n{chunk.text[:EXCERPT_CHARACTERS]}")


def merge_searches(
    first: tuple[Passage, ...], others: Sequence[tuple[Passage, ...]]
) -> tuple[Passage, ...]:
    """Return the passages of all searches by reciprocal rank fusion.

    Those of ``first`` keep their scores and signals, which are about the asker's own words; the
    others get score 0 and one signal, ``planned``: their best rank in a search of the model, from
    1.
    """
    if not any(others):
        return first
    scores: defaultdict[str, float] = defaultdict(float)
    planned: dict[str, Passage] = {}
    for rank, passage in _ranked(first, *others):
        scores[passage.chunk.id] += 1 / (_RANK_CONSTANT + rank)
    for rank, passage in sorted(_ranked(*others), key=lambda found: found[0]):
        planned.setdefault(passage.chunk.id, replace(passage, score=0.0, signals={"planned": rank}))
    found = {each.chunk.id: each for each in first}
    found |= {key: each for key, each in planned.items() if key not in found}
    return tuple(found[key] for key in sorted(found, key=lambda key: -scores[key]))


def _ranked(*searches: Sequence[Passage]) -> list[tuple[int, Passage]]:
    """Return the passages of searches, each with its rank from 1."""
    return [found for passages in searches for found in enumerate(passages, 1)]
