"""A recorder of what enters the mechanisms: run on one data set, replay on a neighbour, compare.

The recorder is a source of (simulated) noise. On the first run it draws noise and writes down every value that it was
asked to hide. On the replay it gives

    answers   the very answers of the first run, whatever value comes in. The replay then knows what an observer knows:
              everything public, such as where to look next, must be the same, and values may differ by their
              sensitivity only. For methods that release every noisy value.
    coins     the noise of the first run on the new value. For methods that keep noisy values to themselves.

What is found is a fact about these two data sets; it refutes a claim, and never proves one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.observer import Seen, observe
from tacit.errors import choice
from tacit.privacy.conversions import pure_mu, range_mu
from tacit.privacy.guarantee import Budget

Array = NDArray[np.float64]
KINDS = ("gaussian", "gaussian_whole", "laplace", "gumbel")
REPLAYS = ("answers", "coins")
NUMBERS = ("float", "int", "complex", "uint")  # kinds of leaves in which noise could hide
ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Entered:
    """A value that entered a mechanism, and what came out. Private; not printed."""

    kind: str
    value: Array
    scale: float
    noise: Array
    answer: Any

    @property
    def public(self) -> tuple[str, tuple[int, ...], float]:
        """What may be seen of it: kind, shape and scale."""
        return self.kind, self.value.shape, self.scale


@dataclass(repr=False)
class Tape:
    """Everything that one run did: values that entered mechanisms, evaluations, and how it ended."""

    entered: list[Entered] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # parameters of each evaluation
    error: str | None = None
    result: Any = None
    seen: Seen = field(default_factory=Seen)


class Recorder:
    """A noise source that writes down, or plays back. Stamped as simulated: its outputs have no guarantee.

    >>> from tacit.privacy.mechanisms import Gaussian
    >>> def release(data, recorder):
    ...     return Gaussian(1.0, scale=2.0, noise=recorder).release(sum(data)).value
    >>> found = compared(release, [0.0, 1.0], [1.0, 1.0])
    >>> found.mu, found.same_flow
    (0.5, True)
    """

    simulated = True

    def __init__(self, seed: int = 0, *, tape: Tape | None = None, replay: str = "answers") -> None:
        self.generator, self.tape = np.random.default_rng(seed), Tape()
        self._earlier, self._replay = tape, choice("replay", replay, REPLAYS)

    def __deepcopy__(self, memo: Any) -> Recorder:
        """Itself: estimators copy their arguments, and what they draw belongs on this tape."""
        return self

    def gaussian(self, values: Array, scale: float) -> Array:
        return np.asarray(self._draw("gaussian", values, scale, lambda v, z: v + z), float)

    def gaussian_whole(self, value: int, scale: float) -> int:
        values = np.array([float(value)])  # whole numbers below 2^53 are exact
        return int(self._draw("gaussian_whole", values, scale, lambda v, z: np.rint(v + z))[0])

    def gaussian_whole_array(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        whole = self._draw("gaussian_whole", values.astype(float), scale, lambda v, z: np.rint(v + z))
        return np.asarray(whole, np.int64)

    def laplace(self, values: Array, scale: float) -> Array:
        return np.asarray(self._draw("laplace", values, scale, lambda v, z: v + z), float)

    def gumbel_argmax(self, scores: Array, scale: float) -> int:
        return int(self._draw("gumbel", scores, scale, lambda v, z: int(np.argmax(v + z))))

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function; its arguments are written down: how often, and where, it looked."""

        def note(*arguments: Any, **named: Any) -> Any:
            self.tape.asked.append(repr((arguments, sorted(named.items()))))
            return function(*arguments, **named)

        return note

    def _noise(self, kind: str, values: Array, scale: float) -> Array:
        draw = {"laplace": self.generator.laplace, "gumbel": self.generator.gumbel}.get(kind, self.generator.normal)
        return np.asarray(draw(0.0, scale, values.shape))

    def _draw(self, kind: str, values: Array, scale: float, made: Callable[[Array, Array], Any]) -> Any:
        number = len(self.tape.entered)
        before = self._earlier.entered[number] if self._earlier and number < len(self._earlier.entered) else None
        value = np.array(values, float)
        if before is not None and before.public == (kind, value.shape, scale):
            noise = before.noise
            answer = before.answer if self._replay == "answers" else made(value, noise)
        else:  # the first run; or a replay that has left the path, which the comparison will say
            noise = self._noise(kind, value, scale)
            answer = made(value, noise)
        self.tape.entered.append(Entered(kind, value, scale, noise, answer))
        return answer


@dataclass(frozen=True)
class Compared:
    """How two runs differ in what an observer may not see, and whether they differ in what an observer sees."""

    mu: float  # of the Gaussian mechanisms together, for these two data sets
    epsilon: float  # of the Laplace and exponential mechanisms together
    moved: dict[str, float]  # the largest move of a value, by kind of mechanism, in the norm of that mechanism
    same_flow: bool  # as many mechanisms, of the same kinds, shapes and scales, in the same order
    same_evaluations: bool  # as many evaluations, at the same places
    same_error: bool
    differences: tuple[str, ...]
    together: float | None = None  # mu of all mechanisms: each pure one has the mu of its epsilon, and squares add

    @property
    def total_mu(self) -> float:
        return math.hypot(self.mu, pure_mu(self.epsilon)) if self.together is None else self.together

    def within(self, claim: Budget, sensitivity: Mapping[str, float] | None = None) -> list[str]:
        """What contradicts the claim; an empty list if nothing does. ``sensitivity`` is what was declared, by kind."""
        faults = list(self.differences)
        for kind, most in (sensitivity or {}).items():
            if self.moved.get(kind, 0.0) > most * (1 + ROUNDING):
                faults.append(f"a value that entered a {kind} mechanism moved by more than its declared sensitivity")
        if claim.notion == "gdp" and self.total_mu > claim.amount * (1 + ROUNDING):
            faults.append("the values that entered moved by more than the claimed mu allows, over their noise")
        if claim.notion in ("pure", "approximate"):
            least = claim.amount * (1 + ROUNDING)
            gaussian = Budget("gdp", self.total_mu).epsilon(claim.delta) if claim.delta else math.inf
            if (self.mu > 0 and gaussian > least) or (not self.mu and min(self.epsilon, gaussian) > least):
                faults.append("the values that entered moved by more than the claimed epsilon allows, over their noise")
        if claim.notion == "zcdp" and self.mu**2 / 2 + self.epsilon**2 / 2 > claim.amount * (1 + ROUNDING):
            faults.append("the values that entered moved by more than the claimed rho allows, over their noise")
        return faults


def record(run: Callable[[Any, Recorder], Any], data: Any, recorder: Recorder) -> Tape:
    """Run, and keep all that came out and how it ended: an error is part of what an observer sees."""
    tape = recorder.tape
    tape.seen = observe(lambda: run(data, recorder), skip=(recorder, tape))
    tape.result, tape.error = tape.seen.result, tape.seen.error
    return tape


def compared(
    run: Callable[[Any, Recorder], Any], data: Any, neighbour: Any, *, replay: str = "answers", seed: int = 0
) -> Compared:
    """Run on ``data``, replay on ``neighbour``, and compare.

    Args:
        run: ``run(data, recorder)`` must take its noise from the recorder.
        data: A data set.
        neighbour: Another, which differs in one record.
        replay: "answers" or "coins": see the head of this module.
        seed: Of the recorded noise.

    Returns:
        How far values moved, and what else differed.

    Who has the same answers of the mechanisms must see the same of everything else: the result to its last attribute
    and closure, warnings, logs, what was printed. To tell a leak from a clock, ``data`` are replayed too.

    Edges. Under ``answers`` an error message, the number of evaluations and where they took place must be the same, or
    they are a leak. Under ``coins`` evaluations may differ, if they are kept private; read ``same_evaluations`` so.
    A run in which no mechanism drew from the recorder contradicts every claim, since nothing was compared. So does a
    number in the result that differs from run to run: noise that the recorder does not see. Text that does, such as a
    time in a log, is not judged.
    """
    first = record(run, data, Recorder(seed))
    again, other = (record(run, d, Recorder(seed, tape=first)) for d in (data, neighbour))
    second = other if replay == "answers" else record(run, neighbour, Recorder(seed, tape=first, replay=replay))
    for warning in first.seen.warned:  # those of the replays say the same, or are found below
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    flow = [e.public for e in first.entered] == [e.public for e in second.entered]
    differences = []
    if not first.entered and first.error is None:
        differences.append(
            "no mechanism drew from the recorder, so nothing was compared: pass it on as noise, into every process"
        )
    if not flow:
        differences.append("the mechanisms that ran, or their shapes or scales, depend on private values")
    if first.asked != second.asked and replay == "answers":
        differences.append("how often or where the objective was evaluated depends on private values")
    if first.error != second.error:
        differences.append("whether or how the run failed depends on private values")
    differences += _leaks(first, again, other, replay) + _find_reuse(first)
    square, epsilon, together, moved = 0.0, 0.0, 0.0, dict[str, float]()
    for a, b in zip(first.entered, second.entered, strict=False):
        if a.public != b.public:
            break
        far = _distance(a.kind, a.value, b.value)
        moved[a.kind] = max(moved.get(a.kind, 0.0), far)
        loss = far / a.scale
        if a.kind.startswith("gaussian"):
            square, together = square + loss**2, together + loss**2
        else:
            epsilon += loss
            together += (range_mu(loss) if a.kind == "gumbel" else pure_mu(loss)) ** 2
    same = first.asked == second.asked
    failed = first.error == second.error
    return Compared(math.sqrt(square), epsilon, moved, flow, same, failed, tuple(differences), math.sqrt(together))


def _leaks(first: Tape, again: Tape, other: Tape, replay: str) -> list[str]:
    """What an observer with the same answers saw otherwise on the neighbour, by its place and never by its content."""
    here, control, there = first.seen.leaves, again.seen.leaves, other.seen.leaves
    unstable = {p for p in here.keys() | control.keys() if here.get(p) != control.get(p)}
    moved = sorted(p for p in here.keys() | there.keys() if here.get(p) != there.get(p) and p not in unstable)
    strayed = [e.public for e in first.entered] != [e.public for e in other.entered]
    leaks = []
    if moved and not (strayed and replay == "coins"):  # a private path that left the tape has no answers to replay
        leaks.append(
            f"what comes out depends on private values beyond the answers of the mechanisms, at {_join_paths(moved)}"
        )
    clocks = sorted(p for p in unstable if p.startswith("result") and here.get(p, ("",))[0].startswith(NUMBERS))
    if clocks and [e.public for e in first.entered] == [e.public for e in again.entered]:
        leaks.append(f"noise, or a clock, that the recorder does not see is in the result, at {_join_paths(clocks)}")
    return leaks


def _join_paths(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more places" if len(paths) > 3 else "")


def _find_reuse(tape: Tape) -> list[str]:
    """Whether one draw of noise is in two answers. Independent draws of continuous noise are never the same."""
    known: set[float] = set()
    for entry in tape.entered:
        drawn = (entry.noise / entry.scale).ravel().tolist()
        if known.intersection(drawn) or len(set(drawn)) < len(drawn):
            return ["one draw of noise was used for two answers: their difference is exact"]
        known.update(drawn)
    return []


def _distance(kind: str, a: Array, b: Array) -> float:
    """In the norm of the mechanism; for the exponential mechanism the range of the moves, which is its exact loss."""
    gap = a - b
    if kind == "laplace":
        return float(np.abs(gap).sum())
    if kind == "gumbel":
        return float(gap.max() - gap.min())
    return float(np.linalg.norm(gap))
