"""Parts on the workers of a Dask cluster: every task is pinned to its part's home, and only whole numbers come back.

A home is a site: a resource whose name begins with ``site`` that all workers of the site are started with
(``dask worker --resources "site-clinic=1"``). A task for a part of the site runs on any worker of the site and nowhere
else, so a worker that dies blocks nothing. Where no worker has such a resource, a part that lives on a worker is asked
on that worker; if the worker is lost, it is asked where Dask has made it again.
Answers are gathered in a tree within the home, so that the client hears once from each home.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import ObjectiveError, extra
from tacit.run.engine import PartAnswer, Reducer, answer_quietly

LABEL = "site"
FAN = 64  # answers that one task gathers
LITTLE = 1e-6  # of the site's resource: it names a place and limits nothing
PATIENCE = 60.0  # seconds without any worker of a home
LOOK = 2.0  # seconds between looks whether the homes are still there
AGAIN = 5  # times that a question is put again to parts whose worker was lost


class DaskEngine:
    """See the module. ``parts`` are futures, or things that are put on the cluster when they are first asked."""

    def __init__(self, client: Any, parts: Sequence[Any], homes: Sequence[str | None] | None = None) -> None:
        self.client, self.futures = client, list(parts)
        self.sites = {n: home for n, home in enumerate(homes or ()) if home}
        self.distributed = extra("distributed", "dask", "running on Dask")
        self.free = [not isinstance(part, self.distributed.Future) for part in parts]
        for number, part in enumerate(parts):
            if self.free[number]:  # a task, not scattered data: Dask can make it again on another worker
                self.futures[number] = client.submit(_hold, part, pure=False, **_restrict(self.sites.get(number)))

    def totals(self, models: Sequence[Any], reducer: Reducer) -> list[PartAnswer]:
        question = self.client.submit(_question, reducer, *models, pure=False)  # sent once, and made again if lost
        return self.ask(_answer, question)

    def ask(self, work: Callable[..., Any], question: Any = None) -> list[Any]:
        """``work(number, part, question)`` for every part at its home; answers in any order."""
        waiting = range(len(self.futures))
        answers = list[Any]()
        for _ in range(AGAIN):
            missing = list[int]()
            for numbers, gathered in self._submit(work, question, waiting).values():
                if gathered is None:
                    missing += numbers
                else:
                    answers += [answer for one in self.client.gather(gathered) for answer in one]
            if not missing:
                return answers
            waiting = missing  # type: ignore[assignment]
        raise ObjectiveError("workers were lost again and again while they were asked. Nothing was released")

    def _submit(self, work: Any, question: Any, waiting: Sequence[int]) -> dict[str, Any]:
        """Numbers and gathered answers by home; None for the answers of a worker that was lost on the way."""
        by_home = dict[str, list[int]]()
        for number, home in zip(waiting, self._homes(waiting), strict=True):
            by_home.setdefault(home, []).append(number)
        mark, asked = uuid.uuid4().hex, dict[str, Any]()
        for home, numbers in by_home.items():
            pinned = _restrict(home)
            keys = [f"tacit-answer-{mark}-{number}" for number in numbers]
            held = [self.futures[number] for number in numbers]
            made = self.client.map(work, numbers, held, [question] * len(numbers), key=keys, pure=False, **pinned)
            asked[home] = [
                self.client.submit(list, made[i : i + FAN], key=f"tacit-gather-{mark}-{numbers[i]}", **pinned)
                for i in range(0, len(made), FAN)
            ]
        lost = self._wait(asked)
        return {home: (numbers, None if home in lost else asked[home]) for home, numbers in by_home.items()}

    def _wait(self, asked: dict[str, list[Any]]) -> set[str]:
        """Wait for all; homes that are worker addresses and are gone."""
        lost, absent = set[str](), dict[str, float]()
        while True:
            left = {h: [f for f in made if not f.done()] for h, made in asked.items() if h not in lost}
            busy = [future for made in left.values() for future in made]
            if not busy:
                return lost
            try:
                self._wait_for(busy, LOOK)
            except self.distributed.TimeoutError:
                here, sites = self._workers()
                for home, made in left.items():
                    if not made or not home or home in here or home in sites:
                        absent.pop(home, None)
                    elif "://" in home:
                        lost.add(home)
                        self.client.cancel(made)
                    elif time.monotonic() - absent.setdefault(home, time.monotonic()) > PATIENCE:
                        self.client.cancel(made)
                        raise ObjectiveError(
                            f"no worker of {home} has been there for {PATIENCE:g} s, and its records are nowhere else. "
                            "Nothing was released"
                        ) from None

    def _wait_for(self, futures: list[Any], seconds: float | None) -> None:
        with self.client.as_current():
            self.distributed.wait(futures, timeout=seconds)

    def _homes(self, waiting: Sequence[int]) -> list[str]:
        """Each part's home: the site that was named, that of the worker that holds it, that worker; '' for anywhere.

        A site is for good. A part that no worker holds at the moment, since its worker was lost, is waited for: what
        has no known home is asked nowhere.
        """
        end = time.monotonic() + PATIENCE
        while asked := [n for n in waiting if not self.free[n] and n not in self.sites]:
            held = [self.futures[n] for n in asked]
            self._wait_for(held, None)
            where, (_, sites) = self.client.who_has(held), self._workers()
            homes = dict[int, str]()
            for n in asked:
                here = next(iter(sorted(where.get(self.futures[n].key, ()))), "")
                homes[n] = next((site for site, some in sites.items() if here in some), here)
            self.sites |= {n: home for n, home in homes.items() if home and "://" not in home}
            if all(homes.values()):
                return [self.sites.get(n) or homes.get(n, "") for n in waiting]
            if time.monotonic() > end:
                raise ObjectiveError("parts were lost with their workers and are not made again. Nothing was released")
            time.sleep(0.1)
        return [self.sites.get(n, "") for n in waiting]

    def _workers(self) -> tuple[set[str], dict[str, set[str]]]:
        """Addresses of all workers, and those of each site."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        sites = dict[str, set[str]]()
        for address, about in workers.items():
            for name in about.get("resources", {}):
                if name.startswith(LABEL):
                    sites.setdefault(name, set()).add(address)
        return set(workers), sites


def _restrict(home: str | None) -> dict[str, Any]:
    if not home:
        return {}
    if "://" in home:
        return {"workers": [home], "allow_other_workers": False}
    return {"resources": {home: LITTLE}}


def _hold(part: Any) -> Any:
    return part


def _question(reducer: Reducer, *models: Any) -> tuple[tuple[Any, ...], Reducer]:
    return models, reducer


def _answer(number: int, part: Any, question: tuple[tuple[Any, ...], Reducer]) -> PartAnswer:
    models, reducer = question
    return answer_quietly(number, part, models, reducer)


def count_part(number: int, part: Any, question: Any = None) -> tuple[int, int]:
    """The number of a part's rows, at its home."""
    return number, int(part.num_rows if hasattr(part, "num_rows") else len(part))
