"""A metric: predictions and answers into one loss for each record, person or pair, and their mean back again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.metrics.pairs import all_matchings, one_matching, one_row_each, persons_in_all_matchings
from tacit.data.metrics.reading import Reading
from tacit.data.units import Rows, mean_by_person
from tacit.errors import BadInput, interval, probability, real
from tacit.objective import LossFacts

if TYPE_CHECKING:
    from tacit.data.metrics.objective import MetricObjective

Floats = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What is measured, within which bounds, and how far one unit can move it. Made by ``tacit.metrics``.

    ``reads`` says what predictions it takes: "labels" (n,), "probabilities" (n, classes), "ranking" (n,), larger for
    the class with number 1, or "numbers" (n,). Answers are numbers of classes, -1 for a label that is none, or
    numbers, nan for none. ``bounds`` are those of one loss, None while they are not known.

    Guarantee. ``measure`` returns losses within the bounds whose mean moves by at most ``sensitivity(units)`` when one
    record, or with ``owners`` one person with all their rows, is replaced; floating point included.
    Edges. A row without a known label, or whose prediction is no number, has the worse bound.

    >>> import tacit
    >>> metric = tacit.metrics.find("error")
    >>> metric.measure(np.array([0, 1, 1]), np.array([0, 0, 1])).tolist(), metric.sensitivity(1000)
    ([0.0, 1.0, 0.0], 0.001)
    """

    name: str
    task: str
    reads: str
    losses: Callable[[Any, Any], Any] | None = None  # of each row; None for pairs
    bounds: Bounds | None = None
    clips: str = ""  # what the bounds do to it; {least} is the probability whose log is the upper bound
    power: int = 1  # of an error in its loss
    slope: float = 1.0  # the most that a loss is, over an error to this power
    level: float | None = None  # the quantile that is the best constant; the mean if None
    shown: Reading = field(default_factory=lambda: Reading("loss"))
    balances: bool = False  # losses are weighted by public class rates
    pairs: str = ""  # "all" matchings of records, or "one"
    positive: Any = None  # the class that ranks first, of more than two
    declared: tuple[tuple[str, float], ...] = ()  # class rates, by label
    rates: tuple[float, ...] = ()  # by number of the class
    rates_of: float = math.inf  # rows that showed the rates
    seed: int = 0

    @property
    def overlaps(self) -> bool:
        """Whether one record has a part in more than one loss."""
        return self.pairs == "all"

    @property
    def needs_rates(self) -> bool:
        return self.balances or bool(self.pairs)

    def units(self, records: int) -> int:
        """How many losses there are for so many records, or persons."""
        return records // 2 if self.pairs else records

    def sensitivity(self, records: int) -> float:
        """How far one record, or person, can move the mean loss."""
        low, high = self.known_bounds()
        return (high - low) / self.units(records)

    def widest(self, width: float) -> float:
        """The most that a loss can be where prediction and answer lie in a range of this width."""
        return float(self.slope * width**self.power)

    def best_constant(self, answers: Any) -> float:
        """The number that has the least mean loss on these answers."""
        return float(np.mean(answers) if self.level is None else np.quantile(answers, self.level))

    def known_bounds(self) -> Bounds:
        if self.bounds is None:
            raise BadInput(
                f"{self.name} needs bounds=(low, high) (--bounds LOW HIGH): the range of one record's loss, from what "
                "is publicly known of the target and not from these data. Losses outside are clipped. Nothing was spent"
            )
        return self.bounds

    def within(self, bounds: Bounds | None) -> Metric:
        """The same metric with these bounds, where it has none of its own or they clip it."""
        if bounds is None:
            return self
        asked = interval("bounds", bounds)
        if self.pairs or self.balances or self.reads == "labels":
            if self.bounds is not None and asked != self.bounds:
                low, high = self.bounds
                raise BadInput(f"{self.name} has the bounds ({low:g}, {high:g}), got bounds={bounds!r}; leave them out")
            return self
        return replace(self, bounds=asked)

    def with_rates(self, classes: list[Any], answers: Any = None, owners: Rows | None = None) -> Metric:
        """The same metric with the rates of the classes: as declared, or as rows that may be known show them.

        ``answers`` are their classes by number; ``owners`` whose rows they are, then each person counts once.
        """
        if not self.needs_rates:
            return self
        labels, shown = [str(c) for c in classes], math.inf
        if self.declared:
            said = {_label(name): rate for name, rate in self.declared}
            missing = [c for c in labels if _label(c) not in said]
            if missing or len(said) != len(labels):
                raise BadInput(f"rates must name each of the {len(labels)} classes, and no other, once")
            rates = [said[_label(c)] for c in labels]
        elif answers is not None:
            codes = np.asarray(answers, np.intp)
            each = np.eye(len(labels))[codes[codes >= 0]]
            if owners is not None:
                kept = np.unique(owners[codes >= 0], return_inverse=True)[1]
                each = np.stack([mean_by_person(c, kept, int(kept.max()) + 1) for c in each.T], axis=1)
            rates, shown = each.mean(axis=0).tolist(), float(len(each))
        else:
            raise BadInput(
                f"{self.name} needs the public rates of the classes: rates={{label: share, ...}}. Nothing was spent"
            )
        if not all(r > 0 for r in rates):
            raise BadInput(
                f"{self.name} needs rows of each class; declare rates={{label: share, ...}}. Nothing was spent"
            )
        return replace(self, rates=tuple(rates), rates_of=shown)._settle(labels)

    def _settle(self, labels: list[str]) -> Metric:
        if self.balances:
            return replace(self, bounds=(0.0, 1 / (len(labels) * min(self.rates))))
        if self.positive is not None:
            at = [i for i, c in enumerate(labels) if _label(c) == _label(str(self.positive))]
            if not at:
                raise BadInput(f"auc ranks the class {self.positive!r} first, which is none of the classes")
            r = self.rates[at[0]]
            return replace(self, rates=(1 - r, r), positive=labels[at[0]])
        if len(labels) != 2:
            raise BadInput(
                f"auc is for two classes, and there are {len(labels)}: name the one that ranks first as auc:LABEL, "
                "against all others, or use log_loss. Nothing was spent"
            )
        return self

    def code_answers(self, answers: Any, classes: list[Any]) -> Any:
        """Numbers of classes as this metric takes them: with a class that ranks first, 1 for it and 0 for others."""
        if self.positive is None or not self.pairs:
            return answers
        at = [str(c) for c in classes].index(str(self.positive))
        return np.where(answers < 0, -1, (answers == at).astype(int))

    def measure(self, predictions: Any, answers: Any, owners: Rows | None = None, persons: int = 0) -> Floats:
        """One loss for each record, person or pair, shape (units,), all within the bounds. Private."""
        answers = np.asarray(answers)
        persons = persons or (0 if owners is None else int(owners.max()) + 1)
        if self.pairs:
            if len(answers) < 2:
                raise BadInput(f"{self.name} needs pairs of records, got {len(answers)} record(s)")
            ranking = np.asarray(predictions, float)
            if self.pairs == "one":
                rows = slice(None) if owners is None else one_row_each(owners, persons, self.seed)
                return one_matching(ranking[rows], answers[rows], self.seed)
            if owners is None:
                return all_matchings(ranking, answers)
            return persons_in_all_matchings(ranking, answers, owners, persons, self.seed)
        assert self.losses is not None
        (low, high), each = self.known_bounds(), np.asarray(self.losses(predictions, answers), float)
        if self.balances:
            weights = 1 / (len(self.rates) * np.asarray(self.rates))
            each = each * weights[np.maximum(np.asarray(answers, np.intp), 0)]
        each = np.clip(np.where(np.isnan(each), high, each), low, high)
        return each if owners is None else mean_by_person(each, owners, persons)

    def reading(self, records: int) -> Reading:
        """How the mean of so many records' losses, or persons', is read."""
        if not self.pairs:
            return self.shown
        if not self.rates:
            raise BadInput("auc needs the rate of the positive class to be read: call with_rates first")
        r, n = self.rates[1], self.rates_of
        mixed = 2 * r * (1 - r) * (1.0 if math.isinf(n) else n / (n - 1))
        spread = 2 * abs(1 - 2 * r) * math.sqrt(r * (1 - r) * (1 / n + 1 / records)) / mixed
        whose = "declared" if math.isinf(n) else f"of {n:.0f} training rows or persons"
        about = f"1 - loss / {mixed:.3g}, the share of pairs whose labels differ, by class rates {whose}"
        return replace(self.shown, offset=1.0, factor=-1 / mixed, spread=spread, about=about)

    def facts(self, records: int, *, persons: bool = False) -> LossFacts:
        """What is public of the losses of so many records, or persons: what a search is told."""
        basis = {False: "record", True: "pair"}[bool(self.pairs)]
        if persons:
            basis = "pair of persons" if self.pairs else "person"
        return LossFacts(self.units(records), self.known_bounds(), basis, self.reading(records), self.overlaps)

    def objective(
        self,
        predict: Callable[[Any], Any],
        answers: Any,
        *,
        classes: Sequence[Any] = (0, 1),
        groups: Any = None,
    ) -> MetricObjective:
        """For tacit.tune: from ``predict(params)``, predictions for private rows, and their ``answers``.

        ``classes`` are the labels there may be, as public facts; ``groups`` says whose each row is, where persons have
        several. Records, bounds and unit need then not be given to tacit.tune.

        >>> import numpy as np, tacit
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(2, size=4000)
        >>> scores = lambda params: params["x"] * y + rng.normal(size=4000)
        >>> metric = tacit.metrics.auc(rates={0: 0.5, 1: 0.5})
        >>> release = tacit.tune(metric.objective(scores, y), {"x": tacit.Float(0, 2)}, method="pool", trials=20,
        ...                      budget=tacit.Budget.pure(1.0), progress=False)
        >>> release.value.metric, release.value.score > 0.8
        ('AUC', True)
        """
        from tacit.data.metrics.objective import make_objective

        return make_objective(self, predict, answers, classes, groups)

    def describe(self, records: int, unit: str = "record") -> str:
        """Bounds, unit and sensitivity in words, for so many records, or persons."""
        low, high = self.known_bounds()
        per = {"": f"one loss for each {unit}", "one": f"pairs of {unit}s by one matching"}.get(
            self.pairs, f"the mean over all pairs of {unit}s"
        )
        moved = f"one {unit} of {records:,} moves the mean by at most {self.sensitivity(records):.3g}"
        clipped = f" ({self.clips.format(least=f'{math.exp(-high):.3g}')})" if self.clips else ""
        return f"{self.name}: {per}, within [{low:.4g}, {high:.4g}]{clipped}; {moved}"


def check_rates(rates: Mapping[Any, float] | None) -> tuple[tuple[str, float], ...]:
    """Public class rates, by label: above 0, adding up to 1.

    >>> check_rates({"no": 0.9, "yes": 0.1})
    (('no', 0.9), ('yes', 0.1))
    """
    if rates is None:
        return ()
    if not isinstance(rates, Mapping) or len(rates) < 2:
        raise BadInput("rates must be the share of each class by its label, such as {'no': 0.9, 'yes': 0.1}")
    for rate in rates.values():
        probability("a rate", real("a rate", rate))
    if abs(sum(rates.values()) - 1) > 1e-6:
        raise BadInput(f"rates must add up to 1, got {sum(rates.values()):g}")
    return tuple((str(label), float(rate)) for label, rate in rates.items())


def _label(name: str) -> Any:
    """A label's name, or the number that it reads as."""
    try:
        return float(name)
    except ValueError:
        return name
