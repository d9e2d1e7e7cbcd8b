"""`tacit audit`: claimed against measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import games
from tacit.cli.shell import AsJson, Quiet, again, keeping, processes
from tacit.errors import BadInput, ObjectiveError, count, differences

if TYPE_CHECKING:
    from tacit.audit.games.one_run import OneRun
    from tacit.audit.play import Audit, Game


def audit_command(
    method: Annotated[
        str | None, typer.Argument(help="A method, or module:mechanism; none lists them.", autocompletion=games)
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Runs on each data set, fixed in advance.")] = None,
    confidence: Annotated[float, typer.Option(help="That the bound holds.")] = 0.99,
    exact: Annotated[bool | None, typer.Option("--exact/--simulated", help="Release-grade or seeded noise.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that run parts of the game.")] = 1,
    epsilon: Annotated[float | None, typer.Option(help="What a mechanism of yours claims.")] = None,
    delta: Annotated[float | None, typer.Option(help="With --epsilon.")] = None,
    mu: Annotated[float | None, typer.Option(help="The same as mu-GDP.")] = None,
    rows: Annotated[Path | None, typer.Option(help="With outsource: your own table, CSV or Parquet.")] = None,
    columns: Annotated[str | None, typer.Option(help="With outsource: its columns, with commas between.")] = None,
    scale: Annotated[str | None, typer.Option(help="With outsource: public divisors of the columns.")] = None,
    seed: Annotated[int, typer.Option(help="Of simulated noise.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the runs, the page and the picture.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure what is promised: a lower bound on epsilon from outputs alone. Exit code 1 if it exceeds the claim.

    A mechanism of your own is a function of the side: mechanism(0) and mechanism(1), one output on each data set.

    \b
    Examples:
      tacit audit laplace
      tacit audit observed --trials 1000 --workers 2 --out audit
      tacit audit outsource --rows loans.csv --columns amount,rate,income \\
        --scale 9000,0.04,5e4
      tacit audit my_module:mechanism --epsilon 1
    """
    from tacit.audit import picture
    from tacit.audit.games import GAMES, game
    from tacit.cli.main import _budget

    count("seed", seed, least=0)
    if method == "outsource":
        if mu is not None or out is not None:
            raise BadInput(
                "tacit audit outsource takes --epsilon and --delta, and prints its picture: no --mu, no --out"
            )
        amount = (3.0 if epsilon is None else epsilon, 1e-5 if delta is None else delta)
        return _outsource(rows, columns, scale, *amount, seed, as_json)
    if rows is not None or columns is not None or scale is not None:
        raise BadInput("--rows, --columns and --scale go with tacit audit outsource")
    if method is None:
        known = [{"method": name, "claim": str(g.claim or "none"), "about": g.about} for name, g in _all(GAMES)]
        known.append(
            {"method": "outsource", "claim": "none", "about": "the known-row attack on a table of yours: --rows"}
        )
        wide = [max(len(k[part]) for k in known) for part in ("method", "claim")]
        shown = "\n".join(f"{k['method']:{wide[0]}}  {k['claim']:{wide[1]}}  {k['about']}" for k in known)
        return typer.echo(json.dumps(known, indent=1) if as_json else shown)
    claim = _budget(epsilon, delta, None, mu)
    if claim is not None and ":" not in method:
        raise BadInput(f"the claim of {method!r} is its own; --epsilon and --mu are for module:mechanism")
    made = game(method, claim)
    with keeping(_left(out)):
        audit = _audited(
            method, made, trials, confidence, exact, count("workers", workers), seed, out, as_json or quiet
        )
    document = audit.to_json()
    if out is not None:
        from tacit.report.pages.audit import page

        made_of = {"json": json.dumps(document, indent=1), "html": page([document]).html(), "svg": picture.svg(audit)}
        for ending, content in made_of.items():
            (out / f"audit.{ending}").write_text(content + "\n", encoding="utf-8")
        document["files"] = [str(out / f"audit.{ending}") for ending in made_of]
    files = "".join(f"\nwrote {file}" for file in document.get("files", []))
    typer.echo(json.dumps(document, indent=1) if as_json else picture.text(audit) + files)
    if audit.verdict == "BROKEN":
        raise typer.Exit(1)


def _outsource(
    rows: Path | None, columns: str | None, scale: str | None, epsilon: float, delta: float, seed: int, as_json: bool
) -> None:
    """The known-row attack on a user's own table."""
    from tacit.audit.games.outsourced import attack_table, to_json, told
    from tacit.cli.outsource import _numbers
    from tacit.outsource.curator.rows import numbers, read

    if rows is None:
        raise BadInput("tacit audit outsource needs --rows FILE: the table whose publication is to be tried")
    frame = read(rows)
    wanted = [c.strip() for c in columns.split(",")] if columns else list(frame.columns)
    missing = [c for c in wanted if c not in frame.columns]
    if missing:
        raise BadInput(f"there is no column {missing[0]!r} in {rows.name}; name columns that are there")
    found = attack_table(numbers(frame[wanted]), epsilon=epsilon, delta=delta, scale=_numbers(scale), seed=seed)
    size = (len(frame), len(wanted))
    document = {"rows": size[0], "columns": size[1], "epsilon": epsilon, "delta": delta, "attack": to_json(found)}
    typer.echo(json.dumps(document, indent=1) if as_json else told(found, size))


def _all(known: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, Any]]:
    for name, make in known.items():
        yield name, make()


def _audited(
    method: str,
    made: Game | OneRun,
    trials: int | None,
    confidence: float,
    exact: bool | None,
    workers: int,
    seed: int,
    out: Path | None,
    quiet: bool,
) -> Audit:
    import time

    import numpy as np

    from tacit.audit.games.one_run import OneRun
    from tacit.audit.play import EXACTLY, SIMULATED, chunks, scored

    if isinstance(made, OneRun):
        _kept(out, {"method": method, "seed": seed, "exact": exact})
        return made.audit(confidence=confidence, exact=exact, seed=seed)
    real = made.exact if exact is None else exact
    runs = count("trials", made.runs if trials is None else trials, least=40)
    folder = _kept(out, {"method": method, "trials": runs, "seed": seed, "exact": real})
    sizes, start = chunks(made, runs), time.perf_counter()
    todo = [(side, number, size) for number, size in enumerate(sizes) for side in (0, 1)]
    with _progress(2 * runs, not quiet) as tell:
        parts = _drawn(method, made, todo, real, seed, workers, folder, tell)
    sides = [np.concatenate([parts[s, n, k] for s, n, k in todo if s == side]) for side in (0, 1)]
    seconds = time.perf_counter() - start
    return scored(made, *sides, confidence=confidence, seconds=seconds, noise=EXACTLY if real else SIMULATED)


def _drawn(
    method: str, made: Game, todo: list[Any], exact: bool, seed: int, workers: int, folder: Path | None, tell: Any
) -> dict[Any, Any]:
    """The outputs of every part: read where they were kept, drawn otherwise, here or in processes."""
    from concurrent.futures import BrokenExecutor

    import numpy as np

    from tacit.audit.games import part
    from tacit.audit.play import chunk

    found = {}
    for key in todo:
        file = folder / "{}-{}-{}.npy".format(*key) if folder else None
        if file is not None and file.exists():
            found[key] = np.load(file, allow_pickle=False)
            tell(key[2])
    left = [key for key in todo if key not in found]

    def keep(key: Any, outputs: Any) -> None:
        found[key] = outputs
        if folder is not None:
            partial = folder / "part.npy.part"
            with partial.open("wb") as file:
                np.save(file, outputs, allow_pickle=False)
            partial.replace(folder / "{}-{}-{}.npy".format(*key))
        tell(key[2])

    if workers == 1 or not left:
        for key in left:
            keep(key, chunk(made, *key, exact=exact, seed=seed))
        return found
    with processes(min(workers, len(left))) as pool:
        futures = {(s, n, k): pool.submit(part, method, s, n, k, exact, seed) for s, n, k in left}
        try:
            for key, future in futures.items():
                keep(key, future.result())
        except BrokenExecutor:
            died = "a worker died: it was killed, ran out of memory, or the mechanism ended it"
            raise ObjectiveError(f"{died}. {_left(folder and folder.parent)}") from None
    return found


def _left(out: Path | None) -> str:
    """What an end before the end leaves, and how to go on."""
    if out is None:
        return "Nothing is kept: give --out FOLDER to be able to go on"
    return f"The runs made so far are kept in {out}. To go on: {again()}"


def _kept(out: Path | None, terms: dict[str, Any]) -> Path | None:
    """The folder of finished parts; refuses runs of another game, or another number: that choice is made in advance."""
    if out is None:
        return None
    folder, wanted = out / "runs", json.dumps(terms, sort_keys=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "terms.json"
        if file.exists() and file.read_text() != wanted:
            raise BadInput(f"{out} holds other runs: {differences(file.read_text(), wanted)}. Give another folder")
        file.write_text(wanted)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    return folder


@contextmanager
def _progress(runs: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    if not (wanted and sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("auditing", total=runs)
        yield lambda done: bar.advance(task, done)
