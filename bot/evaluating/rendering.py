"""A report as Markdown tables, each saying what its figures are; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.evaluating.report import Figure, Report, Separation

_WAYS = {
    "keyword": "keyword (BM25)",
    "vector": "vector",
    "rrf": "reciprocal rank fusion",
    "ours": "Frontdesk",
}
_SCORES = {
    "gate": "the gate",
    "keyword": "best keyword score alone",
    "vector": "best cosine alone",
    "length": "length of the question (control)",
}
_AGAINST = {
    "far": "far: other companies' business",
    "near_miss": "near misses: on topic, not in the pages",
    "withheld": "withheld: gold pages kept out of the search",
    "wrong_answer": "wrong answers to answerable questions (against right ones)",
}


def shown(figure: Figure) -> str:
    """Return a figure with its interval, or a dash."""
    if figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def markdown(report: Report) -> str:
    """Return one set's report, its headings on the second level."""
    parts = (_run, _retrieval, _answers, _operation, _separation, _calibration, _routes, _cost)
    return "\n\n".join("\n".join(part(report)) for part in parts)


def _run(report: Report) -> list[str]:
    run = report.run
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in run.kinds.items())
    return [
        f"## {run.name}",
        "",
        (
            f"{kinds}. {run.chunks} chunks, embedder {run.embedder}, composer {run.composer}, "
            f"{run.date.isoformat()}. Questions `{run.questions}`, SHA-256 `{run.sha256[:12]}`."
        ),
    ]


def _retrieval(report: Report) -> list[str]:
    measures = list(next(iter(report.retrieval.values())))
    rows = [
        [_WAYS[way], *(shown(figures[name]) for name in measures)]
        for way, figures in report.retrieval.items()
    ]
    n = report.retrieval["ours"]["recall@5"].n
    leads = ", ".join(f"{_WAYS[way]} {shown(lead)}" for way, lead in report.retrieval_lead.items())
    return [
        f"**Retrieval** of pages, {n} questions with an answer, follow-ups in their full form:",
        "",
        *_table(["way", *measures], rows),
        "",
        f"Recall@5 of Frontdesk less that of: {leads}.",
    ]


def _answers(report: Report) -> list[str]:
    answers = report.answers
    return [
        "**Answers** as composed, before the gate, to questions with an answer:",
        "",
        *_table(
            ["measure", "value", "n"],
            [
                ["all key facts and a gold page cited", *_cells(answers.facts_and_page)],
                ["all key facts, where there are any", *_cells(answers.facts)],
                ["a gold page cited", *_cells(answers.gold_cited)],
                ["a gold page among the passages read", *_cells(answers.gold_among_passages)],
                ["words", *_cells(answers.words)],
                ["quotes byte-exact and readable by the asker", *_cells(report.citations)],
            ],
        ),
    ]


def _operation(report: Report) -> list[str]:
    operation = report.operation
    given = ["answer", "reply", "clarification", "escalation"]
    rows = [
        [kind.replace("_", " "), *(str(counts[name]) for name in given)]
        for kind, counts in operation.outcomes.items()
    ]
    threshold = "-" if operation.threshold is None else f"{operation.threshold:.2f}"
    return [
        f"**What the asker gets** at the threshold in force, {threshold}:",
        "",
        *_table(["kind", "answer from the pages", "reply without them", *given[2:]], rows),
        "",
        *_table(
            ["measure", "value", "n"],
            [
                ["answerable questions that get an answer", *_cells(operation.answered)],
                [
                    "right (facts and page) among the answered",
                    *_cells(operation.right_among_answered),
                ],
                ["a gold page cited, of those", *_cells(operation.gold_cited_among_answered)],
                ["withheld questions handed to a person", *_cells(operation.withheld_escalated)],
            ],
        ),
    ]


def _separation(report: Report) -> list[str]:
    return [
        (
            "**Telling them apart** (AUROC; 0.5 is chance). "
            "At equal length: pairs of questions whose lengths differ by at most one word."
        ),
        "",
        *_table(["against", "score", "all", "at equal length"], _separations(report)),
    ]


def _separations(report: Report) -> Iterable[Sequence[str]]:
    for kind, scores in report.gate.separation.items():
        for name, separation in scores.items():
            yield [_AGAINST[kind], _SCORES[name], *_both(separation)]


def _both(separation: Separation) -> tuple[str, str]:
    return shown(separation.plain), shown(separation.matched)


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
        *_table(["measure", "value", "n"], rows),
    ]


def _routes(report: Report) -> list[str]:
    ways = list(next(iter(report.routes.values()), {}))
    rows = [
        [kind.replace("_", " "), *(str(counts[way]) for way in ways)]
        for kind, counts in report.routes.items()
    ]
    return [
        f"**Routes**; where they belong: {shown(report.routed_right)}.",
        "",
        *_table(["kind", *ways], rows),
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


def _cells(figure: Figure) -> tuple[str, str]:
    return shown(figure), str(figure.n)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
