"""Benchmarks keep their form, and the results page shows what was measured and nothing else."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
NAMES = sorted(
    p.stem for k in ("papers", "speed", "scale", "faults") for p in (ROOT / "benchmarks" / k).glob("[a-z]*.py")
)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module


def test_every_benchmark_has_a_title_and_runs(load: Any) -> None:
    module_of, header = load("benchmarks.harness.sources").module_of, load("benchmarks.harness.runner").read_header
    for name in NAMES:
        module: ModuleType = load(module_of(name))
        assert module.TITLE, name
        assert header(name)["TITLE"] == module.TITLE, "read without running it"
        assert header(name)["LONG"] is module.LONG, name
        assert callable(module.run), name


SMALLEST: dict[str, dict[str, Any]] = {  # constants of a benchmark at its smallest size
    "scale_messages": {},
    "gibo_bounds": {"SEEDS": 2},
    "outsource_when": {"COLUMNS": (3,), "SHARES": (0.1,), "SURFACES": 1, "HOUSES": {}},
    "kusner_bounds": {"CANDIDATES": 40, "TRIALS": 4},
    "outsource_attack": {},
    "findings": {},
    "selection_table": {},
    "epsilon_table": {"COUNT": 2},
    "gp_ucb": {"CANDIDATES": 100, "STEPS": 4},
    "pareto_sparse_vector": {"NOISES": 8, "SEEDS": 1, "LONGEST": 10},
    "front_coverage": {"FRONTS": 2},
}
QUICK = ("scale_messages", "gibo_bounds")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SMALLEST])
def test_a_benchmark_runs_at_its_smallest_size(
    name: str, load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To its end, or to what this machine lacks, which it names; a rename would stop it with another error."""
    monkeypatch.setenv("TACIT_PARTS", str(tmp_path))
    monkeypatch.setattr(load("benchmarks.harness.panels"), "RESULTS", tmp_path)
    module = load(load("benchmarks.harness.sources").module_of(name))
    for constant, value in SMALLEST[name].items():
        monkeypatch.setattr(module, constant, value)
    package = load("benchmarks")
    try:
        figures = module.run(1)
    except package.Missing as lacking:
        figures = [package.Figure(str(lacking), 0.0)]
    assert figures
    for figure in figures:
        assert figure.name
        assert math.isfinite(figure.value) or "at least" in figure.unit, figure.name


def test_the_command_knows_every_benchmark_by_one_name_and_no_part_of_the_system(load: Any) -> None:
    assert load("benchmarks.harness.sources").names() == NAMES
    assert len(set(NAMES)) == len(NAMES)


def result(**changes: Any) -> dict[str, Any]:
    figure = {"name": "speed", "value": 2.5, "unit": "x", "low": None, "high": None, "against": "goal 3", "note": ""}
    made = {"name": "startup", "title": "One", "command": "python -m benchmarks startup", "repeats": 1, "seconds": 1.0}
    return {**made, "commit": "abc1234", "machine": {"cores": 2}, "figures": [{**figure, **changes}]}


def section(load: Any, *documents: dict[str, Any]) -> list[str]:
    """The lines of a benchmark's raw table."""
    pages = load("benchmarks.harness.results_page").pages({d["name"]: d for d in documents}, [], ["startup"])
    return [line for line in pages["results/startup.md"].split("# startup\n")[1].splitlines() if line]


def test_the_page_shows_ratio_goal_and_whether_it_was_met(load: Any) -> None:
    lines = section(load, result())
    assert lines[1].startswith("`python -m benchmarks startup` · commit abc1234 · 1.0 s")
    assert lines[-1] == "| speed |  |  |  | 2.5 x | 3 | no | goal 3 |"
    assert section(load, result(low=2.0, high=3.0))[-1].startswith("| speed |  |  |  | 2.5 x (2 to 3) |")
    assert section(load, result(value=3.5))[-1] == "| speed |  |  |  | 3.5 x | 3 | yes | goal 3 |"


def test_a_figure_taken_under_load_says_so(load: Any) -> None:
    busy, quiet = ({**result(), "others": others} for others in (1.25, 0.02))
    assert section(load, busy)[1].startswith(
        "**under load: other work used 1.25 of 2 cores** · `python -m benchmarks startup`"
    )
    assert "load" not in section(load, quiet)[1]


def test_other_work_is_told_from_our_own(load: Any) -> None:
    """What ends before the watch does is ours, children included; the machine's own count is coarse."""
    machine = load("benchmarks.harness.machine")
    watch = machine.LoadWatch()
    subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)
    found = watch.others()
    assert found is None or 0 <= found <= (os.cpu_count() or 1) + 1


def test_rivals_take_turns_and_medians_have_intervals(load: Any) -> None:
    package = load("benchmarks")
    order: list[str] = []
    works = {name: lambda turn, name=name: order.append(f"{name}{turn}") for name in ("a", "b")}
    taken = package.in_turns(works, 3)
    assert order == ["a0", "b0", "b1", "a1", "a2", "b2"]
    assert [len(seconds) for seconds in taken.values()] == [3, 3]
    assert package.median_interval(range(1, 12)) == (6, 2, 10)
    assert package.median_interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    figure = package.ratio_in_turns("x", [1.0, 2.0, 4.0], [2.0, 6.0, 4.0], "")
    assert (figure.value, figure.low, figure.high) == (2.0, 1.0, 3.0)


def test_what_was_not_measured_is_shown_as_missing(load: Any) -> None:
    assert section(load) == [
        f"{load('benchmarks.speed.startup').TITLE}. **Missing**: it was not run. `python -m benchmarks startup`"
    ]
    skipped = {**result(), "figures": [], "skipped": "no server"}
    assert section(load, skipped)[0].endswith("**Missing**: no server. `python -m benchmarks startup`")
    pages = load("benchmarks.harness.results_page").pages({}, [], [])
    rows = [line for line in pages["results.md"].splitlines() if line.startswith("| [")]
    assert len(rows) == len(NAMES)
    assert all(line.endswith("| **missing** |") for line in rows)


def test_a_stale_figure_is_marked_and_quoted_in_no_headline(load: Any) -> None:
    figure = {"name": "tacit --help, against Optuna", "value": 3.25, "unit": "x faster"}
    pages = load("benchmarks.harness.results_page")
    for current, state in ((["startup"], "| current |"), ([], "| **stale** |")):
        text = pages.pages({"startup": result(**figure)}, [], current)["results.md"]
        (row,) = [line for line in text.splitlines() if line.startswith("| [startup]")]
        assert row.endswith(state)
        assert ("**3.25x** faster" in text) == bool(current)
        assert pages.read_current(text) == current


def test_the_results_page_is_read_in_ten_minutes() -> None:
    assert len((ROOT / "docs" / "results.md").read_text().split()) <= 4000


@pytest.mark.parametrize(
    ("against", "unit", "value", "goal", "met"),
    [
        ("goal 40", "x faster", 41.0, 40.0, "yes"),
        ("Opacus 1.6.0, ghost, goal 2.5", "x faster", 1.5, 2.5, "no"),
        ("goal: under 0.3", "points", 0.2, 0.3, "yes"),
        ("goal 1e-6", "", 2e-6, 1e-6, "no"),
        ("goal 50,000", "configurations/s", 65e3, 5e4, "yes"),
        ("goal 10 s; the paper's 16 + 256: about 45 s", "s", 4.6, 10.0, "yes"),
        ("same budget", "points", 1.0, None, ""),
    ],
)
def test_goals_are_read_from_words(
    against: str, unit: str, value: float, goal: float | None, met: str, load: Any
) -> None:
    row = load("benchmarks.harness.reading").row({"name": "a", "value": value, "unit": unit, "against": against})
    assert (row.goal, row.met) == (goal, met)


def test_the_papers_figure_is_read_from_words_or_given(load: Any) -> None:
    read = load("benchmarks.harness.reading").row
    said = {"name": "a", "value": 0.1, "unit": "sd"}
    assert read({**said, "against": "paper: 0.073; no guarantee"}).paper == 0.073
    assert read({**said, "against": "the paper's 0.158 (0.053, 0.264)"}).paper == 0.158
    assert read({**said, "against": "paper: 0.019 more"}).paper is None  # a difference is no figure
    assert read({**said, "against": "", "paper": 0.2}).ratio == 0.5


def test_a_power_law_has_its_power_and_no_width(load: Any) -> None:
    sizes = [10, 100, 1000, 10_000]
    power, low, high = load("benchmarks").slope(sizes, [3e-6 * n**1.5 for n in sizes])
    assert power == pytest.approx(1.5)
    assert high - low < 1e-6
    rng = np.random.default_rng(0)  # 400 intervals at 95%: outside 0.91..0.98 with probability below 1e-3
    held = [
        low <= 1 <= high
        for _ in range(400)
        for _, low, high in [load("benchmarks").slope(sizes, np.array(sizes) * np.exp(0.2 * rng.normal(size=4)))]
    ]
    assert 0.91 < np.mean(held) < 0.98


def benchmark(title: str, run: str, more: str = "LONG = False") -> str:
    head = f"import time\nfrom benchmarks import Figure, Missing, threads\nTITLE = '{title}'\n{more}\n"
    return f"{head}def run(repeats): {run}\n"


GOOD = benchmark(
    "Good",
    "return [Figure('number', float(repeats), 'x', 1.0, 9.0), Figure('threads', float(threads()))]",
    "LONG = False\nTHREADS = (1, 2)",
)
LACKING = benchmark("Lacking", "raise Missing('no server here')")
OURS = {
    "good": GOOD,
    "lacking": LACKING,
    "absent": benchmark("Absent", "import a_peer_that_nobody_has"),
    "broken": benchmark("Broken", "raise ValueError('a mistake')"),
    "slow": benchmark("Slow", "print('begun', flush=True); time.sleep(60)", "LONG = True"),
}


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A clone with the runner and benchmarks of our own."""
    (tmp_path / "src" / "tacit").mkdir(parents=True)
    shutil.copytree(ROOT / "benchmarks" / "harness", tmp_path / "benchmarks" / "harness")
    (tmp_path / "benchmarks" / "speed").mkdir()
    for path in (ROOT / "benchmarks").glob("_*.*"):
        shutil.copy(path, tmp_path / "benchmarks")
    for name, text in OURS.items():
        (tmp_path / "benchmarks" / "speed" / f"{name}.py").write_text(text)
    return tmp_path


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=120)


def kept(folder: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "benchmarks" / "results" / f"{name}.json").read_text())
    return document


def test_a_failure_stops_no_other_and_what_is_lacking_is_no_failure(bench: Path) -> None:
    done = ran(bench, "broken", "lacking", "absent", "good")
    assert done.returncode == 1
    assert "a mistake" in done.stderr
    assert "measured: good; skipped: lacking, absent; failed: broken" in done.stdout
    assert kept(bench, "lacking")["skipped"] == "no server here"
    assert kept(bench, "absent")["skipped"] == "a_peer_that_nobody_has is not installed: make peers"
    assert not (bench / "benchmarks" / "results" / "broken.json").exists()
    document = kept(bench, "good")
    names = [f["name"] for f in document["figures"]]
    assert names == ["number, 1 thread", "threads, 1 thread", "number, 2 threads", "threads, 2 threads"]
    assert [f["value"] for f in document["figures"]] == [5.0, 1.0, 5.0, 2.0]
    assert document["threads"] == [1, 2]
    assert {"commit", "dirty", "date", "command", "machine", "seconds"} <= document.keys()
    # What this code has measured is not measured again, unless asked or changed.
    assert "unchanged: good" in ran(bench, "good", "lacking").stdout
    assert "measured: good" in ran(bench, "good", "lacking", "--fresh").stdout
    (bench / "benchmarks" / "speed" / "good.py").write_text(GOOD + "# a comment changes no figure\n")
    assert "unchanged: good" in ran(bench, "good", "lacking").stdout
    (bench / "benchmarks" / "speed" / "good.py").write_text(GOOD.replace("'number'", "'numbers'"))
    assert "measured: good" in ran(bench, "good", "lacking").stdout


LIBRARY = """
import warnings
from dataclasses import dataclass
from tacit.rates import RATE

@dataclass
class Step:
    "A step."
    size: float = 2.0

    def scaled(self, by: float) -> float:
        if by < 0:
            raise ValueError("by must not be negative")
        length = self.size * by
        return length

def work(x: int) -> float:
    "Does it."
    return Step().scaled(x) * RATE

def idle() -> int:
    return 1

def child() -> None:
    idle_too()

def idle_too() -> int:
    return 2
"""
USER = """
import subprocess, sys
from benchmarks import Figure
from benchmarks.harness.parts import keep_piece
from tacit.library import work
TITLE = "User"
LONG = False
def run(repeats):
    line = "import os, signal; from tacit.library import child; child(); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", line])
    return [Figure("it", keep_piece("user", {"of": 1}, lambda: work(3)))]
"""
EDITS = {  # what is written in place of what, and whether the figures are stale by it
    "an executed function": ("self.size * by", "self.size + by", True),
    "a function that ran in a child alone, which was killed": ("return 2", "return 3", True),
    "a field of the class of an executed method": ("size: float = 2.0", "size: float = 2.5", True),
    "a constant in another module": ("RATE = 1.5", "RATE = 1.6", True),
    "a parameter's name": (
        '(x: int) -> float:\n    "Does it."\n    return Step().scaled(x)',
        "(y):\n    return Step().scaled(y)",
        True,
    ),
    "the benchmark itself": ("work(3)", "work(4)", True),
    "a function that did not run": ("return 1", "return 4", False),
    "a docstring": ('"Does it."', '"Does something."', False),
    "a message": ("by must not be negative", "by is negative", False),
    "annotations": ("by: float) -> float", "by: int) -> int", False),
    "a local's name": ("length", "distance", False),
    "a comment": ("return length", "return length  # so far", False),
    "a constant that nothing reads": ("RATE = 1.5", "RATE = 1.5\nOTHER = 2", False),
}


def test_a_figure_is_stale_if_a_function_that_ran_changed_and_only_then(
    bench: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, runner = load("benchmarks.harness.sources"), load("benchmarks.harness.runner")
    monkeypatch.setattr(sources, "ROOT", bench)
    monkeypatch.setattr(sources, "HERE", bench / "benchmarks")
    files = {"src/tacit/library.py": LIBRARY, "src/tacit/rates.py": "RATE = 1.5\n", "src/tacit/__init__.py": ""}
    files |= {"benchmarks/speed/user.py": USER}

    def write(changes: dict[str, str]) -> None:
        for name, text in {**files, **changes}.items():
            (bench / name).write_text(text)
        sources.forget()

    def current() -> bool:
        return bool(runner.is_current("user", bench / "benchmarks" / "results", 5))

    monkeypatch.setenv("PYTHONPATH", str(bench / "src"))
    write({})
    assert ran(bench, "user").returncode == 0
    assert current()
    for what, (old, new, stale) in EDITS.items():
        write({name: text.replace(old, new) for name, text in files.items()})
        assert any(old in text for text in files.values()), what
        assert current() != stale, what
    moved, rest = LIBRARY.split("def work(x")
    write({"src/tacit/library.py": f"from tacit.steps import Step\nfrom tacit.rates import RATE\ndef work(x{rest}"})
    assert not current(), "a class that is nowhere"
    (bench / "src" / "tacit" / "steps.py").write_text(moved)
    sources.forget()
    assert current(), "code that only moved"
    (bench / "src" / "tacit" / "steps.py").unlink()
    write({})
    # a piece that was kept counts, and is made anew when what ran for it has changed
    assert "measured: user" in ran(bench, "user", "good", "--fresh").stdout
    piece = next((bench / "benchmarks" / "parts" / "user").glob("*.json"))
    assert any(name.endswith(":Step.scaled") for name in json.loads(piece.read_text())["executed"])
    write({"src/tacit/library.py": LIBRARY.replace("self.size * by", "self.size + by")})
    assert not current()
    assert ran(bench, "user").returncode == 0
    assert kept(bench, "user")["figures"][0]["value"] == 7.5
    assert ran(bench, "user").returncode == 0
    assert runner.changes("user", bench / "benchmarks" / "results") == [], "what ran for a piece kept earlier counts"
    (bench / "benchmarks" / "results" / "executed" / "user.txt").unlink()
    assert not current(), "nobody knows what ran"


def test_skipping_keeps_what_was_measured_before(bench: Path) -> None:
    ran(bench, "good", "--repeats", "3")
    (bench / "benchmarks" / "speed" / "good.py").write_text(LACKING)
    done = ran(bench, "good")
    assert done.returncode == 0
    assert "skipped: no server here" in done.stdout
    assert kept(bench, "good")["figures"][0]["value"] == 3.0


def test_an_interrupted_run_keeps_what_was_finished(bench: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "good", "slow"]
    about: dict[str, Any] = {"cwd": bench, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a run in the background is born deaf to Ctrl-C
    with subprocess.Popen(command, preexec_fn=heed, **about) as child:
        assert child.stdout is not None
        while "begun" not in child.stdout.readline():
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGINT)
        out = child.stdout.read()
    assert child.returncode == 130
    assert "Run the same command to go on" in out
    assert kept(bench, "good")["figures"]


def test_what_fits_is_chosen_by_what_it_took(bench: Path, load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, out = load("benchmarks.harness.runner"), bench / "results"
    monkeypatch.setattr(load("benchmarks.harness.sources"), "HERE", bench / "benchmarks")
    out.mkdir()
    for name, seconds in {"good": 100.0, "broken": 500.0, "slow": 300.0, "lacking": 10.0, "absent": 20.0}.items():
        (out / f"{name}.json").write_text(json.dumps({**result(), "name": name, "seconds": seconds, "repeats": 5}))
    chosen, left = runner.choose_within(700.0, out, None)
    assert chosen == ["lacking", "absent", "good", "broken"]
    assert left == ["slow"]
    chosen, left = runner.choose_within(430.0, out, None)
    assert chosen == ["lacking", "absent", "good", "slow"]  # a long one where a short one no longer fits
    assert runner.choose_within(700.0, out, 10)[1] == ["broken", "slow"]  # twice the repeats, twice the time


def test_a_benchmark_made_of_pieces_tells_what_all_of_them_took(
    tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run makes one piece and finds one; both count. A piece of an older form did not say how long it took."""
    parts, runner = load("benchmarks.harness.parts"), load("benchmarks.harness.runner")
    monkeypatch.setenv("TACIT_PARTS", str(tmp_path))
    clock = iter([0.0, 30.0, 100.0, 190.0])
    monkeypatch.setattr(parts.time, "perf_counter", lambda: next(clock))
    assert parts.keep_piece("long", {"part": 1}, lambda: "first") == "first"
    for path in tmp_path.glob("long/*.json"):
        os.utime(path, (0, 0))
    since = time.time() - 1.0
    assert parts.keep_piece("long", {"part": 1}, lambda: "never") == "first"
    assert parts.keep_piece("long", {"part": 2}, lambda: "second") == "second"
    assert parts.count_pieces("long", since) == {"pieces": 2, "seconds": 120.0}
    assert parts.count_pieces("short", since) == {}
    about = {**result(), "name": "long", "seconds": 0.1, "repeats": 5, "made_of": parts.count_pieces("long", since)}
    (tmp_path / "long.json").write_text(json.dumps(about))
    assert runner.expected_seconds("long", tmp_path, 10) == 240.0
    (tmp_path / "long" / "old.json").write_text('{"key": {}, "value": 1}')
    assert parts.count_pieces("long", since) == {"pieces": 3, "seconds": None}


def test_a_peer_that_is_not_installed_has_no_figure(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    overhead = load("benchmarks.speed.tune_overhead")
    absent = SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None))
    monkeypatch.setattr(overhead, "importlib", absent)
    monkeypatch.setattr(overhead, "LENGTHS", (12,))
    monkeypatch.setattr(overhead, "MANY", 12)
    monkeypatch.setattr(overhead, "LONGEST", 20)
    monkeypatch.setattr(overhead, "FEWEST", 1)
    names = [figure.name for figure in overhead.run(1)]
    assert names[:2] == ["12 trials: tacit.tune", "12 trials: tacit.tune against TPESampler"]
    assert not any("GPSampler" in name for name in names)


def test_a_run_from_the_shell_leaves_json_with_where_it_was_measured(bench: Path) -> None:
    assert ran(bench, "good", "--repeats", "2", "--threads", "2", "--out", "elsewhere").returncode == 0
    document = json.loads((bench / "elsewhere" / "good.json").read_text())
    assert document["command"] == "python -m benchmarks good --repeats 2 --threads 2"
    assert document["commit"]
    assert document["machine"]["numpy"] == np.__version__
    assert document["machine"]["cores"] >= 1
    assert os.uname().nodename not in json.dumps(document)
    figure = document["figures"][0]
    assert (figure["name"], figure["low"], figure["value"], figure["high"]) == ("number, 2 threads", 1.0, 2.0, 9.0)


def test_an_unknown_benchmark_is_refused_by_name() -> None:
    done = ran(ROOT, "nothing")
    assert done.returncode == 2
    assert "no benchmark nothing" in done.stderr


def test_kept_results_are_of_benchmarks_that_exist() -> None:
    found = {p.stem for p in (ROOT / "benchmarks" / "results").glob("*.json")}
    assert found <= set(NAMES)


def test_the_pages_are_what_the_kept_results_give(load: Any) -> None:
    """If this fails, run `make results` and commit what it writes."""
    docs = ROOT / "docs"
    current = load("benchmarks.harness.results_page").read_current((docs / "results.md").read_text())
    made = load("benchmarks.harness.pages").made(ROOT / "benchmarks" / "results", docs, current)
    assert {"results.md", "papers.md", "scale.md"} <= made.keys()
    differ = [name for name, text in made.items() if not (docs / name).exists() or (docs / name).read_text() != text]
    assert differ == []
    drawn = {f"pictures/{p.name}" for p in (docs / "pictures").glob("results-*.svg")}
    assert drawn == {name for name in made if name.endswith(".svg")}


SETTINGS = {  # decimals beside a benchmark's name that are settings or words of a statement, not measured
    "gibo.md": {"0.3", "0.05", "0.1"},
    "plan.md": {"0.01"},
}
MADE = ("results.md", "papers.md", "recorded-draws.md", "results/")
ABOUT = re.compile(r"python -m benchmarks|benchmarks/|[Mm]easured|results\.md|papers\.md")
BEYOND = re.compile(r"```.*?```|<!-- (?:figures|value):.*?<!-- (?:end|/) -->|`[^`]*`", re.DOTALL)


def typed_figures(text: str) -> list[str]:
    """Decimals in paragraphs about measurements, outside of code and of what is filled from results."""
    paragraphs = re.split(r"\n\s*\n|\n(?=[-*|] )", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    about = [BEYOND.sub("", paragraph) for paragraph in paragraphs if ABOUT.search(paragraph)]
    return [number for words in about for number in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", words)]


def test_no_measured_figure_of_the_docs_is_typed_by_hand() -> None:
    """Write ``<!-- value: BENCHMARK | NAME -->?<!-- / -->`` and run `make results`."""
    assert typed_figures("Measured: 0.25, `0.5` and <!-- value: a | b -->0.75<!-- / -->.\n\nAlso 0.1.") == ["0.25"]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = str(page.relative_to(ROOT / "docs"))
        if not name.startswith(MADE):
            assert set(typed_figures(page.read_text())) <= SETTINGS.get(name, set()), name


def test_a_value_in_a_sentence_comes_from_its_result(load: Any) -> None:
    text = "It took <!-- value: startup | speed -->{}<!-- / --> and <!-- value: startup | gone -->{}<!-- / -->."
    fill = load("benchmarks.harness.pages").filled
    assert fill(text.format("1", "2"), {"startup": result()}) == text.format("2.5", "?")


EXHIBITS = {  # counted in the papers by hand, independently of the list that makes the page
    "Sopa et al. 2025": {"Figure": 5, "Table": 0},
    "Kharkovskii et al. 2020": {"Figure": 2, "Table": 9},
    "Avent et al. 2020": {"Figure": 8, "Table": 4},
    "Kusner et al. 2015 (ICML)": {"Figure": 0, "Table": 0},
    "Kusner et al. 2015 (workshop)": {"Figure": 0, "Table": 0},
}


def test_the_papers_page_has_no_empty_row(load: Any) -> None:
    page = load("benchmarks.harness.papers_page")
    text = page.page({})
    for paper, counts in EXHIBITS.items():
        part = text[text.index(f"## {paper}") :].removeprefix("## ").split("\n## ")[0]
        rows = [[c.strip() for c in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")]
        for exhibit, shows, here, _, why, command, _ in rows[2:]:
            assert all((exhibit, shows, why, command.strip("`"))), exhibit
            assert here.split(":")[0] in (*page.STATES, "not measured"), exhibit
        names = " / ".join(row[0] for row in rows[2:])
        for kind, number in counts.items():
            for i in range(1, number + 1):
                assert f"{kind} {i}" in names, (paper, kind, i)
            assert f"{kind} {number + 1}" not in names


def test_a_row_of_a_paper_without_kept_figures_is_not_called_reproduced(load: Any) -> None:
    asked = tomllib.loads((ROOT / "benchmarks" / "harness" / "papers.toml").read_text())
    page = load("benchmarks.harness.papers_page")
    for row in (row for paper in asked["paper"] for row in paper["row"]):
        assert row["here"] in page.STATES
        assert (page.row(row, {})[2] == "not measured") == bool(row.get("figures"))


def test_a_row_of_a_paper_says_when_it_was_measured_and_whether_it_still_holds(load: Any) -> None:
    row = {
        "exhibit": "a",
        "shows": "b",
        "here": "reproduced",
        "figures": ["startup | speed"],
        "why": "c",
        "command": "d",
    }
    document = {**result(), "date": "2026-11-01"}
    for current, when in ((["startup"], "2026-11-01"), ([], "2026-11-01, stale")):
        assert load("benchmarks.harness.papers_page").row(row, {"startup": document}, (), current)[-1] == when


def test_a_row_of_a_paper_says_so_if_its_claim_did_not_hold(load: Any) -> None:
    judged = load("benchmarks.harness.papers_page").judged
    assert judged("reproduced", ["claim held", ""]) == "reproduced"
    assert judged("reproduced", ["claim held", "claim did not hold"]).endswith("the claim did not hold")
    assert judged("reproduced", ["agrees", "does not agree", ""]).endswith("1 of 2 figures do not agree")
    assert judged("reproduced", ["", "does not agree"]) == "not reproducible here: none of 1 figures agrees"


def test_lists_name_benchmarks_that_exist(load: Any) -> None:
    known = set(NAMES)
    heads = tomllib.loads((ROOT / "benchmarks" / "harness" / "headlines.toml").read_text())
    papers = tomllib.loads((ROOT / "benchmarks" / "harness" / "papers.toml").read_text())
    specs = [s for paper in papers["paper"] for row in paper["row"] for s in row.get("figures", [])]
    specs += [s for part in heads.values() for _, s in part["figures"]]
    for spec in specs:
        name, pattern = (part.strip() for part in spec.split("|"))
        assert pattern
        assert "*" in name or name in known, spec
