"""Two pictures as SVG: risk against coverage, and reliability; readable in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bot.answering.evaluation.question_cases import Case
from rag.evaluation.metrics import reliability, risks

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
