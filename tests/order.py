"""The order of tests: that of the files, or with ``--order random`` another one, whose seed is printed at the end.

Modules are shuffled, and the tests within each: fixtures of a module are made once, as in the usual order.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

FILES = "files"


class Order:
    """The plugin. A worker of pytest-xdist is given the seed that its controller drew."""

    def __init__(self, config: pytest.Config) -> None:
        self.seed = getattr(config, "workerinput", {}).get("order") or str(config.option.order)
        if self.seed == "random":
            self.seed = str(random.SystemRandom().randrange(10**6))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["order"] = self.seed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.seed == FILES:
            return
        modules: defaultdict[Any, list[pytest.Item]] = defaultdict(list)
        for item in items:
            modules[item.nodeid.split("::")[0]].append(item)
        generator, shuffled = random.Random(self.seed), list(modules.values())
        generator.shuffle(shuffled)
        for each in shuffled:
            generator.shuffle(each)
        items[:] = [item for each in shuffled for item in each]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.seed != FILES:
            terminalreporter.write_line(f"In a random order; again in this order: --order {self.seed}")
