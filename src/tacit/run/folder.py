"""The output folder of a run: what is released is written there, by one run at a time."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tacit import locks
from tacit.errors import BadInput, BudgetRefused, GuaranteeError, TacitError
from tacit.files import Json, create_private, create_private_folder
from tacit.privacy.release import Release


class Folder:
    """An output folder: study.db, trials.csv, certificate.json. One run at a time writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def storage(self) -> str:
        """The URL of the study here, in a file of ours alone: who can write it can claim draws that were not paid."""
        create_private(self.path / "study.db")
        return f"sqlite:///{(self.path / 'study.db').resolve()}"

    def write_certificate(self, release: Release[Any]) -> Path:
        """What ``tacit verify`` checks; whole or not there, whenever the process dies.

        Edges. A certificate of this very release that is there is left as it is: it has its date, and may be signed.
        """
        place, temporary = self.path / "certificate.json", self.path / "certificate.json.part"
        certificate = release.certificate()
        if not _states_the_same(place, certificate):
            temporary.write_text(json.dumps(certificate, indent=1) + "\n")
            temporary.replace(place)
        return place

    def hide_start(self) -> None:
        """Date the lock anew: it was taken when the run began, and with the certificate's date tells how long it took.

        For runs whose duration is secret. What a file system notes of a file's birth does not go with a copy of it.
        """
        os.utime(self.path / ".lock")

    def write_trials(self, rows: list[Json]) -> None:
        """Parameters and noisy values, one line for each observation."""
        names = sorted({name for row in rows for name in row["params"]})
        with (self.path / "trials.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            also = [name for name in ("constraint",) if any(name in row for row in rows)]
            writer.writerow(["trial", *names, "value", *also])
            for i, row in enumerate(rows):
                writer.writerow([i, *map(row["params"].get, names), row["value"], *map(row.get, also)])


def _states_the_same(place: Path, certificate: Json) -> bool:
    try:
        before = json.loads(place.read_text())
        return all(before.get(name) == certificate[name] for name in ("value", "digest", "guarantee", "payment"))
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def lock_folder(out: str | Path) -> Iterator[Folder]:
    """Hold an output folder for one run; a second run at the same time is refused."""
    path = Path(out)
    fresh = not (path / "study.db").exists()
    try:
        create_private_folder(path)
        held = locks.lock(path / ".lock")
    except OSError as error:
        raise BadInput(f"the output folder {path} cannot be written: {error.strerror}. Nothing was spent") from None
    except locks.Taken as holder:
        raise TacitError(
            f"another run is writing to {path}: {holder}. Wait for it, or end it and run the same line again: that "
            "goes on where it stopped and pays nothing twice. Another folder would be paid for anew"
        ) from None
    try:
        yield Folder(path)
    except (BadInput, BudgetRefused, GuaranteeError):
        if fresh:
            _forget_refused(path / "study.db")
        raise
    finally:
        locks.release(held)


def _forget_refused(study: Path) -> None:
    """Remove a study that a refused run has made: nothing is under way in it, and nobody shall wait for it."""
    import sqlite3

    try:
        with closing(sqlite3.connect(f"file:{study.resolve()}?mode=ro", uri=True)) as connection:
            if connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0]:
                return
    except sqlite3.Error:  # no table yet: nothing was tried
        pass
    for file in study.parent.glob(f"{study.name}*"):
        file.unlink()
