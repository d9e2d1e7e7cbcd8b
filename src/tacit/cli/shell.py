"""How every verb behaves in a shell: exit codes, signals, pipes, one line for a refusal, nothing private in it.

0 done · 1 failed · 2 bad usage · 3 budget refused · 130 Ctrl-C · 143 SIGTERM
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from tacit.data import identity
from tacit.errors import (
    BadInput,
    BudgetRefused,
    GuaranteeError,
    MissingExtra,
    NoLedger,
    PrivacyWarning,
    TacitError,
    clean,
    is_storage_error,
)
from tacit.files import Json

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from tacit.privacy.release import Release

DONE, FAILED, USAGE, REFUSED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
DEBUG = "TACIT_DEBUG"
PLAIN: Any = {"no_args_is_help": True, "rich_markup_mode": None}  # of a group of verbs
UsageError: Any = typer.BadParameter.__base__  # Click's own, or the copy that newer versions of Typer carry

PASSWORD = re.compile(r"(://[^/@\s:]*:)[^/@\s]+@")


class VerbGroup(typer.core.TyperGroup):
    """Verbs in an order of our own. Hears Ctrl-C wherever no verb has something to say about it."""

    order: tuple[str, ...] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: self.order.index(name) if name in self.order else len(self.order))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["tacit.words"] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with explain_stop(""):
            return super().invoke(ctx)


class Terminated(KeyboardInterrupt):
    """SIGTERM, heard where Ctrl-C is."""


class Stopped(TacitError):
    """Ctrl-C or SIGTERM, with what was kept and how to go on."""

    def __init__(self, by: KeyboardInterrupt, kept: str) -> None:
        self.code = TERMINATED if isinstance(by, Terminated) else INTERRUPTED
        super().__init__(f"{'terminated' if self.code == TERMINATED else 'interrupted'}. {kept}".rstrip())


def print_result(document: Any, as_json: bool, text: str, *, released: bool = False) -> None:
    """One JSON document, or text for a person. What was ``released`` is released, whether or not anybody reads it."""
    try:
        typer.echo(json.dumps(document, indent=1) if as_json else clean(text))
    except OSError:
        if not released:
            raise
        _silence_stdout(DONE)
        remark("the release was made and paid for; it could not be shown, since nobody reads standard output")


def read_certificate(release: Release[Any], paths: dict[str, str]) -> Json:
    """The certificate in the folder, with the date of its making, or one of now if there is no folder."""
    file = paths.get("certificate")
    document: Json = release.certificate() if file is None else json.loads(Path(file).read_text())
    return document


def format_certified(lines: list[str], release: Release[Any], paths: dict[str, str]) -> str:
    """What was released, in lines, with its guarantee, who paid, and the files that were written."""
    from tacit.privacy.release import format_guarantee

    paid = release.payment
    lines = [*lines, "", "Guarantee", *format_guarantee(release.guarantee), ""]
    lines.append(f"Paid by entry {paid.entry} of ledger {paid.name!r}." if paid else "Not charged to any ledger.")
    return "\n".join([*lines, *(f"{name:12} {path}" for name, path in paths.items())])


def remark(text: str, quiet: bool = False) -> None:
    """A line for a person on standard error."""
    if not quiet:
        typer.echo(f"tacit: {text}", err=True)


def ask_person(question: str, default: Any = None) -> Any:
    """The answer of a person: asked on standard error alone, where Typer's own prompt leaves a blank on both."""
    while True:
        typer.echo(f"{question}{'' if default is None else f' [{default}]'}: ", err=True, nl=False)
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        if line.strip() or default is not None:
            return line.strip() or default


def is_from_file(ctx: typer.Context, name: str) -> bool:
    """Whether a parameter has its value from the configuration, so that the command line may overrule it."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT_MAP"


def is_from_environment(ctx: typer.Context, name: str) -> bool:
    """Whether a parameter has its value from the environment, which speaks to every verb."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "ENVIRONMENT"


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether a parameter was given at all: on the line, by the environment or by the configuration."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def this_command() -> str:
    """The command that is running, to be typed again; a password in it is left out."""
    return mask_passwords(shlex.join(["tacit", *sys.argv[1:]]))


def mask_passwords(text: str) -> str:
    """Without the passwords of its URLs.

    >>> mask_passwords("postgresql://officer:hunter2@db/privacy")
    'postgresql://officer:***@db/privacy'
    """
    return PASSWORD.sub(r"\1***@", text)


@contextmanager
def explain_stop(kept: str) -> Iterator[None]:
    """Work that may be interrupted; ``kept`` says what is left of it and how to go on."""
    try:
        yield
    except BaseException as error:
        if stop := _interruption(error):
            raise Stopped(stop, kept) from None
        raise


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C behind an error: a database that is left in the middle of a write may complain while we tidy up."""
    while error is not None and not isinstance(error, (KeyboardInterrupt, Stopped)):
        error = error.__context__
    return error if isinstance(error, KeyboardInterrupt) else None


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that leaves Ctrl-C to its parent, which then ends it at once: what workers hold would be lost anyway.

    Workers end when their parent does, however it ends.
    """
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(workers, initializer=_follow_parent)
    try:
        yield pool
    except BaseException:
        running = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        raise
    pool.shutdown()


def _follow_parent() -> None:
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="tacit-parent", daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)  # what this worker evaluates is for nobody


@contextmanager
def _write_for_owner_alone() -> Iterator[None]:
    """Whatever the command writes is its owner's alone, by whichever library; who publishes a page opens it up."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def run(app: Callable[..., Any]) -> int:
    """Run the command and return its exit code; whatever goes wrong becomes one line on standard error."""
    identity.command = this_command()
    with _hear_sigterm(), _write_for_owner_alone(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the verbs remark on it themselves, in one line
        try:
            code = app(prog_name="tacit", standalone_mode=False)
            if sys.stdout is not None:  # it may be closed from the beginning
                sys.stdout.flush()
            return code if isinstance(code, int) else DONE
        except KeyboardInterrupt as stop:
            return _fail(str(Stopped(stop, "")), Stopped(stop, "").code)
        except typer.Abort:
            return _fail("no answer. Nothing was done", FAILED)
        except UsageError as error:
            return _usage(error)
        except TacitError as error:
            return _fail(_in_shell_words(error), _code(error))
        except BrokenPipeError:
            return _silence_stdout(FAILED)
        except OSError as error:
            where = Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else "standard output"
            text = (
                f"{where} cannot be used: {error.strerror or type(error).__name__}. Make room, or choose another place"
            )
            return _silence_stdout(_fail(text, FAILED))
        except Exception as error:
            if os.environ.get(DEBUG):
                traceback.print_exc()
            return _fail(_defect(error), FAILED)


def _in_shell_words(error: TacitError) -> str:
    """The refusal with a remedy that can be typed."""
    if isinstance(error, NoLedger):
        make = f"tacit ledger open {error.name} --ledger {error.place} --epsilon 1 --delta 1e-6"
        return f"{error.message} To make it: {make}"
    return str(error)


def _code(error: TacitError) -> int:
    if isinstance(error, Stopped):
        return error.code
    usage = isinstance(error, (BadInput, GuaranteeError, MissingExtra))
    return REFUSED if isinstance(error, BudgetRefused) else USAGE if usage else FAILED


def _fail(text: str, code: int) -> int:
    with suppress(OSError):
        typer.echo(f"tacit: {clean(text)}", err=True)
    return code


def _usage(error: Any) -> int:
    """Click's refusal in one line; a verb that was given nothing shows its help, on standard error."""
    message = " ".join(error.format_message().split())
    if message.startswith("Usage:"):
        typer.echo(error.format_message(), err=True)
        return USAGE
    if getattr(error, "option_name", "") == "--config":
        message = "--config stands before the verb: tacit --config FILE VERB"
    path = error.ctx.command_path if error.ctx else " ".join(["tacit", *_verb(sys.argv[1:])])
    return _fail(f"{message}{'' if message[-1:] in '.?' else '.'} See {path} --help", USAGE)


def _verb(words: list[str]) -> list[str]:
    """The words that name a verb: Click forgets them where an option lacks its value."""
    from itertools import takewhile

    named = list(takewhile(lambda word: not word.startswith("-"), words))
    return named[: 2 if named[:1] in (["ledger"], ["curator"], ["modeler"]) else 1]


def _defect(error: Exception) -> str:
    """Type and place only: a message may quote the data."""
    if is_storage_error(error):
        return (
            f"the study's storage failed ({type(error).__name__}): no room, no permission, or a database that is gone "
            f"or was changed. What was stored before is kept. When it works again: {this_command()}"
        )
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "an unknown place"
    return (
        f"{type(error).__name__} in {place}, which tacit did not expect. Run again with {DEBUG}=1 for the whole "
        "trace, which may show private values"
    )


def _silence_stdout(code: int) -> int:
    """Nobody reads standard output any more: nothing else is written there, not even at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


@contextmanager
def _hear_sigterm() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_terminated(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
