"""Laplace, Gaussian and exponential mechanisms: each knows its own cost and pays before it draws.

A mechanism is made from a sensitivity and either a scale or a budget, answers ``.guarantee`` for one release, and
``release(value, ledger=...)`` does three things in this order: debit and commit, draw, record what was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import BadInput, GuaranteeError, count, positive, type_and_shape
from tacit.privacy.conversions import mu_range
from tacit.privacy.guarantee import DECLARED, RECORD, UNTIMED, Budget, Guarantee
from tacit.privacy.ledger_like import as_ledger
from tacit.privacy.noise import EXACT, Source, check_scale
from tacit.privacy.release import Release, digest
from tacit.privacy.weighted_choice import SLACK
from tacit.privacy.worst_pair import WorstPair

if TYPE_CHECKING:
    from tacit.privacy.ledger_like import LedgerLike

T = TypeVar("T")
ABOVE = 1 + 2.0**-48  # a scale that was computed in a few steps is made larger by this, and so is not too small
WHOLE = 2.0**53  # from here on floats do not hold all whole numbers
SIMULATED = "simulated noise from a seeded generator, no guarantee"


class Mechanism(Generic[T]):
    """What the mechanisms share: the order of events in a release. None can be changed once it stated its guarantee."""

    guarantee: Guarantee  # set last
    noise: Source
    scale: float
    premises: tuple[str, ...] = (DECLARED,)  # what it assumes of the code that hands it a value

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse_change()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change()
        super().__delattr__(name)

    def _refuse_change(self) -> None:
        if "guarantee" in self.__dict__:
            raise FrozenInstanceError("a mechanism cannot be changed once its guarantee is stated; make another one")

    def draw(self, value: Any) -> T:
        """The noisy value, unpaid: for methods that have charged a whole run in advance."""
        raise NotImplementedError

    def prepare(self, value: Any) -> Any:
        """The value in the form that draw takes, or BadInput before anything is spent."""
        raise NotImplementedError

    def release(self, value: Any, *, ledger: LedgerLike = None, purpose: str = "") -> Release[T]:
        """Debit the ledger and commit, draw noise, record the draw, return the release.

        Edges. A process killed after the debit leaves it spent and the draw unmade; the ledger shows it. Without a
        ledger the guarantee holds for this release, and nobody counts it together with others.
        """
        value = self.prepare(value)
        paying = as_ledger(ledger)
        if paying is None:
            return Release(self.draw(value), self.guarantee)
        payment = paying.charge(self.guarantee, purpose)
        drawn = self.draw(value)
        paying.settle(payment, digest(drawn))
        return Release(drawn, self.guarantee, payment)

    @classmethod
    def worst_pair(cls, **amount: Any) -> WorstPair:
        """Two values as far apart as the sensitivity allows, released within a ``budget`` or with a ``scale``."""
        raise NotImplementedError

    @classmethod
    def _pair(cls, about: str, values: tuple[Any, Any], make: Callable[[Source], Mechanism[Any]]) -> WorstPair:
        stated = make(EXACT).guarantee.budget
        assert stated is not None
        return WorstPair(about, stated, lambda side, noise: make(noise).release(values[side]))

    def _reach(self, loss: Callable[[], float], target: float) -> None:
        """Widen the scale until the loss, which includes all rounding, is within target."""
        for _ in range(100):
            excess = loss() / target
            if excess <= 1:
                return
            self.scale = check_scale(max(self.scale * excess, math.nextafter(self.scale, math.inf)))
        raise BadInput(f"a budget of {target:g} is too small for this sensitivity and size; release in parts")

    def _state(self, budget: Budget, unit: str, source: str) -> Guarantee:
        if self.noise.simulated:
            return Guarantee.none(SIMULATED, unit)
        return Guarantee(budget, unit, (), source, premises=self.premises)


class Additive(Mechanism[Any]):
    """Noise added to a number, or to a vector: all that Gaussian and Laplace share."""

    sort: str
    source: str
    allowed: staticmethod[[Budget], float]  # how much of the mechanism's own notion a budget allows
    stated: staticmethod[[float], Budget]
    longest: float  # of (3, -4), in the norm of the mechanism

    def __init__(
        self,
        sensitivity: float,
        *,
        scale: float | None = None,
        budget: Budget | None = None,
        size: int = 1,
        unit: str = RECORD,
        noise: Source = EXACT,
        premises: tuple[str, ...] | None = None,
    ) -> None:
        self.sensitivity, self.size, self.noise = positive("sensitivity", sensitivity), count("size", size), noise
        self.premises = self.premises if premises is None else premises
        if one_of(scale, budget):
            self.scale = check_scale(scale)  # type: ignore[arg-type]
            amount = divide_up(self.sensitivity, self.scale)
        else:
            amount = self.allowed(budget)  # type: ignore[arg-type]
            self.scale = check_scale(divide_up(self.sensitivity, amount))
        self.guarantee = self._state(self.stated(amount), unit, self.source)

    @classmethod
    def worst_pair(cls, **amount: Any) -> WorstPair:
        """A vector that moves by the whole sensitivity, in the norm of the mechanism, from a place off the lattice."""
        here = np.array([0.1, 0.2, 0.3])
        values = (here, here + np.array([3.0, -4.0, 0.0]))
        about = "a vector of 3 numbers that moves by its sensitivity"
        return cls._pair(about, values, lambda noise: cls(cls.longest, size=3, noise=noise, **amount))

    def prepare(self, value: ArrayLike) -> Any:
        return _numbers(value, self.size)

    def draw(self, value: Any) -> Any:
        return _shape_like(getattr(self.noise, self.sort)(np.atleast_1d(value), self.scale), value)


class Gaussian(Additive):
    """Gaussian noise on a number, or on a vector of ``size`` numbers whose L2 norm moves by at most ``sensitivity``.

    Guarantee. mu-GDP with mu = sensitivity / scale, unconditional, floating point included.
    Follows. Dong, Roth and Su (2022), Theorem 1; Balle and Wang (2018), Theorem 8 for an (epsilon, delta) budget.
    Proof: docs/proofs/noise.md.
    Edges. A pure budget is refused: no Gaussian noise is pure differential privacy. That nobody is
    shown times to the microsecond is a premise.

    >>> Gaussian(0.01, budget=Budget.approximate(1.0, 1e-6)).guarantee.notion
    'gdp'
    """

    sort, source = "gaussian", "Gaussian mechanism (Dong et al. 2022, Theorem 1)"
    allowed, stated = staticmethod(Budget.mu), staticmethod(Budget.gdp)
    premises, longest = (DECLARED, UNTIMED), 5.0


class Laplace(Additive):
    """Laplace noise on a number, or on a vector whose L1 norm moves by at most ``sensitivity``.

    Guarantee. Pure epsilon = sensitivity / scale, unconditional, floating point included.
    Follows. Dwork, McSherry, Nissim and Smith (2006), Proposition 1. Proof: docs/proofs/noise.md.
    Edges. That nobody is shown times to the microsecond is a premise.

    >>> round(Laplace(1.0, scale=2.0).guarantee.epsilon(), 9)
    0.5
    """

    sort, source = "laplace", "Laplace mechanism (Dwork et al. 2006, Proposition 1)"
    allowed, stated = staticmethod(Budget.pure_epsilon), staticmethod(Budget.pure)
    premises, longest = (DECLARED, UNTIMED), 7.0


class Exponential(Mechanism[int]):
    """Picks the index of a large score: the exponential mechanism, over up to a million candidates and more.

    ``sensitivity`` bounds how much any one score can move. ``scale`` is the scale of the Gumbel noise on the scores.

    Guarantee. Pure epsilon = 2 sensitivity / scale + 2^-41, rho-zCDP with rho = epsilon^2 / 8, and mu-GDP with
    mu = 2 Phi^-1(1 / (1 + e^(-epsilon/2))); states the one that the budget asks for, pure for an approximate one.
    Unconditional; 2^-41 covers all rounding.
    Follows. McSherry and Talwar (2007), Theorem 6; Cesar and Rogers (2021) for zCDP; for GDP our own proof:
    docs/proofs/exponential-mechanism.md.
    Differs. Scores more than 64 scales below the best count as 64 below: none is less likely than 2^-92 times the best.
    Edges. One candidate is chosen with certainty. Scores must be finite. How long a draw takes depends on how many
    there are, not on what they are.

    >>> round(Exponential(1.0, budget=Budget.zcdp(0.5)).scale, 9)
    1.0
    """

    def __init__(
        self,
        sensitivity: float,
        *,
        scale: float | None = None,
        budget: Budget | None = None,
        unit: str = RECORD,
        noise: Source = EXACT,
    ) -> None:
        self.sensitivity, self.noise = positive("sensitivity", sensitivity), noise
        if one_of(scale, budget):
            self.scale = check_scale(scale)  # type: ignore[arg-type]
            stated = Budget.pure(self._epsilon())
        else:
            epsilon = _range_within(budget)  # type: ignore[arg-type]
            self.scale = check_scale(2 * self.sensitivity / epsilon)
            self._reach(self._epsilon, epsilon)
            stated = budget if budget.notion in ("zcdp", "gdp") else Budget.pure(epsilon)  # type: ignore
        self.guarantee = self._state(stated, unit, "exponential mechanism (McSherry and Talwar 2007, Theorem 6)")

    @classmethod
    def worst_pair(cls, **amount: Any) -> WorstPair:
        """One score rises by the sensitivity, all others fall by it."""
        values = (np.zeros(20), np.r_[3.0, np.full(19, -3.0)])
        about = "20 scores; one rises by the sensitivity, all others fall by it"
        return cls._pair(about, values, lambda noise: cls(3.0, noise=noise, **amount))

    def _epsilon(self) -> float:
        return 2 * self.sensitivity / self.scale * (1 + 2.0**-50) + SLACK  # rounded up

    def prepare(self, scores: ArrayLike) -> Any:
        array = _floats(scores)
        if array.ndim != 1 or not array.size:
            raise BadInput(f"scores must be a list of at least one number, got {type_and_shape(array)}")
        if not np.isfinite(array).all():
            raise BadInput("scores must be finite; at least one is not. Nothing was released")
        return array

    def draw(self, scores: Any) -> int:
        return self.noise.gumbel_argmax(scores, self.scale)


def _range_within(budget: Budget) -> float:
    """The range of privacy losses that one exponential mechanism may have within a budget."""
    if budget.notion == "zcdp":
        return math.sqrt(8 * budget.amount)
    return mu_range(budget.amount) if budget.notion == "gdp" else budget.pure_epsilon()


def one_of(scale: float | None, budget: Budget | None) -> bool:
    """True for a scale, False for a budget, BadInput for both or neither."""
    if (scale is None) == (budget is None):
        raise BadInput(f"give either a scale or a budget, got {'both' if budget else 'neither'}")
    if budget is not None and not isinstance(budget, Budget):
        raise BadInput(f"budget must be a tacit.Budget, such as Budget.pure(1.0), got {type_and_shape(budget)}")
    if budget is not None and budget.amount == 0:
        raise GuaranteeError("a budget of zero allows no release")
    return scale is not None


def divide_up(a: float, b: float) -> float:
    """The quotient of two positive numbers, rounded up."""
    return math.nextafter(a / b, math.inf)


def _floats(value: ArrayLike) -> Any:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or np.ma.is_masked(value):  # what a mask hides would be released
            raise ValueError
        floats = array.astype(float)
    except (TypeError, ValueError):  # NumPy's own message would show the value
        raise BadInput(f"a value to release must be made of numbers, got {type_and_shape(value)}") from None
    whole = floats if array.dtype.kind in "iu" else np.empty(0)
    if array.dtype.kind == "f" and not hasattr(value, "dtype"):  # a list, say, that mixes whole numbers and others
        mixed = np.array(value, object).ravel()
        whole = np.array([float(v) for v in mixed if not isinstance(v, float) and np.asarray(v).dtype.kind != "f"])
    if (np.abs(whole) >= WHOLE).any():
        raise BadInput(
            "whole numbers to release must be below 2^53, where floats hold every one of them: rounded, they could "
            "move by more than the sensitivity. Use a larger unit. Nothing was released"
        )
    if array.dtype.itemsize > floats.dtype.itemsize:
        raise BadInput(f"a value to release must be in double precision or below, got {array.dtype}")
    return floats


def _numbers(value: ArrayLike, size: int) -> Any:
    array = _floats(value)
    if array.size != size or array.ndim > 1:
        raise BadInput(f"this mechanism takes {size} number{'s' * (size > 1)}, got {type_and_shape(array)}")
    if not np.isfinite(array).all():
        raise BadInput("a value to release must be finite. Nothing was released")
    return array


def _shape_like(noisy: Any, like: Any) -> Any:
    return float(noisy[0]) if np.ndim(like) == 0 else noisy
