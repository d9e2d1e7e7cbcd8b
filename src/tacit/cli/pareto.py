"""`tacit pareto`: the privacy-utility front of an algorithm, from the shell."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import ALGORITHMS, SEARCHES, DataName, algorithm_names, complete, ledger_names, name_data
from tacit.cli.shell import AsJson, Quiet, explain_stop, is_from_file, processes, remark, this_command
from tacit.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from tacit.pareto.front import Front


def pareto_command(
    ctx: typer.Context,
    algorithm: Annotated[str | None, typer.Argument(help="module:object, an algorithm or a class to call.")] = None,
    named: Annotated[
        str | None, typer.Option("--algorithm", help=f"{', '.join(ALGORITHMS)}.", autocompletion=algorithm_names)
    ] = None,
    table: Annotated[Path | None, typer.Option(help="CSV or Parquet table for a shipped algorithm.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the table to predict.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Public kinds of the columns, in TOML or JSON.")] = None,
    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON instead of its own.")] = None,
    delta: Annotated[float, typer.Option(help="Delta at which epsilon is stated.")] = 1e-6,
    trials: Annotated[int, typer.Option(help="Points to test, startup included.")] = 100,
    startup: Annotated[
        int | None, typer.Option(help="Scattered points before the search; a third, 4 to 16, if left out.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each point.")] = 1,
    reference: Annotated[tuple[float, float], typer.Option(help="Anti-ideal epsilon and error.")] = (10.0, 1.0),
    cost: Annotated[
        float | None, typer.Option(help="A third objective, the algorithm's cost: the worst of interest.")
    ] = None,
    privacy_model: Annotated[
        str, typer.Option(help="exact, or gp as published.", autocompletion=complete("exact", "gp"))
    ] = "exact",
    search: Annotated[
        str,
        typer.Option(
            help=f"{SEARCHES[0]}; or, to compare: {', '.join(SEARCHES[1:])}.", autocompletion=complete(*SEARCHES)
        ),
    ] = "dpareto",
    workers: Annotated[int, typer.Option(help="Points tested at once, in processes.")] = 1,
    storage: Annotated[str | None, typer.Option(help="URL of a study that several machines may share.")] = None,
    study_name: Annotated[str, typer.Option(help="Name of the study in --storage.")] = "pareto",
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Close points in --storage whose process was killed.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for study, CSV, JSON, drawing and page.")] = None,
    data: DataName = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Ask the front about this epsilon; repeatable.")] = None,
    utility: Annotated[list[float] | None, typer.Option(help="Ask it about this utility; repeatable.")] = None,
    test_epsilon: Annotated[float | None, typer.Option(help="Private front: epsilon for the test records.")] = None,
    test_delta: Annotated[float, typer.Option(help="Private front: delta for the test records.")] = 1e-6,
    ledger: Annotated[str | None, typer.Option(help="Private front: ledger of the test set.")] = None,
    ledger_name: Annotated[
        str, typer.Option(help="Name of the ledger in it.", autocompletion=ledger_names)
    ] = "default",
    seed: Annotated[int, typer.Option(help="Of the search and the runs.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show what each epsilon buys, before one is chosen. The front is NOT private unless --test-epsilon is given.

    Run the same command again to go on after an interruption, or with more --trials.

    \b
    Examples:
      tacit pareto --algorithm logistic_sgd --table adult.csv \\
        --target income --trials 100 --out front
      tacit pareto mymodule:algorithm --delta 1e-5 --workers 4 \\
        --storage postgresql://host/studies
    """
    from contextlib import ExitStack

    from tacit.errors import count, positive, probability
    from tacit.pareto import baselines
    from tacit.pareto.discovery import discover, startup_share
    from tacit.pareto.remarks import edge_remarks
    from tacit.privacy.guarantee import loose
    from tacit.run.folder import lock_folder
    from tacit.space import Space

    count("seed", seed, least=0)
    for wanted in epsilon or []:  # before the work, not after it
        positive("epsilon", wanted)
    for wanted in utility or []:
        probability("utility", wanted, zero=True)
    if take_over and storage is None:
        raise BadInput(
            "--take-over is for --storage; the folder of --out is taken over by itself, once nobody holds it"
        )
    if storage is not None and out is not None:
        remark("the study is kept in --storage; --out gets the results", quiet)
    if algorithm is not None and named is not None and is_from_file(ctx, "named"):
        named, table, target = None, *((None, None) if is_from_file(ctx, "table") else (table, target))
    if named is not None and ":" in named and algorithm is None:  # as the file may say it
        algorithm, named = named, None
    made = _algorithm(algorithm, named, table, target, schema, seed)
    if space is not None:
        _replace_space(made, space)
    trained = getattr(getattr(made, "examples", None), "records", 0)
    if trained and (weak := loose(delta, trained)):
        remark(weak, quiet)
    scattered = startup_share(trials) if startup is None else startup
    arguments: dict[str, Any] = {"delta": delta, "trials": trials, "startup": scattered, "repeats": repeats}
    corner = reference if cost is None else (*reference, cost)
    arguments |= {"reference": corner, "privacy_model": privacy_model, "seed": seed, "storage": storage}
    arguments |= {"study_name": study_name, "take_over": take_over}
    told = {name: arguments[name] for name in ("delta", "trials", "startup", "seed")}
    told["reference"] = reference
    arguments["data"] = name_data(made, data, algorithm)
    arguments["sampler"] = baselines.search(search, made, **told)
    if search != "dpareto" and privacy_model != "exact":
        raise BadInput("--privacy-model is DPareto's; leave it out with another --search")
    place = out if storage is None else "the storage"
    kept = f"The points tested so far are kept in {place}. To go on: {this_command()}"
    kept = kept if place else "Nothing is kept: give --out FOLDER or --storage URL to be able to go on"
    with ExitStack() as stack:
        stack.enter_context(explain_stop(kept))
        if out is not None:
            folder = stack.enter_context(lock_folder(out))
            if storage is None:  # we hold the folder, so whoever left trials running is gone
                arguments |= {"storage": folder.storage, "take_over": True}
        if count("workers", workers) > 1:
            arguments["executor"] = stack.enter_context(processes(workers))
        arguments["private"] = _private(test_epsilon, test_delta, ledger, ledger_name, stack)
        front = discover(made, **arguments, progress=not (as_json or quiet))
        files = _write_files(front, out)
    answers = [_ask_front(front, made, epsilon=e) for e in epsilon or []]
    answers += [_ask_front(front, made, utility=u) for u in utility or []]
    for said in edge_remarks(front, Space(made.space)):
        remark(said, quiet)
    if as_json:
        typer.echo(json.dumps({**front.to_json(), "asked": answers, "files": files}, indent=1))
        return
    typer.echo(str(front))
    for a in answers:
        tested, expected = _line(a["tested"]), _line(a["predicted"])
        asked = f"at most epsilon {a['epsilon']:g}" if "epsilon" in a else f"utility {a['utility']:g} or more"
        typer.echo(f"\n{asked}\n  tested     {tested}\n  predicted  {expected}")
    typer.echo("".join(f"\n{name:12} {path}" for name, path in files.items()))


def _algorithm(
    spec: str | None, named: str | None, table: Path | None, target: str | None, schema: Path | None, seed: int
) -> Any:
    if (spec is None) == (named is None):
        raise BadInput(f"give an algorithm as module:object, or a shipped one by --algorithm: {', '.join(ALGORITHMS)}")
    if named is None:
        if table is not None or target is not None:
            raise BadInput("--table and --target are for shipped algorithms: --algorithm NAME")
        from tacit.objective import import_object

        found = import_object(str(spec), "algorithm", "mymodule:algorithm")
        return found() if isinstance(found, type) else found
    from tacit.trainers import load

    made = load(named)
    if not hasattr(made, "from_table"):
        if table is not None:
            raise BadInput(f"algorithm {named!r} takes no table")
        try:
            return made()
        except TypeError:
            raise BadInput(f"algorithm {named!r} needs more than the shell can say: give it as module:object") from None
    if table is None or target is None:
        raise BadInput(f"algorithm {named!r} needs a table of data: --table FILE --target COLUMN")
    from tacit.integrations.files import read_table
    from tacit.schema import Schema

    declared = Schema.read(schema) if schema is not None else None
    from tacit.identity import DataIdentity

    rows = read_table(table, declared)
    built = made.from_table(rows, target, seed=seed, schema=declared)
    built.data = DataIdentity.of_table(
        rows,
        name=table.name,
        target=target,
        declared=declared.to_json() if declared is not None else None,
        use=f"seed {seed}",
    )
    return built


def _private(epsilon: float | None, delta: float, ledger: str | None, name: str, stack: Any) -> Any:
    if epsilon is None:
        if ledger is not None:
            raise BadInput("a ledger pays for a private front: give --test-epsilon")
        return None
    from tacit.pareto.private_front import PrivateTest
    from tacit.privacy.guarantee import Budget
    from tacit.privacy.ledger import Ledger

    opened = stack.enter_context(Ledger.open(ledger, name)) if ledger else None
    return PrivateTest(Budget.approximate(epsilon, delta), opened)


def _replace_space(made: Any, file: Path) -> None:
    """Search within other bounds; the names stay those of the algorithm."""
    from tacit.space import Space

    own, given = Space(made.space), Space.read(file)
    if set(own.names) != set(given.names):
        raise BadInput(
            f"the space of {getattr(made, 'name', 'the algorithm')} has {', '.join(own.names)}; {file} has "
            f"{', '.join(given.names)}. Name all of them, and no other"
        )
    try:
        object.__setattr__(made, "space", Space({name: given.distributions[name] for name in own.names}))
    except AttributeError:
        raise BadInput("this algorithm's space is fixed; change it where it is defined") from None


def _ask_front(front: Front, algorithm: Any, **about: float) -> dict[str, Any]:
    answer: dict[str, Any] = dict(about)
    for name, ask in (("tested", front.at), ("predicted", partial(front.predict, algorithm))):
        try:
            answer[name] = ask(**about).to_json()
        except BadInput as none:
            answer[name] = str(none)
    return answer


def _line(found: dict[str, Any] | str) -> str:
    """A point in a line, or why there is none."""
    if isinstance(found, str):
        return found
    ends = f"95% interval {found['low']:.4f} to {found['high']:.4f}" if found.get("low") is not None else ""
    runs = f"runs {found['worst']:.4f} to {found['best']:.4f}" if "worst" in found else ""
    what = "; ".join(filter(None, (ends, runs)))
    params = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in found["params"].items())
    return f"epsilon {found['epsilon']:.4g}, utility {found['utility']:.4f} ({what}): {params}"


def _write_files(front: Front, out: Path | None) -> dict[str, str]:
    if out is None:
        return {}
    from tacit.report.pages.front import write
    from tacit.run.folder import Folder

    files = {"csv": front.to_csv(out / "front.csv"), "json": front.save(out / "front.json")}
    files |= {"drawing": front.plot().save(out / "front.svg"), "page": write(front, out / "front.html")}
    try:
        files["picture"] = front.plot().save(out / "front.png")
    except MissingExtra as missing:
        typer.echo(f"tacit: no front.png: {missing}", err=True)
    if front.private:
        files["certificate"] = Folder(out).write_certificate(front.release())
    return {name: str(path) for name, path in files.items()}
