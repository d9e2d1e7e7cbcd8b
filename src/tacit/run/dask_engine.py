"""Parts on the workers of a Dask cluster: every task is pinned to its part's home, and only whole numbers come back.

A home is a site: a resource whose name begins with ``site`` that all workers of the site are started with
(``dask worker --resources "site-clinic=1"``). A task for a part of the site runs on any worker of the site and nowhere
else, so a worker that dies blocks nothing. Where no worker has such a resource, a part that lives on a worker is asked
on that worker; if the worker is lost, it is asked where Dask has made it again.
Of many parts, answers are gathered in a tree within the home, so that the client hears once from each home.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import ObjectiveError, TacitError, extra
from tacit.run.engine import KEPT, PartAnswer, Reducer, answer_quietly

LABEL = "site"
FAN = 64  # answers that one task gathers; of so many parts or fewer the client hears from each
SMALL = 16_384  # bytes of a question that is sent along with each of so few parts
LITTLE = 1e-6  # of the site's resource: it names a place and limits nothing
PATIENCE = 60.0  # seconds without any worker of a home
LOOK = 2.0  # seconds between looks whether the homes are still there
LAG = 10.0  # seconds in which small answers that are there must come
AGAIN = 5  # times that a question is put again to parts whose worker was lost


class DaskEngine:
    """See the module. ``parts`` are futures, or things that are put on the cluster when they are first asked."""

    def __init__(self, client: Any, parts: Sequence[Any], homes: Sequence[str | None] | None = None) -> None:
        self.client, self.futures = client, list(parts)
        self.sites = {n: home for n, home in enumerate(homes or ()) if home}
        self.distributed = extra("distributed", "dask", "running on Dask")
        self.cloudpickle = extra("cloudpickle", "dask", "running on Dask")
        self.free = [not isinstance(part, self.distributed.Future) for part in parts]
        for number, part in enumerate(parts):
            if self.free[number]:  # a task, not scattered data: Dask can make it again on another worker
                self.futures[number] = client.submit(_hold, part, pure=False, **_restrict(self.sites.get(number)))

    def totals(self, models: Sequence[Any], reducer: Reducer) -> list[PartAnswer]:
        return self.ask(_answer, (tuple(models), reducer))

    def ask(self, work: Callable[..., Any], question: Any = None) -> list[Any]:
        """``work(number, part, question)`` for every part at its home; answers in any order."""
        answers, waiting, kind = list[Any](), list(range(len(self.futures))), ""
        try:
            question = self._send(question)
            for _ in range(AGAIN):
                some, waiting = self._ask_once(work, question, waiting)
                answers += some
                if not waiting:
                    return answers
        except Exception as error:
            if isinstance(error, TacitError) or self.client.status == "running":
                raise
            kind = type(error).__name__
        if kind:  # outside, so that it has no context: a message may quote what was sent
            raise ObjectiveError(f"the scheduler of the Dask cluster is gone ({kind}). {KEPT}")
        raise ObjectiveError(f"workers were lost again and again while they were asked. {KEPT}")

    def _send(self, question: Any) -> Any:
        """A question as it goes along with each of a few parts; else the future of it, sent once, and made again if
        lost. One that holds a future is sent once too."""
        if question is None:
            return None
        models, reducer = question
        large = len(self.futures) > FAN or any(isinstance(model, self.distributed.Future) for model in models)
        if not large:
            measure = _Measure()
            try:
                self.cloudpickle.Pickler(measure).dump(question)
            except _Enough:
                large = True
        return self.client.submit(_question, reducer, *models, pure=False) if large else question

    def _ask_once(self, work: Any, question: Any, waiting: Sequence[int]) -> tuple[list[Any], list[int]]:
        """Answers, and the numbers of parts whose worker was lost on the way."""
        by_home = dict[str, list[int]]()
        for number, home in zip(waiting, self._homes(waiting), strict=True):
            by_home.setdefault(home, []).append(number)
        mark, asked, tree = uuid.uuid4().hex, dict[str, list[Any]](), len(self.futures) > FAN
        try:
            for home, numbers in by_home.items():
                pinned = _restrict(home)
                keys = [f"tacit-answer-{mark}-{number}" for number in numbers]
                held = [self.futures[number] for number in numbers]
                tasks = self.client.map(work, numbers, held, [question] * len(numbers), key=keys, pure=False, **pinned)
                if tree:
                    tasks = [
                        self.client.submit(list, tasks[i : i + FAN], key=f"tacit-gather-{mark}-{numbers[i]}", **pinned)
                        for i in range(0, len(tasks), FAN)
                    ]
                asked[home] = tasks
            gathered, lost = self._collect(asked)
        finally:  # what is left would wait for its home, and meet the next question there
            for future in [future for futures in asked.values() for future in futures]:
                future.release()
        answers = [answer for some in gathered for answer in some] if tree else gathered
        return answers, [number for home in lost for number in by_home[home]]

    def _collect(self, asked: dict[str, list[Any]]) -> tuple[list[Any], set[str]]:
        """What was answered, and the homes that are worker addresses and are gone."""
        lost = set[str]()
        while True:
            lost |= self._wait({home: futures for home, futures in asked.items() if home not in lost})
            ready = [future for home, futures in asked.items() if home not in lost for future in futures]
            try:
                gathered = self.client.sync(
                    lambda r=ready: self.client.gather(r, asynchronous=True), callback_timeout=LAG
                )
                return list(gathered), lost
            except self.distributed.TimeoutError:  # lost with its worker after it was done: it is waited for again
                continue

    def _wait(self, asked: dict[str, list[Any]]) -> set[str]:
        """Wait for all; homes that are worker addresses and are gone."""
        lost, absent = set[str](), dict[str, float]()
        while True:
            left = {h: [f for f in futures if not f.done()] for h, futures in asked.items() if h not in lost}
            busy = [future for futures in left.values() for future in futures]
            if not busy:
                return lost
            try:
                self._wait_for(busy, LOOK)
            except self.distributed.TimeoutError:
                here, sites = self._workers()
                for home, futures in left.items():
                    if not futures or home in here or home in sites or (here and not home):
                        absent.pop(home, None)
                    elif "://" in home:
                        lost.add(home)
                    elif time.monotonic() - absent.setdefault(home, time.monotonic()) > PATIENCE:
                        whose = f"of {home} " if home else ""
                        raise ObjectiveError(
                            f"no worker {whose}has been there for {PATIENCE:g} s, and its records are nowhere else. "
                            f"Nothing was released. {KEPT}"
                        ) from None

    def _wait_for(self, futures: list[Any], seconds: float | None) -> None:
        with self.client.as_current():
            self.distributed.wait(futures, timeout=seconds)

    def _wait_for_parts(self, held: list[Any]) -> None:
        """Wait until parts are held somewhere, for as long as there is a worker that may make them."""
        stuck = time.monotonic()
        while True:
            try:
                return self._wait_for(held, LOOK)
            except self.distributed.TimeoutError:
                keys = [future.key for future in held if not future.done()]
                if not self.client.run_on_scheduler(_find_stuck, keys):
                    stuck = time.monotonic()
            if time.monotonic() - stuck > PATIENCE:
                raise ObjectiveError(
                    f"no worker has been there for {PATIENCE:g} s that may make all parts: their records are nowhere "
                    "else. Nothing was released"
                )

    def _homes(self, waiting: Sequence[int]) -> list[str]:
        """Each part's home: the site that was named, that of the worker that holds it, that worker; '' for anywhere.

        A site is for good. A part that no worker holds at the moment, since its worker was lost, is waited for: what
        has no known home is asked nowhere.
        """
        end = time.monotonic() + PATIENCE
        while asked := [n for n in waiting if not self.free[n] and n not in self.sites]:
            held = [self.futures[n] for n in asked]
            self._wait_for_parts(held)
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


class _Enough(Exception):
    """A question is larger than small."""


class _Measure:
    """A file that counts what is written, until it is enough."""

    size = 0

    def write(self, some: Any) -> int:
        self.size += memoryview(some).nbytes
        if self.size > SMALL:
            raise _Enough
        return memoryview(some).nbytes


def _find_stuck(keys: Sequence[str], dask_scheduler: Any) -> bool:
    """On the scheduler: whether one of these waits for a worker that is not there, or for something that does."""
    ahead = [task for key in keys if (task := dask_scheduler.tasks.get(key)) is not None]
    seen = set[int]()
    while ahead:
        task = ahead.pop()
        if task.state == "no-worker" or (task.state == "queued" and not dask_scheduler.workers):
            return True
        if id(task) not in seen:
            seen.add(id(task))
            ahead += task.waiting_on or ()
    return False


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
