"""What is promised: an amount of privacy loss (Budget), and the whole statement around it (Guarantee)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Literal

from tacit.errors import BadInput, GuaranteeError, PrivacyWarning, choice, name_type, positive, probability, real
from tacit.files import Json
from tacit.privacy import conversions as c
from tacit.privacy.divergences import Divergences
from tacit.privacy.operating import ALARMS, at_most, power

Notion = Literal["pure", "approximate", "zcdp", "gdp"]
NOTIONS: tuple[str, ...] = ("pure", "approximate", "zcdp", "gdp")
LETTER = {"pure": "epsilon", "approximate": "epsilon", "zcdp": "rho", "gdp": "mu"}
FORMAT = "tacit.guarantee/1"
RECORD = "one record replaced"
OWN = (
    "each loss is computed from its own record and public things alone: no other validation record, and nothing "
    "trained on one, had a part in it"
)
UNTIMED = "microsecond timings are not published: they leak the noise magnitude"
PUNCTUAL = "the objective does not fail, end early or take longer because of what a record holds"
STEADY = f"{PUNCTUAL}; {UNTIMED}"
LOSSES = (OWN, STEADY)
DECLARED = "the value moves by at most the declared sensitivity when that change is made"
NEAR = "an earlier release drew its noise within {:.1g} of the exact law: (1 + e^epsilon) times that is added to delta"
LARGE = 10.0  # an epsilon above is remarked on
LARGEST = 1e15  # of any amount: it promises nothing long before, and every conversion is exact up to it
QUOTED = 1e-6  # the delta at which an epsilon is quoted when nobody chose one


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of privacy loss, in one of four notions.

    >>> Budget.gdp(1.0).epsilon(1e-6) < Budget.zcdp(0.5).epsilon(1e-6)
    True
    >>> print(Budget.approximate(1.0, 1e-6))
    epsilon = 1, delta = 1e-06
    """

    __released__ = True

    notion: Notion
    amount: float  # epsilon, epsilon, rho or mu
    delta: float = 0.0

    def __post_init__(self) -> None:
        choice("notion", self.notion, NOTIONS)
        if not (isinstance(self.amount, (int, float)) and 0 <= self.amount <= LARGEST):
            raise BadInput(f"{LETTER[self.notion]} must be from 0 to {LARGEST:g}, got {self.amount!r}")
        for name, value in (("amount", self.amount), ("delta", probability("delta", self.delta, zero=True))):
            object.__setattr__(self, name, real(name, value) + 0.0)  # 1 and 1.0, 0.0 and -0.0: one number, one text
        if self.delta and self.notion != "approximate":
            raise BadInput(f"only an approximate budget has a delta, got delta={self.delta!r} with {self.notion}")

    @classmethod
    def pure(cls, epsilon: float) -> Budget:
        """epsilon-differential privacy."""
        return cls("pure", positive("epsilon", epsilon))

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Budget:
        """(epsilon, delta)-differential privacy."""
        return cls("approximate", positive("epsilon", epsilon), probability("delta", delta))

    @classmethod
    def zcdp(cls, rho: float) -> Budget:
        """rho-zero-concentrated differential privacy."""
        return cls("zcdp", positive("rho", rho))

    @classmethod
    def gdp(cls, mu: float) -> Budget:
        """mu-Gaussian differential privacy."""
        return cls("gdp", positive("mu", mu))

    def epsilon(self, delta: float = 0.0) -> float:
        """The smallest epsilon that this budget implies at delta: exact, but for zCDP, where it is the best known."""
        delta = probability("delta", delta, zero=True)
        if self.notion in ("pure", "approximate"):
            if delta < self.delta:
                raise GuaranteeError(f"({self}) says nothing at a smaller delta, got delta={delta:g}")
            return c.approximate_epsilon(self.amount, self.delta, delta)
        if delta == 0:
            raise GuaranteeError(
                f"{self.notion} implies no epsilon at delta = 0; ask for a positive delta, such as 1e-6"
            )
        return c.gdp_epsilon(self.amount, delta) if self.notion == "gdp" else c.zcdp_epsilon(self.amount, delta)

    def mu(self) -> float:
        """The mu of a Gaussian mechanism that just fits in this budget."""
        match self.notion:
            case "gdp":
                return self.amount
            case "zcdp":
                return math.sqrt(2 * self.amount)
            case "approximate":
                return c.gdp_mu(self.amount, self.delta)
        raise GuaranteeError(
            f"Gaussian noise is not pure differential privacy, whatever its scale; got a pure budget of {self}. "
            "Give Budget.approximate(epsilon, delta), or use Laplace noise"
        )

    def pure_epsilon(self) -> float:
        """The epsilon of a pure mechanism, such as Laplace, that just fits in this budget."""
        match self.notion:
            case "zcdp":
                return math.sqrt(2 * self.amount)
            case "gdp":
                return c.mu_pure(self.amount)
        return self.amount

    def __str__(self) -> str:
        tail = f", delta = {self.delta:g}" if self.notion == "approximate" else ""
        return f"{LETTER[self.notion]} = {self.amount:.6g}{tail}"

    def to_json(self) -> Json:
        parameters = {LETTER[self.notion]: self.amount}
        if self.notion == "approximate":
            parameters["delta"] = self.delta
        return {"notion": self.notion, "parameters": parameters}

    @classmethod
    def from_json(cls, document: Json) -> Budget:
        try:
            notion = choice("notion", document["notion"], NOTIONS)
            parameters = document["parameters"]
            amount, delta = real("amount", parameters[LETTER[notion]]), real("delta", parameters.get("delta", 0.0))
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"not a budget in JSON: needs notion and parameters ({error})") from None
        return cls(notion, amount, delta)  # type: ignore[arg-type]


def _print(amount: float, digits: int) -> str:
    """What is promised, in print: not less than it is, but for a part in 1e9 by which roots are found too large.

    >>> _print(1.0 + 1e-13, 4), _print(2.25303, 4)
    ('1', '2.254')
    """
    return at_most(amount * (1 - 1e-9), digits)


def loose(delta: float, records: int) -> str:
    """A remark on a delta that is not below 1/n; "" if it is.

    >>> loose(1e-6, 5000), loose(0.1, 20)
    ('', 'delta=0.1 is not below 1/n = 0.05: publishing one record as it is would satisfy it')
    """
    if records < 1 or delta < 1 / records:  # a wrong number of records is refused elsewhere
        return ""
    return f"delta={delta:g} is not below 1/n = {1 / records:g}: publishing one record as it is would satisfy it"


def default_delta(records: int = 0) -> float:
    """The delta that is taken where nobody names one: min(1e-6, 1/(10 n)), rounded down to one digit.

    Args:
        records: n, the number of records or persons that are protected, a public number; 0 if it is not known.

    >>> default_delta(442), default_delta(3_000_000)
    (1e-06, 3e-08)
    """
    digits, _, power = f"{min(1e-6, 1 / (10 * max(records, 1))):.15e}".partition("e")
    return float(f"{digits[0]}e{power}")


def remarks_on(budget: Budget, records: int) -> list[str]:
    """What is suspicious in a budget for so many records: a delta of 1/n or more, an epsilon above 10.

    >>> remarks_on(Budget.approximate(1.0, 1e-6), 5000), len(remarks_on(Budget.approximate(20.0, 0.1), 20))
    ([], 2)
    """
    epsilon = budget.epsilon(max(budget.delta, 0.0 if budget.notion in ("pure", "approximate") else QUOTED))
    large = (
        f"epsilon={epsilon:.4g} is above {LARGE:g}: the release may make a conclusion about one record "
        f"e^{epsilon:.4g} times as probable, which protects from nobody who tries; 0.1 to 3 is usual"
    )
    return [*filter(None, [loose(budget.delta, records)]), *([large] if epsilon > LARGE else [])]


def warn_of_weakness(budget: Budget | None, records: int, *, depth: int = 3) -> None:
    """Say it as a warning where somebody calls from Python; the command says it in its own way."""
    for text in remarks_on(budget, records) if budget is not None else ():
        warnings.warn(text, PrivacyWarning, stacklevel=depth)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy statement: how much, of what, under which assumptions, and who proved it.

    ``budget`` is None for no guarantee at all. ``assumptions`` empty means unconditional. ``delta`` is where epsilon is
    quoted in print when the notion leaves it open. ``premises`` are duties of the code that handed in the values, which
    no data can break and tacit cannot see; they are always printed, and equality does not look at them.
    ``divergences`` say of a whole profile what a ledger's filters ask for, where ``budget`` is one point of it.

    >>> g = Guarantee(Budget.gdp(0.5), unit="one validation record replaced", source="standard composition")
    >>> g.unconditional, g.notion, round(g.epsilon(1e-6), 2)
    (True, 'gdp', 2.25)
    >>> Guarantee.from_json(g.to_json()) == g
    True
    """

    __released__ = True

    budget: Budget | None
    unit: str = RECORD
    assumptions: tuple[str, ...] = ()
    source: str = "standard"
    delta: float = QUOTED
    premises: tuple[str, ...] = field(default=(), compare=False)
    divergences: Divergences | None = None

    def __post_init__(self) -> None:
        for name in ("assumptions", "premises"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # a list would stand here as well

    @classmethod
    def none(cls, why: str, unit: str = RECORD) -> Guarantee:
        """No differential privacy guarantee, and why not."""
        return cls(None, unit, (), why)

    def same_amounts(self, other: Guarantee) -> bool:
        """Whether another guarantee says as much of the same unit, in whatever words it says what it assumes."""
        return self == replace(other, assumptions=self.assumptions, source=self.source)

    @property
    def notion(self) -> str:
        return self.budget.notion if self.budget else "none"

    @property
    def unconditional(self) -> bool:
        """Holds for every data set. What the user's own code must do for it is in ``premises``."""
        return self.budget is not None and not self.assumptions

    @property
    def kind(self) -> str:
        """unconditional, conditional or none: the class of the guarantee at a glance."""
        return "none" if self.budget is None else "conditional" if self.assumptions else "unconditional"

    def epsilon(self, delta: float = 0.0) -> float:
        """The smallest known epsilon at delta; raises GuaranteeError where no epsilon follows."""
        if self.budget is None:
            raise GuaranteeError(f"there is no epsilon here: {self.source}")
        return self.budget.epsilon(delta)

    def quoted(self) -> tuple[float, float] | None:
        """(epsilon, delta) to print: the notion's own, or epsilon at the quoted delta. None for no guarantee."""
        if self.budget is None:
            return None
        if self.budget.notion in ("pure", "approximate"):
            return self.budget.amount, self.budget.delta
        return self.epsilon(self.delta), self.delta

    def at(self, delta: float) -> Guarantee:
        """The same guarantee, quoting epsilon at another delta."""
        return replace(self, delta=probability("delta", delta))

    def as_approximate(self, delta: float) -> Guarantee:
        """The weaker statement (epsilon, delta)-DP, for a ledger that adds epsilons and deltas."""
        budget = Budget("approximate", self.epsilon(delta), probability("delta", delta))
        return replace(self, budget=budget, divergences=None)

    def power(self, alarms: float = ALARMS) -> float:
        """How often, at most, one who accepts this share of false alarms is right; 1 without a guarantee.

        >>> round(Guarantee(Budget.gdp(0.2367)).power(0.05), 4)
        0.0795
        """
        if self.budget is None:
            return 1.0
        return power(self.budget.notion, self.budget.amount, self.budget.delta, alarms)

    def summary(self) -> str:
        """How much, for which change of the data, and what that means, in at most 60 words; conditions come apart."""
        if self.budget is None:
            return f"NO privacy guarantee: {self.source}. Show this only to people who may see the data."
        epsilon, delta = self.quoted() or (0.0, 0.0)
        amount = f"{LETTER[self.notion]} = {_print(self.budget.amount, 6)}"
        held = f" ({self.notion.upper()}, {amount})" if self.notion in ("zcdp", "gdp") else ""
        grown = f"{at_most(math.exp(epsilon), 4)} p" if epsilon < 100 else f"e^{_print(epsilon, 4)} p"
        lost = _print(delta, 6) if delta else ""
        hardly = ", which is hardly a promise" if epsilon >= 100 else ""
        holds = "It is conditional: see below." if self.assumptions else "It holds whatever the data are."
        return (
            f"Differential privacy with epsilon = {_print(epsilon, 4)}{f', delta = {lost}' if lost else ''}{held}, for "
            f"{self.unit}. Had that one change been made, an outcome of probability p would have probability at most "
            f"{grown}{f' + {lost}' if lost else ''}{hardly}. At a {ALARMS:.0%} false-positive rate, any membership "
            f"test has power at most {at_most(100 * self.power(), 3)}%. {holds}"
        )

    def describe(self) -> list[str]:
        """The statement in lines: its summary, its assumptions, those about your code, and who proved it."""
        if self.budget is None:
            return [self.summary()]
        parts = (("It holds only if:", self.assumptions), ("It assumes of your code that:", self.premises))
        listed = [line for title, items in parts if items for line in (title, *(f"- {item}" for item in items))]
        return [self.summary(), *listed, f"Source: {self.source}."]

    def __str__(self) -> str:
        return "\n".join(self.describe())

    def to_json(self) -> Json:
        """A versioned document that from_json reads back to an equal guarantee."""
        epsilon, delta = self.quoted() or (None, None)
        stated = self.budget.to_json() if self.budget else {"notion": "none", "parameters": {}}
        about: Json = {"unit": self.unit, "assumptions": list(self.assumptions), "source": self.source}
        if self.premises:
            about["premises"] = list(self.premises)
        if self.divergences is not None:
            about["divergences"] = self.divergences.to_json()
        return {"format": FORMAT, **stated, "epsilon": epsilon, "delta": delta, "quoted_at": self.delta, **about}

    @classmethod
    def from_json(cls, document: Json) -> Guarantee:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            stated = document.get("format") if isinstance(document, dict) else type(document).__name__
            raise BadInput(f"a guarantee in JSON must have format {FORMAT!r}, got {stated!r}")
        try:
            budget = None if document["notion"] == "none" else Budget.from_json(document)
            unit, source = str(document["unit"]), str(document["source"])
            assumptions = document["assumptions"]
            if not isinstance(assumptions, list):
                raise BadInput(f"assumptions must be a list, got {name_type(assumptions)}")
            assumed = tuple(str(a) for a in assumptions)
            premises = document.get("premises", [])  # certificates of the first release have none
            if not isinstance(premises, list):
                raise BadInput(f"premises must be a list, got {name_type(premises)}")
            duties = tuple(str(p) for p in premises)
            if distance := probability("distance", document.get("distance", 0.0), zero=True):
                duties += (NEAR.format(distance),)
            finer = document.get("divergences")
            known = None if finer is None else Divergences.from_json(finer)
            return cls(budget, unit, assumed, source, probability("quoted_at", document["quoted_at"]), duties, known)
        except KeyError as error:
            raise BadInput(f"a guarantee in JSON must have the field {error}") from None
