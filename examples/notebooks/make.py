"""Writes the notebooks beside it and runs them: ``python examples/notebooks/make.py [NAME ...]``. Needs tacit[test].

A notebook for each story, with what it printed and drew. Noise is drawn anew each time, so no two runs are the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
PUBLISH = [
    """# Publish settings that were tuned on records you may not show
The breast cancer table of scikit-learn stands in for yours. Half of the rows train models and are **not** protected;
the other half is private.""",
    """import tempfile

import tacit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
folder = tempfile.mkdtemp()""",
    "What would each method give, before anything is spent?",
    "tacit.plan(records=284, trials=15, dimensions=1, budget=tacit.Budget.approximate(2.0, 1e-5))",
    "A ledger holds the budget of the data; the search is charged to it before any noise is drawn.",
    """ledger = tacit.Ledger.open(f"{folder}/ledger.db", "clinic", tacit.Budget.approximate(3.0, 1e-5))
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
search = tacit.PrivateSearchCV(
    model,
    {"logisticregression__C": tacit.Float(1e-4, 1e3, log=True)},
    epsilon=2.0,
    delta=1e-5,
    trials=15,
    scoring="accuracy",
    ledger=ledger,
    random_state=0,
).fit(X, y)
search.release_""",
    "Every observation that was released, as scikit-learn shows results:",
    """import pandas as pd

pd.DataFrame(search.cv_results_)[["param_logisticregression__C", "mean_test_score", "std_test_score"]].round(4)""",
    "ledger",
]
EPSILON = [
    """# Choose epsilon by looking
What does epsilon buy? A front of the sparse vector technique, simulated, so that anyone may see it.""",
    """import tacit
from tacit.training.sparse_vector import SparseVector

algorithm = SparseVector()
front = tacit.pareto.discover(algorithm, delta=0.0, trials=24, repeats=4, reference=(100.0, 1.0)).value
front""",
    "What does epsilon = 50 buy, and what does F1 = 0.5 cost?",
    """print(f"F1 {front.at(epsilon=50.0).utility:.3f} at epsilon 50")
print(f"epsilon {front.predict(algorithm, utility=0.5).epsilon:.1f} for F1 = 0.5")""",
]
MANY = [
    """# Many parameters at once
Thirty-two stretches of a kernel classifier, by DP-GIBO: noisy gradients instead of noisy scores. The example beside
this notebook has the losses.""",
    """import sys

sys.path.insert(0, "examples")
from many_parameters import fitted_losses, losses, names, private, train

import tacit
from tacit.methods.gibo import suggest_clip

space = {name: tacit.Float(0.2, 5.0, log=True) for name in names}
space |= {"width": tacit.Float(0.1, 3.0, log=True), "trust": tacit.Float(1.0, 10.0, log=True)}
clip = suggest_clip(lambda params: fitted_losses(params, train), space)""",
    """release = tacit.tune(
    losses,
    space,
    records=len(private),
    bounds=(0.0, 3.0),
    budget=tacit.Budget.approximate(epsilon=4.0, delta=1e-6),
    trials=6,
    method="gibo",
    design="simplex",
    clip=clip,
    progress=False,
)
release""",
]
OUTSOURCE = [
    """# Two parties
A bank publishes a noisy table once and answers for single rows; a consultancy sees both and finds a good applicant. A
real service runs between them, on this machine.""",
    """import sys, tempfile
from pathlib import Path

sys.path.insert(0, "examples")
from outsource import bank, consultancy

import tacit

folder = Path(tempfile.mkdtemp())
ledger = tacit.Ledger.open(folder / "ledger.db", "applicants", tacit.Budget.approximate(2.0, 1e-5))
curator, url, token = bank(folder, ledger)
print(curator.published().guarantee)""",
    "consultancy(url, token)",
    "ledger",
    "curator.close()",
]
TRAIN = [
    """# Train a model that may be published
Every row is protected, and the search for its settings is in the price.""",
    """import sys, tempfile

sys.path.insert(0, "examples")
from train_a_model import patients

import tacit

folder = tempfile.mkdtemp()
ledger = tacit.Ledger.open(f"{folder}/ledger.db", "stays", tacit.Budget.approximate(2.0, 1e-5), composition="basic")
release = tacit.train(
    "logistic",
    patients(2000),
    target="readmitted",
    budget=tacit.Budget.approximate(1.5, 1e-6),
    runs=4,
    ledger=ledger,
)
release""",
    "release.value.model.predict(patients(5).drop(columns=['readmitted'])).tolist()",
    "ledger",
]
STORIES = {
    "publish": PUBLISH,
    "choose-epsilon": EPSILON,
    "many-parameters": MANY,
    "outsource": OUTSOURCE,
    "train": TRAIN,
}


def build(cells: list[str]) -> nbformat.NotebookNode:
    """A notebook; the first cell is words, and so is one that begins with a capital letter."""
    book = nbformat.v4.new_notebook()
    for k, cell in enumerate(cells):
        words = cell[0] == "#" or cell[0].isupper()
        made = nbformat.v4.new_markdown_cell(cell) if words else nbformat.v4.new_code_cell(cell)
        made["id"] = f"cell-{k}"
        book.cells.append(made)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return book


def run(book: nbformat.NotebookNode, folder: Path = HERE.parents[1]) -> nbformat.NotebookNode:
    """Executed, without the times of its cells."""
    NotebookClient(book, timeout=600, kernel_name="python3", record_timing=False).execute(cwd=str(folder))
    for cell in book.cells:
        if cell.cell_type == "code":  # what libraries say on standard error names places on this machine
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data.pop("text/plain", None)
    return book


def main(names: list[str]) -> None:
    for name in names or list(STORIES):
        nbformat.write(run(build(STORIES[name])), HERE / f"{name}.ipynb")
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
