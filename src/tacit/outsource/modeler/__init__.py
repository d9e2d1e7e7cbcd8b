"""The modeler: GP-UCB over a table it was given, asking for one row, or a few, at a time.

    n     rows of the table          t      queries so far, this one included          delta'  of the confidence bounds

It sees the published table, the terms and the answers, and nothing else. Whatever it does is post-processing.
"""

from __future__ import annotations

import copy
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.errors import BadInput, choice, count, extra, positive, probability, real
from tacit.files import Json
from tacit.gp.exact import GaussianProcess
from tacit.gp.fit import FittedModel, fit
from tacit.gp.kernels import RBF
from tacit.gp.threads import one_thread
from tacit.outsource.modeler.noisy_inputs import Places, expected_kernel, places
from tacit.outsource.protocol.terms import Answer, AnswerSource, Published, Refused, Table, Unreachable
from tacit.privacy.guarantee import Guarantee

Array = npt.NDArray[np.float64]
FINAL = ("limit", "stopped", "budget", "token")
"""Refusals after which a search ends with what it has."""

POOL = 200_000
"""Rows considered at most, a random subset of a larger table: the posterior keeps a number per row and query."""


@dataclass(frozen=True)
class Prior:
    """What is known of the objective beforehand, in the units of the scaled rows: public, or fitted elsewhere.

    ``noise`` is the variance of an answer that is not protected.
    """

    lengthscale: float
    variance: float = 1.0
    mean: float = 0.0
    noise: float = 1e-5

    def __post_init__(self) -> None:
        positive("lengthscale", self.lengthscale), positive("variance", self.variance), real("mean", self.mean)
        if real("noise", self.noise) < 0:
            raise BadInput(f"noise is a variance and must not be negative, got noise={self.noise!r}")


@dataclass(frozen=True)
class Found:
    """The best row so far, what was asked and answered to find it, and what is guaranteed about all of it."""

    row: int
    value: float
    answers: list[Answer] = field(repr=False)
    guarantee: Guarantee
    ended: str = ""  # why the search ended before all trials were made, if it did
    noise: float = 0.0  # standard deviation of what the curator adds to each answer, the value among them

    @property
    def trials(self) -> int:
        return len(self.answers)

    def to_json(self) -> Json:
        return {
            "row": self.row,
            "value": self.value,
            "noise": self.noise,
            "trials": self.trials,
            "answers": [a.to_json() for a in self.answers],
            "guarantee": self.guarantee.to_json(),
            "ended": self.ended,
        }


class Modeler:
    """Optimises over the rows of a published table by asking a curator for a few of their answers.

    Args:
        source: A curator in this process, a client, or the URL of a curator's service.
        prior: The Gaussian process, if it is known; else its hyperparameters are fitted to the answers as they come.
        direction: "maximize" or "minimize".
        batch: Rows in one request.
        startup: Rows that are asked at random before a model is fitted.
        explore: Multiplies sqrt(beta).
        delta: delta' of the confidence bounds.
        aware: Whether the model counts the noise of the table.
        seed: Of the first rows.
        progress: Called with the number of answers and the latest one.
        token: Of a service.
        authority: Certificates to trust, for one that nobody signed.

    Follows. Kharkovskii2020, Algorithm 2: beta_t = 2 log(n t^2 pi^2 / (6 delta')), argmax mean + sqrt(beta_t) sd.
    Differs. The process knows that the table is noisy, and how much (``noisy_inputs``); a row is asked once, unless
    ``repeat_rows`` says that it may be asked again, as published; a batch is chosen by appending each choice at its
    mean (GP-BUCB: Desautels, Krause and Burdick 2014).
    Edges. Answers given before are fetched first: a modeler that died goes on where it was. Rows that cannot be
    evaluated are skipped. Once every row was asked, or the curator answers no more, it ends with the best it has.
    """

    def __init__(
        self,
        source: AnswerSource | str,
        *,
        prior: Prior | None = None,
        direction: str = "maximize",
        batch: int = 1,
        startup: int = 5,
        explore: float = 1.0,
        delta: float = 0.025,
        aware: bool = True,
        repeat_rows: bool = False,
        seed: int = 0,
        progress: Callable[[int, Answer], None] | None = None,
        token: str | None = None,
        authority: str | None = None,
    ) -> None:
        if isinstance(source, str):
            extra("httpx", "service", "talking to a curator's service")
            from tacit.outsource.modeler.client import Client

            source = Client(source, token=token, authority=authority)
        self.source: AnswerSource = source
        self.prior, self.progress = prior, progress
        self.sign = 1.0 if choice("direction", direction, ("maximize", "minimize")) == "maximize" else -1.0
        self.batch, self.startup = count("batch", batch), count("startup", startup)
        self.explore, self.delta = positive("explore", explore), probability("delta", delta)
        self.aware, self.repeat_rows = aware, repeat_rows
        self.generator = np.random.default_rng(count("seed", seed, least=0))

    def run(self, trials: int) -> Found:
        """Ask until ``trials`` rows have been answered, those of earlier runs included; the best of them."""
        trials = count("trials", trials)
        terms = self.source.published()
        if self.repeat_rows and terms.answer_noise:
            raise BadInput(
                "repeat_rows counts every answer as new, and this curator repeats its noisy answers: leave it out. "
                "No row was asked"
            )
        search = _Search(self, terms, self.source.table())
        answered = self.source.answers()
        for answer in answered:
            search.learn(answer)
        batch, ended = self.batch, ""
        with one_thread():
            while len(answered) < trials and search.open:
                rows = search.choose(min(batch, trials - len(answered)))
                try:
                    answers = self.source.ask(rows, request=str(uuid.uuid4()))
                except Refused as error:
                    if error.code == "limit" and batch > 1:
                        batch = 1  # there may be room for some of them
                        continue
                    if error.code not in FINAL or not search.values:
                        raise
                    ended = str(error)
                    break
                for answer in answers:
                    answered.append(answer)
                    search.learn(answer)
                    if self.progress:
                        self.progress(len(answered), answer)
            row, value = search.best()
        return Found(row, value, answered, terms.whole, ended, terms.answer_noise)


class _Search:
    """The state of one run: which rows were asked, and the posterior over those that may be."""

    def __init__(self, modeler: Modeler, terms: Published, table: Table) -> None:
        self.m, self.terms, self.n = modeler, terms, len(table)
        pool = modeler.generator.permutation(self.n)[:POOL] if self.n > POOL else np.arange(self.n)
        self.pool = np.sort(pool)
        # r of d directions keep r/d of a squared distance: undo it, so that length-scales mean what they say
        stretch = math.sqrt(max(1.0, len(terms.about.get("scale", ())) / terms.columns)) if terms.noise else 1.0
        seen = table if stretch == 1.0 else table * stretch
        known: Places = places(seen, stretch * terms.noise if modeler.aware else 0.0)
        self.unknown = known.unknown
        # fitting wants points in about the unit cube; a kernel of distances does not mind
        self.width = 1.0 if modeler.prior else max(float(np.ptp(known.means, axis=0).max()), 1e-300)
        self.points = known.means / self.width
        self.rows: list[int] = []
        self.values: list[float] = []
        self.asked = np.zeros(self.n, dtype=bool)  # and not to be asked again
        self.gp: GaussianProcess | None = None
        self.fitted: FittedModel | None = None
        self.own = 0.0

    @property
    def open(self) -> bool:
        return not self.asked[self.pool].all()

    def learn(self, answer: Answer) -> None:
        if not 0 <= answer.row < self.n:
            raise Unreachable(f"an answer is for a row that the table does not have: there are {self.n}")
        if self.asked[answer.row]:
            return
        self.asked[answer.row] = answer.value is None or not self.m.repeat_rows
        if answer.value is None:
            return
        self.rows.append(answer.row)
        self.values.append(self.m.sign * answer.value)
        if self.gp is not None and self.m.prior:
            self.gp.append(self.points[answer.row], self.values[-1])

    def choose(self, several: int) -> list[int]:
        left = self.pool[~self.asked[self.pool]]
        if not self.m.prior and len(self.values) < min(self.m.startup, self.n):
            return [int(i) for i in self.m.generator.choice(left, min(several, len(left)), replace=False)]
        gp = self._posterior()
        free = ~self.asked[self.pool]
        chosen: list[int] = []
        while free.any() and len(chosen) < several:
            t = len(self.rows) + len(chosen) + 1
            beta = 2 * math.log(self.n * t**2 * math.pi**2 / (6 * self.m.delta))
            score = gp.mean + self.m.explore * math.sqrt(beta) * np.sqrt(gp.variance + self.own)
            at = int(np.argmax(np.where(free, score, -np.inf)))
            chosen.append(int(self.pool[at]))
            free[at] = False
            if len(chosen) < several:
                gp = copy.deepcopy(gp) if len(chosen) == 1 else gp
                gp.append_candidate(at, float(gp.mean[at]))
        return chosen

    def _posterior(self) -> GaussianProcess:
        if self.m.prior:
            if self.gp is None:
                p = self.m.prior
                kernel, self.own = expected_kernel(p.lengthscale, p.variance, self.unknown)
                noise = p.noise + self.terms.answer_noise**2 + self.own
                mean = self.m.sign * p.mean
                self.gp = GaussianProcess(kernel, noise=noise, mean=mean, candidates=self.points[self.pool])
                self.gp.extend(self.points[self.rows], np.asarray(self.values))
            return self.gp
        t = len(self.rows)
        known = self.terms.answer_noise**2
        X, y = self.points[self.rows], np.asarray(self.values)
        if self.fitted is None or t <= 30 or t % 5 == 0:
            start = RBF((0.3,) * self.points.shape[1])
            self.fitted = fit(start, X, y, noise=known, warm=self.fitted, restarts=2 if t <= 30 else 0)
        # the averaged kernel has the form that is fitted: what is a row's own is fitted as noise
        self.own = self.fitted.noise
        self.gp = self.fitted.condition(X, y, noise=known, candidates=self.points[self.pool])
        return self.gp

    def best(self) -> tuple[int, float]:
        if not self.values:
            raise BadInput("no row was answered with a number, so there is no best row")
        if self.terms.answer_noise == 0:
            at = int(np.argmax(self.values))
        else:  # not the luckiest answer: the row whose value is best given all of them
            gp = self._posterior()
            X, y = self.points[self.rows], np.asarray(self.values)
            smooth = gp.posterior(X)[0]
            share = self.own / max(self.own + self.terms.answer_noise**2, 1e-300)
            at = int(np.argmax(smooth + share * (y - smooth)))
        return self.rows[at], self.m.sign * self.values[at]
