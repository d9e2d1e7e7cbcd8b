"""Every method and mechanism has a proof page, its docstring names it, and the tests that a page names exist."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from each import each

import tacit
from tacit.methods.registry import METHODS
from tacit.pareto import PrivateTest
from tacit.pareto.algorithms import IN_PYTHON, OTHERS, load_algorithm
from tacit.privacy.accounting import compose
from tacit.privacy.filters import Filter
from tacit.privacy.gradient_mean import GradientMean
from tacit.privacy.mean import BoundedMean
from tacit.training.registry import TRAINERS

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "docs" / "proofs"
PAGES = sorted(p for p in PROOFS.glob("*.md") if p.name != "index.md")
NAMED = re.compile(r"docs/proofs/([a-z-]+)\.md")
TEST = re.compile(r"`(?:tests/[\w/]*)?(test_\w+\.py)(?:::(\w+))?`")
PROMISES = [
    tacit.mechanisms.Gaussian,
    tacit.mechanisms.Laplace,
    tacit.mechanisms.Exponential,
    BoundedMean,
    GradientMean,
    tacit.tune,
    tacit.private,
    tacit.PrivateSearchCV,
    tacit.train,
    tacit.select,
    tacit.Curator,
    tacit.Ledger,
    Filter,
    compose,
    PrivateTest,
]


def pages_named(text: str | None) -> set[str]:
    return set(NAMED.findall(text or ""))


@each("thing", PROMISES, ids=lambda thing: thing.__name__)
def test_what_promises_something_names_its_proof(thing: object) -> None:
    named = pages_named(thing.__doc__)
    assert named
    assert all((PROOFS / f"{name}.md").exists() for name in named)


@each("name", [name for name, method in METHODS.items() if method.notions])
def test_every_method_names_its_proof_and_stands_in_the_index(name: str) -> None:
    module = importlib.import_module(METHODS[name].function.partition(":")[0])
    assert pages_named(module.__doc__)
    assert f"`{name}`" in (PROOFS / "index.md").read_text()


@each("name", sorted({*OTHERS, *IN_PYTHON, "logistic_sgd"} - {"estimator"}))
def test_every_shipped_algorithm_names_the_proof_of_its_epsilon(name: str) -> None:
    """But for estimators of others, whose epsilon is theirs."""
    try:
        made = load_algorithm(name)
    except ImportError:
        return  # torch, which `make test-all` covers
    lines = [inspect.getdoc(kind) or "" for kind in made.__mro__]
    assert pages_named("\n".join([*lines, importlib.import_module(made.__module__).__doc__ or ""]))


def test_every_trainer_has_its_proof_in_its_file() -> None:
    files = {importlib.import_module(f"tacit.training.{e.home.partition(':')[0]}") for e in TRAINERS.values()}
    assert [m.__name__ for m in files if not pages_named(inspect.getsource(m))] == []


def test_every_mechanism_of_the_package_stands_in_the_index() -> None:
    from tacit.privacy.mechanisms import Mechanism

    def kinds(kind: type) -> list[type]:
        return [k for sub in kind.__subclasses__() for k in (sub, *kinds(sub))]

    known = (PROOFS / "index.md").read_text()
    ours = [k.__name__ for k in kinds(Mechanism) if k.__module__.startswith("tacit.") and "guarantee" not in vars(k)]
    assert [name for name in ours if f"`{name}`" not in known and name != "Additive"] == []


def test_every_page_is_in_the_index_and_in_the_navigation() -> None:
    index, navigation = (PROOFS / "index.md").read_text(), (ROOT / "mkdocs.yml").read_text()
    assert [p.name for p in PAGES if f"({p.name}" not in index] == []
    assert [p.name for p in PAGES if f"proofs/{p.name}" not in navigation] == []


@each("page", [*PAGES, PROOFS / "index.md"], ids=lambda p: p.stem)
def test_the_tests_that_a_page_names_exist(page: Path) -> None:
    named = TEST.findall(page.read_text())
    assert named
    for file, name in named:
        sources = [path.read_text() for path in (ROOT / "tests").rglob(file)]
        assert sources, f"there is no {file}"
        assert not name or any(f"def {name}(" in source for source in sources), f"{file} has no {name}"


@each("page", PAGES, ids=lambda p: p.stem)
def test_a_proof_begins_with_what_is_claimed(page: Path) -> None:
    heads = [line.lower() for line in page.read_text().splitlines() if line.startswith("## ")]
    assert any(word in heads[0] for word in ("claim", "statement", "conditional"))
