"""A real PgBouncer in front of a server of one's own, in the pool mode that is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from postgres_server import Server


def binary() -> str | None:
    """Where pgbouncer is; Debian keeps it out of a user's PATH."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Pooler:
    """Listens on a Unix socket beside the server's. At most ``size`` connections to the server, shared by all."""

    PORT = 6432

    def __init__(self, server: Server, mode: str, size: int = 3) -> None:
        self.server, self.folder = server, Path(server.directory)
        told = {
            "listen_port": self.PORT, "unix_socket_dir": self.folder, "auth_type": "any", "pool_mode": mode,
            "default_pool_size": size, "logfile": self.folder / "pgbouncer.log", "ignore_startup_parameters": "options",
        }  # fmt: skip
        lines = [f"* = host={server.directory} user=tacit", "[pgbouncer]", *(f"{k} = {v}" for k, v in told.items())]
        settings = self.folder / "pgbouncer.ini"
        settings.write_text("\n".join(["[databases]", *lines, ""]))
        os.chown(settings, server.user.pw_uid if server.user else -1, -1)
        rights = {"user": server.user.pw_uid, "group": server.user.pw_gid, "extra_groups": []} if server.user else {}
        self.process = subprocess.Popen(
            [str(binary()), "-q", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **rights
        )  # type: ignore[call-overload]
        end = time.monotonic() + 20
        while not (self.folder / f".s.PGSQL.{self.PORT}").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"pgbouncer did not start: {(self.folder / 'pgbouncer.log').read_text()[-500:]}")
            time.sleep(0.02)

    def url(self, direct: str) -> str:
        """The URL of the same database, through the pooler."""
        return f"{direct}&port={self.PORT}"

    def remove(self) -> None:
        self.process.terminate()
        self.process.wait(20)
