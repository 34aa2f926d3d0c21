"""Run the desk from the command line: ask one question, or evaluate, train and certify on many.

Neither inbox nor store is used: no question is recorded.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

from tqdm import tqdm

from bot import __version__
from bot.answering.admission import audience_of, served_policy
from bot.answering.evaluation.evaluate import (
    PlannedQuestion,
    Progress,
    certify,
    check_labels,
    evaluate,
    questions_and_withheld,
    report_of,
    run_of,
    train_on_own,
    write,
)
from bot.answering.evaluation.history import append_summary, summary_of
from bot.answering.evaluation.labelled_questions import RecordingComposer, load_questions
from bot.answering.evaluation.markdown_tables import markdown, training_lines, trials_page
from bot.answering.evaluation.model_trial import (
    SAMPLE_DAY,
    KeptAnswers,
    ask_kept,
    cost_in_words,
    sample_plan,
)
from bot.answering.evaluation.question_cases import Case, ModelWatch, Subject
from bot.answering.evaluation.question_metrics import trial_of
from bot.answering.evaluation.report import Report, Trials
from bot.answering.gate import GATE_FILE, calibration_name, load_gate, load_gate_file
from bot.app.components import gate_path, open_components
from bot.app.documents import SAMPLE, load_ingestion_settings, reindex_sample
from bot.app.language_models import PROBE, estimated_micro_usd, named_models
from bot.chat.response_view import ResponseView, SourceLine, render
from bot.domain.errors import ModelGaveUp
from bot.domain.health import NOTHING_INDEXED
from bot.domain.messages import NO_MODEL, Inquiry, Message, Person, Stage, Thread
from bot.domain.model_settings import LanguageModel
from bot.domain.outcomes import confidence_level
from bot.domain.settings import Settings
from prompts.files import load_prompt
from rag.answer.grounded import utc_today
from rag.ports import ChatModel, Composer
from rag.types import EVERYONE, Principal


async def ask(settings: Settings, question: str, *, groups: Sequence[str] = ()) -> int:
    """Print the answer and its sources; return 0 when answered, else 1 (also for a guess)."""
    asker = Person("cli", principals=frozenset({EVERYONE, *_group_principals(groups)}))
    message = Message(
        id=str(uuid.uuid4()),
        thread=Thread("cli", settings.tenant, "cli", "cli"),
        author=asker,
        text=question,
        received_at=datetime.now(UTC),
        private=True,
    )
    inquiry = Inquiry(message, (), audience_of(message), served_policy(settings.index_spaces))
    superseded = load_ingestion_settings().confluence_superseded_labels
    async with open_components(settings, superseded=superseded) as parts:
        if not await parts.index.spaces(settings.tenant):
            print(NOTHING_INDEXED)
            return 1
        outcome = await parts.desk.handle(inquiry, _ignore_progress)
    print(_terminal_text(render(outcome.response, private=True, remarks=outcome.remarks)))
    answered = outcome.response.kind == "reply" and confidence_level(outcome) != "unsure"
    return 0 if answered else 1


def _terminal_text(rendered: ResponseView) -> str:
    """Render a response for a terminal: the text, then the pages with their quotes."""
    lines = [rendered.text, ""]
    if rendered.lines:
        lines.append(rendered.heading)
        lines += [_source_line(line) for line in rendered.lines]
    return "\n".join([*lines, *rendered.remarks, rendered.footer]).strip()


def _source_line(line: SourceLine) -> str:
    number = f"[{line.number}]" if line.number is not None else " - "
    return f"{number} {line.label}" + (f"\n    {line.url}" if line.url else "")


def _group_principals(names: Sequence[str]) -> frozenset[Principal]:
    return frozenset(Principal(f"group:{name}") for name in names)


async def _ignore_progress(_: Stage, __: int = 0) -> None:
    """Ignore progress: the answer comes within a second."""


async def run_evaluation(
    settings: Settings, questions: Path, *, out: Path | None, models: Sequence[str] = ()
) -> int:
    """Evaluate and print the report as Markdown; write it as JSON if ``out`` is given.

    With several models there is a report for each, and the last one is written.
    """
    for model in named_models(settings, models):
        async with _open_subject(settings, model) as subject:
            with _bar("questions") as advance:
                report = await evaluate(subject, questions, out=out, progress=advance)
        append_summary(settings.data_dir, summary_of(report, _name(model)))
        print(markdown(report))
    return 0


SAMPLE_LANGUAGE = "en"
"""The language of the sample's pages, whatever that of the operator's own is."""

STOPPED = 3
"""Exit code when a model stayed unavailable; the same command goes on from there."""


async def run_sample_evaluation(
    settings: Settings,
    models: Sequence[str],
    *,
    yes: bool = False,
    again: bool = False,
    out: Path | None = None,
    plan: Sequence[PlannedQuestion] | None = None,
) -> int:
    """Ask the sample's questions of models, beside no model, and say which are good enough.

    The cost is told first, and must be agreed to (``yes``, or at the terminal). ``again`` forgets
    the answers of an earlier run; ``plan`` are other questions to ask.

    Return 0 when all are good enough, 1 when one may not be, 2 without consent, STOPPED when a
    model stayed unavailable.
    """
    settings = settings.model_copy(update={"wiki_language": SAMPLE_LANGUAGE})
    chosen = [each for each in named_models(settings, models) if each is not None]
    asks = sample_plan(SAMPLE) if plan is None else plan
    kept = {_name(each): _kept(settings, each, asks) for each in (None, *chosen)}
    if again:
        for answers in kept.values():
            answers.forget()
    for each in chosen:
        price = partial(estimated_micro_usd, each)
        print(cost_in_words(each.name, kept[each.name].missing(asks), price))
    if any(kept[each.name].missing(asks) for each in chosen) and not _agreed(yes=yes):
        return 2
    cases, reports = {}, []
    try:
        for tried in (None, *chosen):
            name = _name(tried)
            cases[name], report = await _try(settings, tried, asks, kept[name])
            reports.append(report)
    except ModelGaveUp as error:
        print(f"{error} What is answered so far is kept.", file=sys.stderr)
        return STOPPED
    plain = cases[NO_MODEL]
    trials = [
        trial_of(name, found, None if name == NO_MODEL else plain) for name, found in cases.items()
    ]
    texts = {planned.row.id: planned.row.text for planned in asks}
    print(trials_page(trials, texts, careful=_judged_carefully(settings, chosen)))
    if out is not None:
        write(out, Trials(trials=tuple(trials), reports=tuple(reports)))
    return int(any(trial.verdict not in {None, "good enough"} for trial in trials))


def _name(model: LanguageModel | None) -> str:
    return NO_MODEL if model is None else model.name


async def _try(
    settings: Settings,
    model: LanguageModel | None,
    asks: Sequence[PlannedQuestion],
    kept: KeptAnswers,
) -> tuple[Sequence[Case], Report]:
    """Ask one model what it was not asked yet, in an index of the sample's own."""
    own = settings.model_copy(
        update={
            "data_dir": settings.data_dir / EVALUATION / "sample",
            "azure_search_endpoint": None,
            "database_url": None,
            "index_spaces": None,
        }
    )
    opened = _open_subject(own, model, gate=gate_path(settings), today=lambda: SAMPLE_DAY)
    async with opened as subject:
        if subject.watch is not None and kept.missing(asks):
            await subject.watch.complete(PROBE)
        with _bar(_name(model)) as advance:
            cases = await ask_kept(subject, asks, kept, advance)
        run = await run_of(subject, SAMPLE / "questions.jsonl", cases, name=_name(model))
    return cases, report_of(run, cases)


EVALUATION = "evaluation"
"""Folder of the data directory for the sample's own index and for answers that are kept."""


def _kept(
    settings: Settings, model: LanguageModel | None, asks: Sequence[PlannedQuestion]
) -> KeptAnswers:
    """Return the answers of a run that would ask the very same, as far as they are there."""
    parts = {
        "version": __version__,
        "model": (model.model, model.where, model.reasoning_effort) if model else NO_MODEL,
        "embedder": _embedding_server(settings),
        "prompts": [load_prompt(name).id for name in PROMPTS],
        "gate": gate_path(settings).read_bytes(),
        "questions": [(ask.row.model_dump_json(), ask.withheld) for ask in asks],
        "settings": settings.model_dump(include=_CHANGE_ANSWERS),
    }
    return KeptAnswers(settings.data_dir / EVALUATION / "answers", _name(model), parts)


def _embedding_server(settings: Settings) -> str | None:
    """Return the address that embeds; None where that is done in this process."""
    url = settings.embedding_base_url or settings.openai_base_url
    return url if settings.embedding_model else None


PROMPTS = ("answer", "answer_translated", "generic", "search_plan", "understand")
_CHANGE_ANSWERS = {
    "confidence_threshold",
    "embedding_dimensions",
    "embedding_max_tokens",
    "embedding_model",
    "model_top_k",
    "router",
    "search",
    "similarity_floor",
    "spelling",
    "top_k",
    "wiki_language",
}


def _agreed(*, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        print("Nothing is asked yet. Say --yes to go on.", file=sys.stderr)
        return False
    return input("Go on? [y/N] ").strip().lower() in {"y", "yes"}


def _judged_carefully(settings: Settings, models: Sequence[LanguageModel]) -> Sequence[str]:
    gate, prompt = load_gate(path=gate_path(settings)), load_prompt("answer").id
    return [
        each.name for each in models if not gate.knows(calibration_name(each.calibrated_as, prompt))
    ]


async def run_training(
    settings: Settings, questions: Path, *, model: str = "", again: bool = False
) -> int:
    """Fit the gate to one model's answers and one's own labels; write it to the data directory.

    Return 0 when it is written, 1 when it is no better than what holds, STOPPED when the model
    stayed unavailable. Raises SettingInvalid when there is too little to learn from.
    """
    rows = load_questions(questions)
    check_labels(rows)
    (measured,) = named_models(settings, [model] if model else [])
    asks = questions_and_withheld(rows)
    kept = _kept(settings, measured, asks)
    if again:
        kept.forget()
    elif known := len(asks) - kept.missing(asks):
        print(f"{known} of {len(asks)} are answered already; --again starts over.")
    try:
        async with _open_subject(settings, measured) as subject:
            with _bar(_name(measured)) as advance:
                cases = await ask_kept(subject, asks, kept, advance)
    except ModelGaveUp as error:
        print(f"{error} What is answered so far is kept.", file=sys.stderr)
        return STOPPED
    found = train_on_own(cases, questions.stem, load_gate_file(gate_path(settings)))
    # From here on a further run is another one: pages may have changed.
    kept.forget()
    print("\n".join(training_lines(found)))
    if not found.better:
        print("Nothing is written: what holds already is no worse on these questions.")
        return 1
    out = settings.data_dir / GATE_FILE.name
    write(out, found.file)
    print(f"Written to {out}; it holds from the next start on. Then: python -m bot certify")
    return 0


async def run_certification(settings: Settings, questions: Path, *, model: str = "") -> int:
    """Certify a threshold and write the gate file to the data directory; return 1 without one."""
    out = settings.data_dir / GATE_FILE.name
    (measured,) = named_models(settings, [model] if model else [])
    async with _open_subject(settings, measured) as subject:
        found = await certify(subject, questions, out, gate=gate_path(settings))
    if found is None:
        print(
            "Nothing can be promised on these questions: the threshold stays as it is. "
            "docs/confidence.md says why."
        )
        return 1
    print(
        f"At most {found.target_error:.0%} wrong among the answered, with {found.confidence:.0%} "
        f"confidence, from {found.threshold:.3f} up; that answers {found.coverage:.0%}. "
        f"Written to {out}; it holds from the next start on."
    )
    return 0


@contextmanager
def _bar(name: str) -> Iterator[Progress]:
    """Show progress on the terminal while the block runs."""
    with tqdm(desc=name, unit=" asked", file=sys.stderr) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance


@asynccontextmanager
async def _open_subject(
    settings: Settings,
    model: LanguageModel | None,
    *,
    gate: Path | None = None,
    today: Callable[[], date] | None = None,
) -> AsyncIterator[Subject]:
    """Open the desk as it is in use with a model, and watch its composer and that model.

    With ``today`` the sample is asked, on that day, and indexed first.
    """
    recorders: list[RecordingComposer] = []
    watches: list[ModelWatch] = []

    def observe(composer: Composer) -> Composer:
        recorders.append(RecordingComposer(composer))
        return recorders[-1]

    def watch(watched: ChatModel) -> ChatModel:
        watches.append(ModelWatch(watched))
        return watches[-1]

    superseded = load_ingestion_settings().confluence_superseded_labels
    async with open_components(
        settings,
        observe,
        superseded=superseded,
        watch=watch,
        measured=_name(model),
        gate=gate,
        today=today or utc_today,
    ) as parts:
        if today is not None:
            await reindex_sample(settings, parts)
        yield Subject(
            parts.desk,
            recorders[0],
            parts.index,
            parts.embedder,
            settings.tenant,
            watches[0] if watches else None,
            model.calibrated_as if model else "",
        )
