"""A privacy-utility front: what was tested, what no other point beats, and questions to it.

A front of exact utilities is NOT private: it was measured on data, and every form of it says so. A front of privately
observed utilities (``tacit.pareto.PrivateTest``) may be published under its guarantee.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import BadInput, positive, probability
from tacit.files import Json, write_file
from tacit.notebook import DrawnInNotebooks
from tacit.pareto.dominance import hypervolume, nondominated
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.origin import NONE, unit_in_words
from tacit.privacy.release import Payment, Release, plain
from tacit.space import Array, Params

if TYPE_CHECKING:
    from tacit.charts.fronts import FrontChart
    from tacit.pareto.queries import Prediction

FORMAT = "tacit.front/1"
WHY = "a front of exact utilities measured on the data"
TRUSTED = "NOT PRIVATE: show it only to people who may see the data it was measured on, or measure it on a public proxy"
PUBLISHED = (
    "may be published under its guarantee, which protects the test records. Training records are NOT protected by it: "
    "the utilities were measured on models trained on them"
)


@dataclass(frozen=True)
class Point:
    """Hyperparameters, their epsilon, and the utility of their runs: mean, best and worst.

    ``low`` and ``high`` are the ends of a 95% interval of the mean of many runs at these hyperparameters, None with
    fewer than three points. ``deviation`` is the model's standard deviation of a utility that was released with noise,
    None where there is none.
    """

    __released__ = True

    params: Params
    epsilon: float
    utility: float
    best: float
    worst: float
    runs: tuple[float, ...] = ()
    deviation: float | None = None
    low: float | None = None
    high: float | None = None
    cost: float | None = None  # a third objective, smaller is better

    @property
    def objectives(self) -> list[float]:
        """What no other point of a front may beat in all: epsilon, error and, where there is one, the cost."""
        return [self.epsilon, self.error] + ([] if self.cost is None else [self.cost])

    @property
    def error(self) -> float:
        return 1.0 - self.utility

    @property
    def observation(self) -> float:
        """The mean of the runs as they came, before any model placed it."""
        return float(np.mean(self.runs)) if self.runs else self.utility

    @classmethod
    def of(cls, params: Params, epsilon: float, runs: Sequence[float], cost: float | None = None) -> Point:
        return cls(dict(params), float(epsilon), float(np.mean(runs)), max(runs), min(runs), tuple(runs), cost=cost)

    def to_json(self) -> Json:
        about = {"epsilon": self.epsilon, "utility": self.utility, "best": self.best, "worst": self.worst}
        ends = {"low": self.low, "high": self.high} if self.low is not None else {}  # the first release had none
        ends |= {} if self.cost is None else {"cost": self.cost}
        return {**about, **ends, "deviation": self.deviation, "runs": list(self.runs), "params": self.params}


@dataclass(frozen=True)
class Front(DrawnInNotebooks):
    """All tested points and the front among them.

    Guarantee. ``guarantee``: none, unless the utilities were privately observed. ``audience`` says who may see it.
    """

    __released__ = True

    tested: tuple[Point, ...]
    label: str
    delta: float
    name: str = "algorithm"
    reference: tuple[float, ...] = (10.0, 1.0)
    failed: tuple[Params, ...] = ()
    guarantee: Guarantee = field(default_factory=lambda: Guarantee.none(WHY))
    payment: Payment | None = None
    noise: float = 0.0  # standard deviation of the noise that was added to each point's mean utility
    reasons: tuple[str, ...] = ()  # why points failed, each once
    cost_name: str = ""  # of the third objective, where there is one
    baselines: dict[str, float] = field(default_factory=dict)  # utility without privacy, or without a model
    origin: dict[str, Any] | None = field(default=None, compare=False)  # which data, version and command
    left: dict[str, Any] | None = field(default=None, compare=False, repr=False)  # what its ledger has left

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The front, by rising epsilon: no tested point has less of epsilon, error and cost. Infinite epsilons are out.

        Edges. No tested point, or none of finite epsilon, gives an empty front.
        """
        real = [p for p in self.tested if math.isfinite(p.epsilon)]
        if not real:
            return ()
        kept = nondominated([p.objectives for p in real])
        return tuple(sorted((p for p, k in zip(real, kept, strict=True) if k), key=lambda p: p.epsilon))

    @property
    def steps(self) -> tuple[Point, ...]:
        """Of the front, those that no other beats in epsilon and error alone: stairs that only rise."""
        if not self.cost_name or not self.points:
            return self.points
        on = nondominated([[p.epsilon, p.error] for p in self.points])
        return tuple(p for p, k in zip(self.points, on, strict=True) if k)

    @property
    def params(self) -> list[Params]:
        """Hyperparameters of the front, by rising epsilon."""
        return [p.params for p in self.points]

    @property
    def values(self) -> Array:
        """Epsilon, error and, where there is one, the cost of the front, (k, 2 or 3)."""
        return np.array([p.objectives for p in self.points]).reshape(-1, len(self.reference))

    @property
    def private(self) -> bool:
        return self.guarantee.budget is not None

    @property
    def audience(self) -> str:
        """Who may see this front."""
        return PUBLISHED if self.private else TRUSTED

    def hypervolume(self, reference: Sequence[float] | None = None) -> float:
        """What the front dominates up to the reference (epsilon, error); 0 if no tested point lies below it."""
        return hypervolume(self.values, reference or self.reference)

    def at(self, *, epsilon: float | None = None, utility: float | None = None) -> Point:
        """The best tested point of at most ``epsilon``, or the most private tested point of at least ``utility``."""
        if (epsilon is None) == (utility is None):
            raise BadInput("give epsilon or utility, one of the two")
        if not self.points:
            infinite = sum(not math.isfinite(p.epsilon) for p in self.tested)
            raise BadInput(
                f"this front is empty: {len(self.tested)} points tested, {infinite} of them with an infinite epsilon, "
                f"{len(self.failed)} failed"
            )
        if epsilon is not None:
            positive("epsilon", epsilon)
            fitting = [p for p in self.points if p.epsilon <= epsilon]
            if not fitting:
                least = self.points[0].epsilon
                raise BadInput(f"no tested point reaches epsilon={epsilon:g}; the smallest tested is {least:.4g}")
            return max(fitting, key=lambda p: p.utility)
        wanted = probability("utility", utility or 0.0, zero=True)
        enough = [p for p in self.points if p.utility >= wanted]
        if not enough:
            most = max(p.utility for p in self.points)
            raise BadInput(f"no tested point reaches utility={wanted:g}; the largest tested is {most:.4g}")
        return enough[0]

    def predict(self, algorithm: Any, *, epsilon: float | None = None, utility: float | None = None) -> Prediction:
        """What the model expects at hyperparameters that need not have been tested, with a 95% interval.

        Of the algorithm only its space and its epsilons are asked. The front does not keep it, since it holds records.
        """
        from tacit.pareto.algorithm import Oracles
        from tacit.pareto.queries import predict

        return predict(self, Oracles(algorithm, self.delta), epsilon=epsilon, utility=utility)

    def plot(self, *, show: str = "error") -> FrontChart:
        """A chart of the front with its variability: ``.svg``, ``.save(path)``, and itself in a notebook."""
        from tacit.pareto.chart import chart_of

        return chart_of([self], show=show)

    def release(self) -> Release[Front]:
        """The front with its guarantee and payment, for a certificate. Only of a private front."""
        if not self.private:
            raise BadInput(f"this front is {TRUSTED}. Nothing was released")
        return self.seal()

    def seal(self) -> Release[Front]:
        """The front with its guarantee, which may be none, and its payment: what ``discover`` returns."""
        about = {**(self.origin or {}), "unit": unit_in_words(self.guarantee), "chosen": NONE}
        return Release(self, self.guarantee, self.payment, {**about, **({"left": self.left} if self.left else {})})

    def to_json(self) -> Json:
        """Everything, in JSON's own types; says who may see it."""
        return {
            "format": FORMAT,
            "private": self.private,
            "audience": self.audience,
            "guarantee": self.guarantee.to_json(),
            "payment": self.payment.to_json() if self.payment else None,
            "name": self.name,
            "label": self.label,
            "delta": self.delta,
            "reference": list(self.reference),
            **({"cost_name": self.cost_name} if self.cost_name else {}),
            **({"noise": self.noise} if self.noise else {}),
            **({"origin": self.origin} if self.origin else {}),
            "hypervolume": self.hypervolume(),
            "front": [plain(p) for p in self.points],
            "tested": [plain(p) for p in self.tested],
            "failed": [plain(p) for p in self.failed],
            **({"baselines": self.baselines} if self.baselines else {}),
            **({"reasons": list(self.reasons)} if self.reasons else {}),
        }

    @classmethod
    def from_json(cls, document: Json) -> Front:
        """A front read back."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise BadInput(f"a front in JSON must have format {FORMAT!r}")
        try:
            tested = tuple(_point(p) for p in document["tested"])
            paid = Payment.from_json(document["payment"]) if document["payment"] else None
            corner = tuple(float(v) for v in document["reference"])
            if len(corner) not in (2, 3):
                raise ValueError("a reference has two or three numbers")
            about: Json = {k: document[k] for k in ("label", "delta", "name")}
            failed = tuple(dict(p) for p in document["failed"])
            guarantee = Guarantee.from_json(document["guarantee"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"not a front in JSON ({type(error).__name__}: {error})") from None
        about |= {"reference": corner, "failed": failed, "guarantee": guarantee, "payment": paid}
        about |= {"noise": float(document.get("noise", 0.0)), "origin": document.get("origin")}
        about["baselines"] = {str(k): float(v) for k, v in document.get("baselines", {}).items()}
        about["cost_name"] = str(document.get("cost_name", ""))
        about["reasons"] = tuple(map(str, document.get("reasons", ())))
        return cls(tested, **about)

    def to_csv(self, path: str | Path) -> Path:
        """One row for each tested point; ``on_front`` marks the front, ``guarantee`` says who may see it.

        Edges. A hyperparameter of the name of another column, such as epsilon, is called params.epsilon.
        """
        return write_file(path, table_of([self]))

    def save(self, path: str | Path) -> Path:
        """The front as JSON in a file."""
        return write_file(path, json.dumps(self.to_json(), indent=1) + "\n")

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.points)} of {len(self.tested)} tested points on the front"]
        lines[0] += f", {len(self.failed)} failed" if self.failed else ""
        lines[0] += f" ({'; '.join(self.reasons)})" if self.reasons else ""
        lines += [
            f"epsilon at delta = {self.delta:g}, {self.label}",
            f"Guarantee: {self.guarantee.kind}. {self.audience}.",
        ]
        lines += [
            "",
            f"{'epsilon':>10}  {'utility':>8}  {'95% interval':>16}  {'worst':>7}  {'best':>7}  hyperparameters",
        ]
        for p in self.points:
            shown = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in p.params.items())
            ends = f"{p.low:.4f} to {p.high:.4f}" if p.low is not None else ""
            shown += f"; {self.cost_name} {p.cost:.4g}" if p.cost is not None else ""
            lines.append(f"{p.epsilon:10.4g}  {p.utility:8.4f}  {ends:>16}  {p.worst:7.4f}  {p.best:7.4f}  {shown}")
        return "\n".join(lines)


def table_of(fronts: Sequence[Front]) -> str:
    """Several fronts as one CSV table."""
    names = list(dict.fromkeys(n for f in fronts for p in f.tested for n in p.params))
    head = ["algorithm", "on_front", "epsilon", "utility", "low", "high", "best", "worst", "deviation"]
    costs = list(dict.fromkeys(f.cost_name for f in fronts if f.cost_name))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    shown = [f"params.{n}" if n in (*head, *costs, "delta", "label", "guarantee") else n for n in names]
    writer.writerow([*head, *costs, *shown, "delta", "label", "guarantee"])
    for f in fronts:
        on, kind = set(map(id, f.points)), str(f.guarantee) if f.private else TRUSTED
        for p in sorted(f.tested, key=lambda p: p.epsilon):
            row = [
                f.name,
                int(id(p) in on),
                p.epsilon,
                p.utility,
                *("" if v is None else v for v in (p.low, p.high)),
                p.best,
                p.worst,
                "" if p.deviation is None else p.deviation,
                *(p.cost if f.cost_name == c else "" for c in costs),
            ]
            writer.writerow([*row, *(p.params.get(n, "") for n in names), f.delta, f.label, kind])
    return text.getvalue()


def _point(document: Json) -> Point:
    number = {k: float(document[k]) for k in ("epsilon", "utility", "best", "worst")}
    rest: dict[str, Any] = {k: document.get(k) for k in ("deviation", "low", "high", "cost")}
    return Point(dict(document["params"]), **number, runs=tuple(map(float, document["runs"])), **rest)
