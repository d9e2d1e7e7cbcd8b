"""Every method of ``tacit.tune``, and all that the rest of the house knows of it.

``tune``, ``plan``, ``PrivateSearchCV``, the audit, the reports and the command read METHODS. To add a method: one file
with the functions that are named here, and one entry. Names are "module:attribute" and loaded on first use, so that the
command can list methods without importing one, and so that a method may name what stands above it.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.methods.task import Task
    from tacit.methods.tuned import Tuned
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.release import Release

AUTO = "auto"  # no method: one of them is chosen, see methods/auto.py
ABOUT_AUTO = "the default: the method and number of evaluations of least measured regret, within the trials"
GAUSSIAN = ("approximate", "zcdp", "gdp")
NEVER_PURE = "its noise is Gaussian, which is never pure differential privacy"
WAYS = {
    "pure": "tacit.Budget.pure(epsilon) (--epsilon with --pure)",
    "approximate": "tacit.Budget.approximate(epsilon, delta) (--epsilon with --delta)",
    "zcdp": "tacit.Budget.zcdp(rho) (--rho)",
    "gdp": "tacit.Budget.gdp(mu) (--mu)",
}


@dataclass(frozen=True, kw_only=True)
class Method:
    """What a method can promise, what it takes, and where its parts are."""

    name: str
    about: str  # one line for help
    notions: tuple[str, ...]  # of the budgets that it can be given; none if it promises nothing
    why: str = ""  # no other notions
    conditional: bool = False  # the guarantee rests on a model of the data
    resumable: bool = False  # what it saw is released, so it may be kept and an interrupted run goes on
    separate: bool = False  # needs losses of which a record has a part in one alone
    laplace: bool = False  # the noise of its score; Gaussian otherwise
    refuses: tuple[str, ...] = ()  # fields of a Task that it has no use for
    refuses_because: str = ""
    releases: str  # in words
    function: str  # Task -> Release[Tuned]
    options: str = ""  # what has the options as keyword-only parameters; none if empty
    forecasts: str  # tuple[Forecast, ...]: what it would give, before anything is spent
    neighbours: str = ""  # () -> Neighbours: the data sets on which it is audited
    page: str = "tacit.report.pages.tuned:page"  # the report of a certificate
    journal: str = ""  # the file that a run under way writes to its folder, where that is no study
    live_page: str = ""  # the report of a run under way, from its journal

    def run(self, task: Task) -> Release[Tuned]:
        """Check what can be checked without the data, then tune."""
        self.check(task)
        release: Release[Tuned] = load(self.function)(task)
        return release

    def check(self, task: Task) -> None:
        """Refuse a budget, an argument or an option that this method cannot take."""
        given = [name for name in self.refuses if getattr(task, name) is not None]
        if given:
            able = [m.name for m in METHODS.values() if not set(given) & set(m.refuses)]
            others = f"; it is for method {' or '.join(able)}" if len(given) == 1 and able else ""
            raise BadInput(
                f"method {self.name!r} {self.refuses_because}: no {', '.join(given)}{others}. Nothing was spent"
            )
        if self.separate and task.objective.overlaps:
            raise BadInput(
                f"method {self.name!r} looks at losses one by one, so each record may have a part in one of them "
                "alone: use tacit.metrics.auc(pairs='one'). Nothing was spent"
            )
        unknown, known = sorted(set(task.options) - set(self.option_names())), self.option_names()
        if unknown:
            takes = f"; it takes {', '.join(known)}" if known else ""
            raise BadInput(f"method {self.name!r} takes no option {', '.join(unknown)}{takes}")
        self.check_budget(task.budget)

    def check_budget(self, budget: Budget | None) -> None:
        """Refuse a budget of a notion that this method cannot keep."""
        if budget is None and not self.notions:
            return
        if budget is None:
            raise BadInput(f"method {self.name!r} needs a budget, such as {WAYS[self.notions[0]]}")
        if not self.notions:
            raise BadInput(f"method {self.name!r} protects nothing: it takes budget=None, got {budget}")
        if budget.notion not in self.notions:
            ways = " or ".join(WAYS[notion] for notion in self.notions)
            raise BadInput(f"method {self.name!r} takes {ways}, got {budget}: {self.why}. Nothing was spent")

    def option_names(self) -> tuple[str, ...]:
        """The names of its options."""
        if not self.options:
            return ()
        parameters = inspect.signature(load(self.options)).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def load(name: str) -> Any:
    """What "module:attribute" names.

    >>> load("math:tau") > 6
    True
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


_PRIVATE_SEARCH: dict[str, Any] = {
    "releases": "parameters, score and every observation",
    "notions": GAUSSIAN,
    "why": NEVER_PURE,
    "resumable": True,
    "neighbours": "tacit.methods.search:neighbours",
}
_KUSNER: dict[str, Any] = {
    "releases": "parameters, and the best score that was tried",
    "refuses": ("storage", "executor", "at_once", "public", "constraint"),
    "refuses_because": "keeps its trials to itself, one after another",
    "laplace": True,
}
_MODEL: dict[str, Any] = {
    "notions": ("approximate",),
    "why": "its guarantee fails with a probability, which is taken from delta",
    "conditional": True,
}

_LISTED = (
    Method(
        name="observed",
        about="Gaussian-process search on private observations",
        function="tacit.methods.search:observed",
        forecasts="tacit.methods.search:OBSERVED",
        **{**_PRIVATE_SEARCH, "neighbours": "tacit.methods.search:observed_neighbours"},
    ),
    Method(
        name="random",
        about="random search on private observations",
        refuses=("public", "constraint"),
        refuses_because="draws its settings at random and learns from nothing",
        function="tacit.methods.search:random",
        forecasts="tacit.methods.search:RANDOM",
        **_PRIVATE_SEARCH,
    ),
    Method(
        name="grid",
        about="the largest grid within the trials, on private observations",
        refuses=("candidates", "public", "constraint"),
        refuses_because="lays out its own grid",
        function="tacit.methods.search:grid",
        forecasts="tacit.methods.search:GRID",
        **_PRIVATE_SEARCH,
    ),
    Method(
        name="pool",
        about="a hidden pool of candidates and one draw, for few records or cheap evaluations; trials are its size",
        notions=("pure", "approximate", "zcdp", "gdp"),
        resumable=True,
        releases="parameters and score; no trial",
        refuses=("storage", "public"),
        refuses_because="hides its trials, which are fixed in advance",
        journal="pool.jsonl",
        function="tacit.methods.pool:run",
        options="tacit.methods.pool:settings",
        forecasts="tacit.methods.pool:FORECASTS",
        neighbours="tacit.methods.pool:neighbours",
    ),
    Method(
        name="staged",
        about="a hidden pool names a region, private observations refine in it; evaluates the pool and the trials",
        notions=GAUSSIAN,
        why="the noise of its observations is Gaussian, which is never pure differential privacy",
        resumable=True,
        releases="parameters, score, the region and every observation in it",
        refuses=("storage", "candidates", "public", "constraint"),
        refuses_because="hides its pool, in memory or in out, and looks between candidates",
        function="tacit.methods.staged:run",
        options="tacit.methods.staged:settings",
        forecasts="tacit.methods.staged:FORECASTS",
        neighbours="tacit.methods.staged:neighbours",
    ),
    Method(
        name="gibo",
        about="DP-GIBO: noisy gradients, for many parameters; trials are its steps",
        notions=GAUSSIAN,
        why=NEVER_PURE,
        resumable=True,
        separate=True,
        releases="parameters, score, the path and every noisy gradient",
        refuses=("storage", "candidates", "at_once", "public", "constraint"),
        refuses_because="follows gradients and keeps its own journal in out",
        function="tacit.methods.gibo:run",
        options="tacit.methods.gibo.design:DescentSettings",
        forecasts="tacit.methods.gibo.preview:FORECASTS",
        neighbours="tacit.methods.gibo.neighbours:neighbours",
        journal="gibo.jsonl",
        live_page="tacit.report.pages.under_way:descent_page",
    ),
    Method(
        name="kusner1",
        about="Kusner et al.'s Algorithm 1, conditional on a Gaussian-process model",
        function="tacit.methods.kusner:run_1",
        options="tacit.methods.kusner:algorithm_1",
        forecasts="tacit.methods.kusner.preview:KUSNER1",
        neighbours="tacit.methods.kusner.neighbours:algorithm_1",
        **_KUSNER,
        **_MODEL,
    ),
    Method(
        name="kusner2",
        about="Kusner et al.'s Algorithm 2, conditional on a Gaussian-process model",
        function="tacit.methods.kusner:run_2",
        options="tacit.methods.kusner:algorithm_2",
        forecasts="tacit.methods.kusner.preview:KUSNER2",
        neighbours="tacit.methods.kusner.neighbours:algorithm_2",
        **_KUSNER,
        **_MODEL,
    ),
    Method(
        name="kusner3",
        about="Kusner et al.'s Algorithm 3: one regularisation strength, pure epsilon",
        notions=("pure",),
        why="it is pure differential privacy",
        function="tacit.methods.kusner:run_3",
        options="tacit.methods.kusner:algorithm_3",
        forecasts="tacit.methods.kusner.preview:KUSNER3",
        neighbours="tacit.methods.kusner.neighbours:algorithm_3",
        **{**_KUSNER, "releases": "the best score that was tried; the strength if wanted"},
    ),
    Method(
        name="nonprivate",
        about="the same search on exact scores, to see what privacy costs; promises nothing",
        notions=(),
        releases="nothing that may be published",
        refuses=("ledger", "storage", "out", "constraint"),
        refuses_because="protects nothing, so nothing is charged or kept",
        function="tacit.methods.search:nonprivate",
        forecasts="tacit.methods.search:NONPRIVATE",
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _LISTED}
