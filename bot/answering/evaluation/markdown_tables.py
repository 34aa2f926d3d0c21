"""Render an evaluation report as Markdown tables that explain their figures; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bot.answering.evaluation.evaluate import OwnTraining
from bot.answering.evaluation.question_metrics import OUTCOMES, SHORT_QUESTION_WORDS
from bot.answering.evaluation.report import Figure, Report, Separation, Trial

_RANKING_NAMES = {
    "keyword": "keyword (BM25)",
    "vector": "vector",
    "rrf": "reciprocal rank fusion",
    "ours": "Frontdesk",
}
_SCORE_NAMES = {
    "gate": "the gate",
    "keyword": "best keyword score alone",
    "vector": "best cosine alone",
    "length": "length of the question (control)",
}
_COMPARISON_NAMES = {
    "far": "far: other companies' business",
    "near_miss": "near misses: on topic, not in the pages",
    "withheld": "withheld: gold pages kept out of the search",
    "wrong_answer": "wrong answers to answerable questions (against right ones)",
    "all": "everything else (against right answers)",
}
_SLICE_NAMES = {
    "all": "all but follow-ups",
    "short": f"short (up to {SHORT_QUESTION_WORDS} words)",
    "long": "longer",
    "table": "answer in a table",
    "steps": "answer in steps or a list",
    "multi_turn": "follow-ups",
    "short_unseen": "short, judged by gates that never saw them",
}
_SLICE_COLUMNS = {
    "composed_right": "composed right",
    "answered": "answered",
    "answered_right": "answered right",
    "right_among_answered": "right among answered",
    "wrong_among_answered": "wrong among all answered",
    "unanswerable_answered": "answered though unanswerable",
    "let_through": "let through of what is right",
    "unsure": "shown as unsure",
    "right_among_unsure": "right among unsure",
}


def format_figure(figure: Figure) -> str:
    """Format a figure with its interval; a dash where it has no value."""
    if figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def markdown(report: Report) -> str:
    """Render one set's report, its headings on the second level."""
    parts = (_run, _retrieval, _answers, _operation, _separation, _calibration, _routes, _cost)
    return "\n\n".join("\n".join(part(report)) for part in parts)


def _run(report: Report) -> list[str]:
    run = report.run
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in run.kinds.items())
    return [
        f"## {run.name}{f', {run.model}' if run.model else ''}",
        "",
        (
            f"{kinds}. {run.chunks} chunks, embedder {run.embedder}, composer {run.composer}, "
            f"{run.date.isoformat()}. Questions `{run.questions}`, SHA-256 `{run.sha256[:12]}`."
        ),
    ]


def _retrieval(report: Report) -> list[str]:
    measures = list(next(iter(report.retrieval.values())))
    rows = [
        [_RANKING_NAMES[way], *(format_figure(figures[name]) for name in measures)]
        for way, figures in report.retrieval.items()
    ]
    n = report.retrieval["ours"]["recall@5"].n
    leads = ", ".join(
        f"{_RANKING_NAMES[way]} {format_figure(lead)}"
        for way, lead in report.retrieval_lead.items()
    )
    return [
        f"**Retrieval** of pages, {n} questions with an answer, follow-ups in their full form:",
        "",
        *table(["way", *measures], rows),
        "",
        f"Recall@5 of Frontdesk less that of: {leads}.",
    ]


def _answers(report: Report) -> list[str]:
    answers = report.answers
    return [
        "**Answers** as composed, before the gate, to questions with an answer:",
        "",
        *table(
            ["measure", "value", "n"],
            [
                ["all key facts and a gold page cited", *_cells(answers.facts_and_page)],
                ["all key facts, where there are any", *_cells(answers.facts)],
                ["a gold page cited", *_cells(answers.gold_cited)],
                ["a gold page among the passages read", *_cells(answers.gold_among_passages)],
                ["words, mean", *_cells(answers.words)],
                ["words, median", *_cells(answers.words_median)],
                ["words, longest", *_cells(answers.words_most)],
                ["quotes byte-exact and readable by the asker", *_cells(report.citations)],
            ],
        ),
    ]


def _operation(report: Report) -> list[str]:
    operation = report.operation
    rows = [
        [kind.replace("_", " "), *(str(counts[given]) for given in OUTCOMES)]
        for kind, counts in operation.outcomes.items()
    ]
    threshold = "-" if operation.threshold is None else f"{operation.threshold:.2f}"
    slices = [
        [_SLICE_NAMES[name], *(_share(getattr(each, field)) for field in _SLICE_COLUMNS)]
        for name, each in operation.slices.items()
    ]
    return [
        f"**What the asker gets** at the threshold in force, {threshold}:",
        "",
        *table(["kind", *OUTCOMES], rows),
        "",
        "By slice, as share of n; *answered* is sure or partial:",
        "",
        *table(["slice", *_SLICE_COLUMNS.values()], slices),
        "",
        f"Withheld questions that are not answered: {format_figure(operation.withheld_kept_back)}.",
    ]


def _share(figure: Figure) -> str:
    return f"{format_figure(figure)} of {figure.n}" if figure.n else "-"


def _separation(report: Report) -> list[str]:
    return [
        (
            "**Telling them apart** (AUROC; 0.5 is chance). "
            "At equal length: pairs of questions whose lengths differ by at most one word."
        ),
        "",
        *table(["against", "score", "all", "at equal length"], _separations(report)),
    ]


def _separations(report: Report) -> Iterable[Sequence[str]]:
    for kind, scores in report.gate.separation.items():
        for name, separation in scores.items():
            yield [_COMPARISON_NAMES[kind], _SCORE_NAMES[name], *_both(separation)]


def _both(separation: Separation) -> tuple[str, str]:
    return format_figure(separation.plain), format_figure(separation.matched)


def _calibration(report: Report) -> list[str]:
    gate = report.gate
    rows = [
        ["share of right answers (base rate)", *_cells(gate.share_right)],
        ["debiased calibration error", *_cells(gate.ece)],
        ["Brier score", *_cells(gate.brier)],
        ["area under the risk-coverage curve", *_cells(gate.aurc)],
        *(
            [f"coverage at {error} error, in hindsight", *_cells(found)]
            for error, found in gate.coverage.items()
        ),
    ]
    return [
        "**The gate's probability** over answerable, near-miss and far questions:",
        "",
        *table(["measure", "value", "n"], rows),
    ]


def _routes(report: Report) -> list[str]:
    ways = list(next(iter(report.routes.values()), {}))
    rows = [
        [kind.replace("_", " "), *(str(counts[way]) for way in ways)]
        for kind, counts in report.routes.items()
    ]
    return [
        f"**Routes**; where they belong: {format_figure(report.routed_right)}.",
        "",
        *table(["kind", *ways], rows),
    ]


def _cost(report: Report) -> list[str]:
    cost = report.cost
    return [
        (
            f"**Cost**: {cost.latency_p50_ms or 0:.0f} ms a question at the median, "
            f"{cost.latency_p95_ms or 0:.0f} ms at the 95th percentile (the whole desk, embedding "
            f"included); {cost.model_calls} model calls, {cost.input_tokens} + "
            f"{cost.output_tokens} tokens."
        ),
    ]


_TRIAL_COLUMNS = {
    "composed_right": "composed right",
    "answered_right": "answered right",
    "wrong_among_answered": "wrong among all answered",
    "unanswerable_answered": "answered though the pages don't say",
    "unsure": "shown as a guess",
}
_NAMED = 8
"""How many questions are named of each sort."""


def trials_page(
    trials: Sequence[Trial], texts: Mapping[str, str], *, careful: Sequence[str]
) -> str:
    """Render several models side by side, then what to think of each, in words.

    Args:
        trials: one for each model.
        texts: the questions by their ids.
        careful: models whose answers the careful default judged.
    """
    rows = [
        [trial.model, *(_share(getattr(trial.found, name)) for name in _TRIAL_COLUMNS)]
        for trial in trials
    ]
    plain = next((trial for trial in trials if trial.verdict is None), None)
    parts = ["\n".join(table(["model", *_TRIAL_COLUMNS.values()], rows))]
    parts += [
        "\n".join(_in_words(trial, plain, texts, careful=trial.model in careful))
        for trial in trials
        if trial.verdict is not None
    ]
    return "\n\n".join(parts)


def _in_words(
    trial: Trial, plain: Trial | None, texts: Mapping[str, str], *, careful: bool
) -> Iterable[str]:
    found = trial.found
    beside = f"; without a model {_percent(plain.found.answered_right)}" if plain else ""
    yield f"**{trial.model}: {trial.verdict}.**"
    yield f"- Right: {_percent(found.answered_right)} of what the pages answer{beside}."
    yield f"- Wrong: {_percent(found.wrong_among_answered)} of all that it answers."
    guesses = _percent(found.right_among_unsure)
    yield f"- Unsure: {_percent(found.unsure)} get a guess; right are {guesses}."
    yield (
        f"- It refuses {len(trial.refused)} that the pages answer; to {len(trial.held_back)} of "
        "them it had a right answer, which the gate held back."
    )
    yield from _named(trial.refused, texts)
    yield f"- It invents {len(trial.invented)}: what the pages don't say, or what is wrong."
    yield from _named(trial.invented, texts)
    if trial.unusable:
        yield (
            f"- To {len(trial.unusable)} it gave nothing in a usable form; in use these are "
            "answered without a model."
        )
        yield from _named(trial.unusable, texts)
    if careful:
        yield (
            "- Its answers were judged by the careful default; `python -m bot train` fits the gate "
            "to it (docs/confidence.md)."
        )


def _percent(figure: Figure) -> str:
    """Return a share in per cent with its interval and the number that it is a share of."""
    if figure.value is None:
        return "none"
    bounds = (figure.value, figure.low or 0.0, figure.high or 0.0)
    value, low, high = (round(100 * each) for each in bounds)
    return f"{value} % ({low} to {high}; of {figure.n})"


def _named(ids: Sequence[str], texts: Mapping[str, str]) -> Iterable[str]:
    """Yield the first of some questions as a list below a line."""
    for each in ids[:_NAMED]:
        yield f"  - {each}: {texts.get(each.partition(' ')[0], '')}"
    if len(ids) > _NAMED:
        yield f"  - and {len(ids) - _NAMED} more"


def training_lines(training: OwnTraining) -> Iterable[str]:
    """Return a table of what a calibration fitted to one's own labels is worth."""
    calibration = training.file.calibrations[training.calibration]
    (trained,) = calibration.trained_on
    yield f"{training.calibration}: {trained.questions} answers, {trained.right} of them right."
    yield ""
    yield from table(
        ["lower is better", "as it is", "fitted, by cross-validation"],
        [
            [name, f"{value:.3f}", f"{training.after[name]:.3f}"]
            for name, value in training.before.items()
        ],
    )
    yield ""
    yield f"Weighed: {', '.join(each.name for each in calibration.features)}."


def _cells(figure: Figure) -> tuple[str, str]:
    return format_figure(figure), str(figure.n)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
