"""Write docs/evaluation.md, its pictures (SVG), and docs/evaluation-tables.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from bot.answering.evaluation.certificate import HeldOut
from bot.answering.evaluation.markdown_tables import format_figure, markdown, table
from bot.answering.evaluation.metrics import reliability, risks
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.report import Figure, Report, Slice
from tests.evals.findings import Findings
from tests.evals.floors import UNSEEN
from tests.evals.sets import HANDBOOK, SAMPLE

_WIDTH, _HEIGHT = 640, 420
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 20, 20, 50
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_LEGEND_LINE = 18
_FIRST_SHARE = 0.03
"""Below this coverage a handful of answers makes any risk."""

_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.grid { stroke: #d1d9e0 } .even { stroke: #818b98; stroke-dasharray: 2 4 }
.line { fill: none; stroke-width: 2.5 } .other { stroke-dasharray: 7 4 }
.without { stroke: #0969da } .with { stroke: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .grid { stroke: #3d444d } .even { stroke: #9198a1 }
  .without { stroke: #4493f8 } .with { stroke: #f0883e }
}"""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Line:
    """Points from 0 to 1 in both directions; ``style`` names its classes, see _STYLE."""

    name: str
    style: str
    points: Points


def risk_line(name: str, style: str, cases: Sequence[Case]) -> Line:
    """Return the share of wrong answers by the share of questions answered, surest first."""
    labels = [case.right or case.right_in_part for case in cases]
    found = risks([case.confidence or 0.0 for case in cases], labels).tolist() if cases else []
    shares = [(n / len(found), risk) for n, risk in enumerate(found, 1)]
    return Line(name, style, [point for point in shares if point[0] >= _FIRST_SHARE])


def reliability_line(name: str, style: str, cases: Sequence[Case]) -> Line:
    """Return the share of right answers by stated probability; vetoed answers state none."""
    stated = [(case.confidence, case.right or case.right_in_part) for case in cases]
    known = [(probability, right) for probability, right in stated if probability]
    return Line(name, style, reliability([p for p, _ in known], [right for _, right in known]))


def picture(title: str, across: str, upwards: str, lines: Sequence[Line], *, even: bool) -> str:
    """Return an SVG with both axes from 0 to 1; ``even`` draws where both are the same."""
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        *_axes(across, upwards),
    ]
    if even:
        drawn.append(_path("even", [(0.0, 0.0), (1.0, 1.0)]))
    for number, line in enumerate(lines):
        drawn.append(_path(f"line {line.style}", line.points))
        drawn += _legend(number, line)
    return "\n".join([*drawn, "</svg>", ""])


def _axes(across: str, upwards: str) -> list[str]:
    found = []
    for tick in _TICKS:
        found += [_path("grid", [(0, tick), (1, tick)]), _path("grid", [(tick, 0), (tick, 1)])]
        found.append(_text(_x(tick), _HEIGHT - 30, f"{tick:.1f}", "middle"))
        found.append(_text(_LEFT - 8, _y(tick) + 4, f"{tick:.1f}", "end"))
    found.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, across, "middle"))
    middle = _HEIGHT / 2
    turned = f'transform="rotate(-90 16 {middle:g})"'
    found.append(
        f'<text x="16" y="{middle:g}" text-anchor="middle" {turned}>{escape(upwards)}</text>'
    )
    return found


def _legend(number: int, line: Line) -> list[str]:
    """Write a line's name high on the left, where both pictures are empty."""
    x, y = _x(0.03), _y(0.96) + number * _LEGEND_LINE
    return [
        f'<path class="line {line.style}" d="M{x:.1f} {y:.1f}h34"/>',
        _text(x + 42, y + 4, line.name, "start"),
    ]


def _path(style: str, points: Points) -> str:
    steps = "L".join(f"{_x(x):.1f} {_y(y):.1f}" for x, y in points)
    return f'<path class="{style}" d="M{steps}"/>' if points else ""


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


PAGE = Path(__file__).with_name("page.md")
TABLES = Path(__file__).with_name("tables.md")

WITHOUT = "without a model"
WITH = "recorded model"
NOT_RECORDED = "not recorded"

_AGAINST = {
    "all": "everything else",
    "far": "far",
    "near_miss": "near misses",
    "withheld": "withheld",
    "wrong_answer": "wrong answers",
}
_SLICES = {SAMPLE: UNSEEN, HANDBOOK: "short"}

Ways = Mapping[str, Findings]
"""The findings by way of answering; a way whose replies are missing is not there."""


def write(ways: Ways, reports: Sequence[Report], docs: Path) -> list[Path]:
    """Write the page, the tables and the pictures below ``docs``; returns what was written."""
    parts = {
        "overview": "\n".join(_overview(ways)),
        "recorded": _recorded(ways),
        "aims": "\n".join(_aims(ways)),
        "order": "\n".join(_order(ways)),
        "certificates": "\n".join(_certificates(ways)),
    }
    texts = {
        "evaluation.md": Template(PAGE.read_text("utf-8")).substitute(parts),
        "evaluation-tables.md": "\n\n".join(
            [TABLES.read_text("utf-8").rstrip(), *map(markdown, reports)]
        )
        + "\n",
        "images/risk-coverage.svg": picture(
            "Wrong answers by how much is answered",
            "share of the questions that is answered, surest first",
            "share of wrong answers",
            [risk_line(name, style, cases) for name, style, cases in _lines(ways)],
            even=False,
        ),
        "images/reliability.svg": picture(
            "Right answers by the probability that was stated",
            "stated probability",
            "share of right answers",
            [reliability_line(name, style, cases) for name, style, cases in _lines(ways)],
            even=True,
        ),
    }
    (docs / "images").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (docs / name).write_text(text, "utf-8")
    return [docs / name for name in texts]


def _lines(ways: Ways) -> Iterator[tuple[str, str, Sequence[Case]]]:
    """Yield what the pictures show: the check set and the sample, either way."""
    for way, style in ((WITHOUT, "without"), (WITH, "with")):
        for name, dashed in ((HANDBOOK, ""), (SAMPLE, " other")):
            if way in ways and name in ways[way].cases:
                yield f"{name}, {way}", style + dashed, ways[way].cases[name]


def _overview(ways: Ways) -> list[str]:
    """Return the table up front: a row a set, and one for its short questions."""
    head = ["questions of"]
    for way in (WITHOUT, WITH):
        head += [
            f"{way}: answered",
            "right among answered",
            "answered though the pages don't say",
        ]
    rows = []
    for name in ways[WITHOUT].measured:
        rows.append([name, *_cells(ways, name, "all")])
        if name in _SLICES:
            rows.append([f"{name}, short ones", *_cells(ways, name, _SLICES[name])])
    return table(head, rows)


def _cells(ways: Ways, name: str, slice_: str) -> Iterator[str]:
    for way in (WITHOUT, WITH):
        one = _slice(ways, way, name, slice_)
        if one is None:
            yield from (NOT_RECORDED if way == WITH else "-", "", "")
        else:
            yield from map(
                _brief, (one.answered, one.right_among_answered, one.unanswerable_answered)
            )


def _slice(ways: Ways, way: str, name: str, slice_: str) -> Slice | None:
    found = ways[way].measured.get(name) if way in ways else None
    return found.report.operation.slices.get(slice_) if found else None


def _brief(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.2f} of {figure.n}"


def _recorded(ways: Ways) -> str:
    if WITH not in ways:
        return "No replies are recorded for the prompts as they are now."
    sets = ways[WITH].measured.items()
    return "\n".join(f"- {name}: {each.report.run.model}" for name, each in sets)


def _aims(ways: Ways) -> list[str]:
    """Return what is aimed at, beside what was measured."""
    rows = [
        [what, aim, format_figure(figure), str(figure.n)]
        for what, aim, figure in (*_aims_with(ways), *_aims_without(ways))
    ]
    return table(["aim", "at", "measured", "n"], rows)


def _aims_with(ways: Ways) -> Iterator[tuple[str, str, Figure]]:
    one = _slice(ways, WITH, HANDBOOK, "all")
    if one is not None:
        named = f"18F, {WITH}: "
        yield f"{named}wrong among all that is answered", "<= 0.05", one.wrong_among_answered
        yield f"{named}let through of what was composed right", ">= 0.85", one.let_through
        yield f"{named}answerable questions answered right", ">= 0.65", one.answered_right


def _aims_without(ways: Ways) -> Iterator[tuple[str, str, Figure]]:
    aims = {"far": ">= 0.85", "withheld": ">= 0.80"}
    for each in ways[WITHOUT].compared.get(HANDBOOK, ()):
        if each.against in aims:
            what = f"18F, {WITHOUT}: AUROC of the gate against {_AGAINST[each.against]}"
            yield what, aims[each.against], each.gate
    for name, aim in ((HANDBOOK, ">= 0.70"), (SAMPLE, ">= 0.85")):
        short = _slice(ways, WITHOUT, name, _SLICES[name])
        if short is not None:
            named = f"{name}, {WITHOUT}, short: "
            yield f"{named}right among the answered", aim, short.right_among_answered
            yield f"{named}answered", ">= 0.40" if name == HANDBOOK else "", short.answered


def _order(ways: Ways) -> list[str]:
    rows = [
        [
            way,
            name,
            _AGAINST[each.against],
            format_figure(each.gate),
            f"`{each.feature}` {format_figure(each.single)}",
            format_figure(each.difference),
        ]
        for way, found in ways.items()
        for name, compared in found.compared.items()
        for each in compared
    ]
    head = ["way", "set", "against", "AUROC of the gate", "of the best feature", "difference"]
    return table(head, rows)


def _certificates(ways: Ways) -> list[str]:
    rows = [
        [way, name, half, *_certified(found)]
        for way, findings in ways.items()
        for name, both in findings.certified.items()
        for half, found in zip(("first", "second"), both, strict=True)
    ]
    head = ["way", "set", "chosen on", "threshold", "answered of the other half", "wrong"]
    return table([*head, "with 90 % confidence at most"], rows)


def _certified(found: HeldOut | None) -> list[str]:
    if found is None:
        return ["none has 5 % wrong", "-", "-", "-"]
    return [
        f"{found.threshold:.3f}",
        f"{found.accepted} of {found.questions}",
        str(found.wrong),
        f"{found.bound:.1%}",
    ]
