"""`tacit pareto`: the privacy-utility front of an algorithm, from the shell."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tacit.cli.options import (
    ALGORITHMS,
    SEARCHES,
    BudgetOptions,
    DataName,
    EngineOptions,
    LedgerOptions,
    OutputOptions,
    StudyOptions,
    TableOptions,
    complete,
    name_data,
)
from tacit.cli.shell import explain_stop, is_from_environment, is_from_file, print_result, remark, this_command
from tacit.errors import BadInput, MissingExtra, count
from tacit.files import Json

if TYPE_CHECKING:
    from tacit.pareto.front import Front
    from tacit.privacy.ledger import Ledger


@dataclass(frozen=True)
class FrontOptions:
    """How points are chosen and tested."""

    TITLE: ClassVar = "Search"

    space: Annotated[Path | None, typer.Option(help="Search space in TOML or JSON instead of its own.")] = None
    delta: Annotated[
        float | None, typer.Option(help="At which epsilon is stated; min(1e-6, 1/(10 n)) for n records if left out.")
    ] = None
    trials: Annotated[int, typer.Option(help="Points to test, startup included.")] = 100
    startup: Annotated[
        int | None, typer.Option(help="Scattered points before the search; a third, 4 to 16, if left out.")
    ] = None
    repeats: Annotated[int, typer.Option(help="Runs of each point.")] = 1
    reference: Annotated[tuple[float, float], typer.Option(help="Anti-ideal epsilon and error.")] = (10.0, 1.0)
    cost: Annotated[
        float | None, typer.Option(help="A third objective, the algorithm's cost: the worst of interest.")
    ] = None
    privacy_model: Annotated[
        str | None,
        typer.Option(
            help="exact, gp, or published; else by the parameters.",
            autocompletion=complete("exact", "gp", "published"),
        ),
    ] = None
    search: Annotated[
        str,
        typer.Option(
            help=f"{SEARCHES[0]}; or, to compare: {', '.join(SEARCHES[1:])}.", autocompletion=complete(*SEARCHES)
        ),
    ] = "dpareto"

    def sampler(self, algorithm: Any, delta: float, seed: int) -> Any:
        """What chooses points; None for DPareto."""
        from tacit.pareto import baselines

        if self.search != "dpareto" and self.privacy_model is not None:
            raise BadInput("--privacy-model is DPareto's; leave it out with another --search")
        return baselines.search(
            self.search,
            algorithm,
            delta=delta,
            trials=self.trials,
            startup=self.scattered,
            seed=seed,
            reference=self.reference,
        )

    @property
    def scattered(self) -> int:
        """Points before the search."""
        from tacit.pareto.discovery import startup_share

        return startup_share(self.trials) if self.startup is None else self.startup


@dataclass(frozen=True)
class PrivateOptions:
    """Makes the front itself private, for the records it is tested on."""

    TITLE: ClassVar = "Private front"

    test_epsilon: Annotated[float | None, typer.Option(help="Epsilon for the test records.")] = None
    test_delta: Annotated[float | None, typer.Option(help="Its delta; min(1e-6, 1/(10 n)) if left out.")] = None

    def test(self, paid: Ledger | None, records: int) -> Any:
        """What is paid for the test records; None for a front that is not private."""
        from tacit.pareto.private_front import PrivateTest

        if self.test_epsilon is None:
            return None
        return PrivateTest(BudgetOptions(self.test_epsilon, self.test_delta).budget(records), paid)


def pareto_command(
    ctx: typer.Context,
    table: TableOptions,
    how: FrontOptions,
    private: PrivateOptions,
    ledger: LedgerOptions,
    shared: StudyOptions,
    engine: EngineOptions,
    output: OutputOptions,
    algorithm: Annotated[
        str | None, typer.Argument(metavar="MODULE:OBJECT", help="An algorithm or a class to call.")
    ] = None,
    named: Annotated[
        str | None, typer.Option("--algorithm", help=f"{', '.join(ALGORITHMS)}.", autocompletion=complete(*ALGORITHMS))
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Close points in --storage whose process was killed.")
    ] = False,
    data: DataName = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Ask the front about this epsilon; repeatable.")] = None,
    utility: Annotated[list[float] | None, typer.Option(help="Ask it about this utility; repeatable.")] = None,
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
    from tacit.errors import positive, probability
    from tacit.pareto.discovery import discover
    from tacit.pareto.remarks import edge_remarks
    from tacit.privacy.guarantee import default_delta, loose
    from tacit.run.folder import lock_folder
    from tacit.space import Space

    count("seed", engine.seed, least=0)
    for wanted in epsilon or []:  # before the work, not after it
        positive("epsilon", wanted)
    for wanted in utility or []:
        probability("utility", wanted, zero=True)
    out, storage = output.out, shared.storage
    if take_over and storage is None:
        raise BadInput(
            "--take-over is for --storage; the folder of --out is taken over by itself, once nobody holds it"
        )
    if private.test_epsilon is None and ledger.ledger is not None:
        if not is_from_environment(ctx, "ledger"):
            raise BadInput("a ledger pays for a private front: give --test-epsilon")
        ledger = LedgerOptions()
    if storage is not None and out is not None:
        output.remark("the study is kept in --storage; --out gets the results")
    if algorithm is not None and named is not None and is_from_file(ctx, "named"):
        named, table = None, TableOptions() if is_from_file(ctx, "table") else table
    if named is not None and ":" in named and algorithm is None:  # as the file may say it
        algorithm, named = named, None
    subject = _algorithm(algorithm, named, table, engine.seed)
    if how.space is not None:
        _replace_space(subject, how.space)
    trained = getattr(getattr(subject, "examples", None), "records", 0)
    delta = default_delta(trained) if how.delta is None else how.delta
    if trained and (weak := loose(delta, trained)):
        output.remark(weak)
    sampler = how.sampler(subject, delta, engine.seed)
    place = out if storage is None else "the storage"
    leftovers = f"The points tested so far are kept in {place}. To go on: {this_command()}"
    leftovers = leftovers if place else "Nothing is kept: give --out FOLDER or --storage URL to be able to go on"
    with ExitStack() as stack:
        stack.enter_context(explain_stop(leftovers))
        folder = stack.enter_context(lock_folder(out)) if out is not None else None
        held = folder is not None and storage is None  # then the process that left trials running is gone
        pool = stack.enter_context(engine.pool())
        paid = stack.enter_context(ledger.open())
        front = discover(
            subject,
            delta=delta,
            trials=how.trials,
            startup=how.scattered,
            repeats=how.repeats,
            reference=how.reference if how.cost is None else (*how.reference, how.cost),
            privacy_model=how.privacy_model,
            sampler=sampler,
            seed=engine.seed,
            storage=folder.storage if folder is not None and held else storage,
            study_name=shared.study or "pareto",
            take_over=take_over or held,
            executor=pool,
            private=private.test(paid, getattr(subject, "records", 0)),
            data=name_data(subject, data, algorithm),
            progress=output.progress,
        ).value
        files = _write_files(front, out)
    answers = [_ask_front(front, subject, epsilon=e) for e in epsilon or []]
    answers += [_ask_front(front, subject, utility=u) for u in utility or []]
    output.remark(*edge_remarks(front, Space(subject.space)))
    lines = [str(front)]
    for a in answers:
        tested, expected = _line(a["tested"]), _line(a["predicted"])
        asked = f"at most epsilon {a['epsilon']:g}" if "epsilon" in a else f"utility {a['utility']:g} or more"
        lines.append(f"\n{asked}\n  tested     {tested}\n  predicted  {expected}")
    lines.append("".join(f"\n{name:12} {path}" for name, path in files.items()))
    print_result({**front.to_json(), "asked": answers, "files": files}, output.as_json, "\n".join(lines))


def _algorithm(spec: str | None, named: str | None, table: TableOptions, seed: int) -> Any:
    if (spec is None) == (named is None):
        raise BadInput(f"give an algorithm as module:object, or a shipped one by --algorithm: {', '.join(ALGORITHMS)}")
    if named is None:
        if table.table is not None or table.target is not None:
            raise BadInput("--table and --target are for shipped algorithms: --algorithm NAME")
        from tacit.objective import import_object

        target = import_object(str(spec), "algorithm", "mymodule:algorithm")
        return target() if isinstance(target, type) else target
    from tacit.pareto.algorithms import load_algorithm

    shipped = load_algorithm(named)
    if not hasattr(shipped, "from_table"):
        if table.table is not None:
            raise BadInput(f"algorithm {named!r} takes no table")
        try:
            return shipped()
        except TypeError:
            raise BadInput(f"algorithm {named!r} needs more than the shell can say: give it as module:object") from None
    if table.table is None or table.target is None:
        raise BadInput(f"algorithm {named!r} needs a table of data: --table FILE --target COLUMN")
    import numpy as np

    from tacit.data.files import read_table
    from tacit.data.identity import DataIdentity
    from tacit.data.units import number_persons

    declared, person = table.read_schema(), table.person
    rows = read_table(table.file, declared)
    table.refuse_missing(rows.names)
    if person is not None:  # the first of theirs, so that a person is a record
        rows = rows.take(np.unique(number_persons(rows[person], len(rows)), return_index=True)[1])
    rows = rows.drop([*(table.drop or ()), *([person] if person else [])])
    built = shipped.from_table(rows, table.column, seed=seed, schema=declared)
    built.data = DataIdentity.of_table(
        rows,
        name=table.file.name,
        target=table.column,
        declared=declared.to_json() if declared is not None else None,
        use=f"seed {seed}" + (f", one row of each {person!r}" if person else ""),
    )
    return built


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


def _ask_front(front: Front, algorithm: Any, **about: float) -> Json:
    answer: Json = dict(about)
    for name, ask in (("tested", front.at), ("predicted", partial(front.predict, algorithm))):
        try:
            answer[name] = ask(**about).to_json()
        except BadInput as none:
            answer[name] = str(none)
    return answer


def _line(found: Json | str) -> str:
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
        remark(f"no front.png: {missing}")
    if front.private:
        files["certificate"] = Folder(out).write_certificate(front.release())
    return {name: str(path) for name, path in files.items()}
