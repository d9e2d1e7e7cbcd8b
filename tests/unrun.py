"""What was not run, in one line at the end: tests that were skipped with the reason, and those that are left to others.

A worker of pytest-xdist tells its controller what it left out.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

LEFT_OUT = "left out"


class Unrun:
    """The plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.left_out = config, 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.left_out += sum(item.get_closest_marker("slow") is not None for item in items)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[LEFT_OUT] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.left_out = getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)  # all collect the same

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        parts = list_reasons(terminalreporter.stats.get("skipped", []))
        remedy = " What can be installed, .ci/run installs (as root on Debian)." if parts else ""
        if self.left_out and self.config.option.markexpr == "not slow":
            parts.insert(0, f"{self.left_out} slow tests (make test-all)")
        if parts:
            terminalreporter.write_line(f"Not run: {'; '.join(parts)}.{remedy}")


def list_reasons(reports: list[Any]) -> list[str]:
    """How many were skipped for each reason, commonest first."""
    reasons: Counter[str] = Counter()
    for report in reports:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        why = re.sub(r"^Skipped: ", "", why)
        reasons[re.sub(r"could not import '([^'.]+).*", r"needs \1 (pip install \1)", why)] += 1
    return [f"{number}: {why}" for why, number in reasons.most_common()]
