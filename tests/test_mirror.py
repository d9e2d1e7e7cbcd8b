"""Tests stand where what they test stands: every module has a test of its name, or a line here that says which.

`src/tacit/gp/exact.py` is tested by `tests/gp/test_exact.py`, a package by `test_` and its name in it or beside it.
"""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "tacit"
SMALL = 8  # lines: a docstring and little else
ELSEWHERE = {  # a test, and modules of no test of their own name that it covers
    "audit/games/test_claims.py": "audit/games/mechanisms audit/games/one_run audit/games/others audit/games/tuned",
    "audit/games/test_games.py": "audit/games/fronts",
    "audit/test_bounds.py": "audit",
    "audit/test_recorder.py": "audit/observer",
    "cli/test_curator_init.py": "cli/curator_folder cli/curator_options",
    "cli/test_train.py": "cli/predict",
    "cli/test_tune.py": "cli/problem",
    "gp/test_design.py": "gp/threads",
    "gp/test_exact.py": "gp/form",
    "integrations/test_mlflow.py": "integrations/mlflow_model",
    "integrations/test_sklearn.py": "integrations/sklearn_losses",
    "report/test_notebook.py": "notebook",
    "integrations/test_table.py": "integrations/predictions integrations/table_models",
    "data/metrics/test_metrics.py": "data/metrics/metric data/metrics/names data/metrics/objective "
    "data/metrics/pairs data/metrics/reading",
    "data/test_files.py": "data/text_files",
    "data/test_schema.py": "data/matrix",
    "laws/test_cell_law.py": "data/cells data/columns data/containers data/table",
    "data/test_units.py": "methods/privacy_unit",
    "laws/test_method_laws.py": "methods/forecast methods/neighbours methods/search methods/task "
    "methods/gibo/neighbours methods/kusner/neighbours",
    "laws/test_recorded_draws.py": "privacy/worst_pair training/worst_pairs",
    "laws/test_trainer_laws.py": "training/trainer training/learn",
    "laws/test_claims_laws.py": "privacy/claim_store",
    "laws/test_engine_laws.py": "run/clusters run/engine",
    "methods/gibo/test_gibo.py": "methods/gibo/design",
    "methods/kusner/test_kusner.py": "methods/kusner/problem",
    "methods/test_observed.py": "methods/tuned",
    "methods/test_optimiser.py": "methods/sampler run/sampler run/study_trials",
    "methods/test_tune.py": "run/folder",
    "outsource/curator/test_curator.py": "outsource/curator/locks outsource/curator/payments outsource/curator/queries "
    "outsource/curator/rows outsource/curator/tables",
    "outsource/curator/test_server.py": "outsource/curator/app outsource/curator/worker outsource/protocol/wire",
    "outsource/modeler/test_modeler.py": "outsource/modeler/noisy_inputs",
    "outsource/protocol/test_frames.py": "outsource/protocol/terms",
    "outsource/test_two_processes.py": "cli/curator cli/modeler outsource/modeler/client",
    "pareto/test_acquisition.py": "pareto/surrogate",
    "pareto/test_baselines.py": "pareto/botorch training/random_search",
    "pareto/test_discovery.py": "pareto pareto/algorithm pareto/sampler",
    "pareto/test_queries.py": "pareto/estimates",
    "pareto/test_front.py": "pareto/chart",
    "planning/test_plan.py": "planning/chart planning/measured planning/recommend planning/rows planning/table "
    "methods/gibo/preview methods/kusner/preview",
    "privacy/ledger/test_ledger.py": "privacy/ledger/address privacy/ledger/chain privacy/ledger/file "
    "privacy/ledger/server privacy/ledger/store",
    "privacy/ledger/test_standby.py": "privacy/ledger/witness",
    "privacy/ledger/test_tampering.py": "privacy/ledger/tables",
    "privacy/test_lot_accounting.py": "accounting privacy/lot_calibration",
    "privacy/test_loss_distribution.py": "privacy/dominating_pairs privacy/loss_profile",
    "privacy/test_signing.py": "privacy/origin",
    "privacy/test_selection.py": "privacy/published_selection",
    "report/test_dashboard.py": "cli/dashboard",
    "run/test_loop.py": "run/evaluate",
    "run/test_shards.py": "run/frames",
    "test_locks.py": "files",
    "test_public_names.py": "__init__",
    "training/test_baseline.py": "training/preparation",
    "training/test_registry.py": "pareto/algorithms",
    "training/test_dp_sgd.py": "training/by_lots training/examples training/linear training/lots",
    "training/test_ebm.py": "training/additive training/model_files",
    "training/test_torch_descent.py": "training/dense",
    "training/test_train.py": "report/pages/trained training/linear_losses training/private_table "
    "training/secret_lots training/secret_search training/trained",
}


def modules() -> dict[str, list[Path]]:
    """Every module, a package by the name of its folder, with the tests that would be of its name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if len(path.read_text().splitlines()) > SMALL:
            name = path.relative_to(SOURCE).with_suffix("")
            if name.name == "__init__" and len(name.parts) > 1:
                name = name.parent
                beside = [TESTS / name / f"test_{name.name}.py"]
            else:
                beside = []
            found[name.as_posix()] = [TESTS / name.parent / f"test_{name.name}.py", *beside]
    return found


def test_every_module_has_a_test_of_its_name_or_a_line_here() -> None:
    listed = {name for names in ELSEWHERE.values() for name in names.split()}
    bare = {name for name, tests in modules().items() if not any(t.exists() for t in tests)}
    assert bare - listed == set(), "write a test of its name, or name the test that covers it in ELSEWHERE"
    assert listed - bare == set(), "these have a test of their name, or are gone: take their names out of ELSEWHERE"


def test_every_test_that_is_named_exists() -> None:
    assert [name for name in ELSEWHERE if not (TESTS / name).exists()] == []
