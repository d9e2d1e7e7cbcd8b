"""What an attacker reaches: false alarms accepted, against the share of the time that the attacker is right."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.charts.svg import Ruler, element, frame, paper, path, words

INK = "var(--mark, #0072b2)"  # the page's own, which is lighter in the dark
SIZE, LEFT, BELOW, PAD = 280, 66, 44, 22
TICKS = [(v / 4, f"{25 * v}%") for v in range(5)]


def operating(curve: Sequence[tuple[float, float]], here: tuple[float, float], label: str) -> str:
    """The curve from (0, .) to (1, 1), the line of blind guessing below it, and one place on it marked and labelled.

    >>> operating([(0.0, 0.0), (0.5, 0.6), (1.0, 1.0)], (0.05, 0.08), "8%").count("<path") >= 3
    True
    """
    floor, right = SIZE - BELOW, SIZE - PAD
    x, y = Ruler(0, 1, LEFT, right), Ruler(0, 1, floor, PAD)
    title = f"At a {here[0]:.0%} false-positive rate any membership test has power at most {label}"
    about = "Between the curve and the diagonal lies all that the release can give away; on the diagonal one guesses."
    parts = frame((LEFT, PAD, right, floor), (x, y), (TICKS, TICKS), ("false-positive rate", "power, at most"))
    parts.append(path([(x(a), y(a)) for a in (0, 1)], stroke_dasharray="4 4", opacity=".7"))
    between = [*((x(a), y(b)) for a, b in curve), (x(1), y(1)), (x(0), y(0))]
    parts.append(path(between, close=True, fill=INK, opacity=".15"))
    parts.append(path([(x(a), y(b)) for a, b in curve], stroke=INK, stroke_width=2))
    parts.append(element("circle", cx=x(here[0]), cy=y(here[1]), r=4.5, fill=INK))
    parts.append(words(x(here[0]) + 12, y(here[1]) + 8, label))
    return paper(parts, (SIZE, SIZE), title=title, about=about, alone=False, class_="operating")
