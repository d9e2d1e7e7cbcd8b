"""Parts with actors of a Ray cluster: an actor holds parts of one home and is asked for all of them at once.

A home is a site, a custom resource of its nodes (``ray start --resources '{"site-clinic": 1}'``), or the node that a
part's block lives on. Actors that die are started again at the same home and asked again, four times a question; what
they hold is in Ray's store, so a restart loses nothing. An answer counts once, whichever actor gave it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tacit.errors import BadInput, ObjectiveError, extra
from tacit.run.dask_engine import LABEL, LITTLE, PATIENCE, count_part
from tacit.run.engine import PartAnswer, Reducer, answer_quietly

RETRIES = 4  # of one question, by an actor that was started again
LOOK = 2.0


class RayEngine:
    """See the module. ``parts`` are object references, or things that are handed to the actors."""

    def __init__(self, parts: Sequence[Any], homes: Sequence[str | None] | None = None) -> None:
        self.ray = ray = extra("ray", "ray", "running on Ray")
        if not ray.is_initialized():
            raise BadInput("start or join a Ray cluster first: ray.init(). Nothing was spent")
        by_home = dict[str, list[int]]()
        for number, home in enumerate(self._homes(parts, homes)):
            by_home.setdefault(home, []).append(number)
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.sites = {home for home in by_home if home.startswith(LABEL)}
        self.actors = list[Any]()
        # Ray forgets what an actor was made of unless somebody holds it, and then cannot start the actor again.
        self.held = [part if isinstance(part, ray.ObjectRef) else ray.put(part) for part in parts]
        for home, numbers in by_home.items():
            make = ray.remote(HomeActor).options(
                num_cpus=0, max_restarts=-1, max_task_retries=RETRIES, **self._restrict(home)
            )
            many = min(cores, len(numbers))
            for i in range(many):
                mine = numbers[i::many]
                self.actors.append(make.remote(mine, [self.held[number] for number in mine]))

    def totals(self, models: Sequence[Any], reducer: Reducer) -> list[PartAnswer]:
        question = self.ray.put((list(models), reducer))
        return [a for some in self._wait([actor.answer.remote(question) for actor in self.actors]) for a in some]

    def count_parts(self) -> list[int]:
        """The number of rows of each part."""
        counts = dict(pair for some in self._wait([actor.count.remote() for actor in self.actors]) for pair in some)
        return [counts[number] for number in sorted(counts)]

    def _wait(self, asked: list[Any]) -> list[Any]:
        left, absent = asked, time.monotonic()
        while left:
            done, left = self.ray.wait(left, num_returns=len(left), timeout=LOOK)
            if done or self.sites <= set(self.ray.cluster_resources()):
                absent = time.monotonic()
            elif time.monotonic() - absent > PATIENCE:
                raise ObjectiveError(
                    f"no node of some site has been there for {PATIENCE:g} s, and its records are nowhere else. "
                    "Nothing was released"
                )
        answers: list[Any] = self.ray.get(asked)
        return answers

    def _homes(self, parts: Sequence[Any], given: Sequence[str | None] | None) -> list[str]:
        refs = [part for part in parts if isinstance(part, self.ray.ObjectRef)]
        where = self.ray.experimental.get_object_locations(refs) if refs else {}
        homes = list[str]()
        for number, part in enumerate(parts):
            nodes = where[part]["node_ids"] if isinstance(part, self.ray.ObjectRef) and part in where else []
            homes.append((given[number] if given else None) or (sorted(nodes)[0] if nodes else ""))
        return homes

    def _restrict(self, home: str) -> dict[str, Any]:
        if not home:
            return {"scheduling_strategy": "SPREAD"}
        if home.startswith(LABEL):
            return {"resources": {home: LITTLE * 100}}  # Ray counts in ten-thousandths
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(home, soft=False)}


class HomeActor:
    """Parts of one home, in a process there."""

    def __init__(self, numbers: list[int], parts: list[Any]) -> None:
        self.numbers, self.parts = numbers, parts

    def answer(self, question: tuple[list[Any], Reducer]) -> list[PartAnswer]:
        models, reducer = question
        ready = [_fetch(model) for model in models]
        return [answer_quietly(n, _fetch(p), ready, reducer) for n, p in zip(self.numbers, self.parts, strict=True)]

    def count(self) -> list[tuple[int, int]]:
        return [count_part(n, _fetch(p)) for n, p in zip(self.numbers, self.parts, strict=True)]


def _fetch(thing: Any) -> Any:
    import ray

    return ray.get(thing) if isinstance(thing, ray.ObjectRef) else thing
