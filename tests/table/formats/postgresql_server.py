"""A real PostgreSQL, on a socket in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "unsaid-5ecret"


def _programs() -> Path | None:
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4].partition(".")[0])
    )
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    return None if named is None else Path(named).resolve().parent


def _user() -> dict[str, Any]:
    """Whom it runs as: initdb refuses root."""
    if os.getuid():
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid}
    raise RuntimeError("there is no user that PostgreSQL can run as")


PROGRAMS = _programs()
needs_postgresql = pytest.mark.skipif(
    PROGRAMS is None, reason="PostgreSQL is not installed: apt-get install postgresql"
)


class Server:
    """A server of one database that asks for a password."""

    def __init__(self) -> None:
        assert PROGRAMS is not None
        self.folder = Path(tempfile.mkdtemp(prefix="tclose-pg-"))  # short, and open to another user: pytest's are not
        whom = _user()
        secret = self.folder / "secret"
        secret.write_text(PASSWORD, encoding="ascii")
        for path in (self.folder, secret):
            if whom:
                os.chown(path, whom["user"], whom["group"])
        data = self.folder / "data"
        made = [
            PROGRAMS / "initdb",
            "-D",
            data,
            "-U",
            "tclose",
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
        ]
        subprocess.run(
            [*map(str, made), "-E", "UTF8", "--locale=C"], check=True, capture_output=True, cwd=self.folder, **whom
        )
        options = ["-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"]
        self._process = subprocess.Popen(
            [*map(str, [PROGRAMS / "postgres", "-D", data, *options])],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **whom,
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                self.run("SELECT 1")
                return
            except subprocess.CalledProcessError:
                time.sleep(0.05)
        raise RuntimeError("PostgreSQL does not start")

    @property
    def url(self) -> str:
        return self.url_with(PASSWORD)

    def url_with(self, password: str) -> str:
        return f"postgresql://tclose:{password}@/postgres?host={self.folder}"

    def run(self, statement: str) -> str:
        """What its own client says."""
        assert PROGRAMS is not None
        command = [str(PROGRAMS / "psql"), self.url, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def copy(self, table: str, rows: str) -> None:
        """Fill a table with rows as COPY has them, in CSV."""
        assert PROGRAMS is not None
        command = [str(PROGRAMS / "psql"), self.url, "-X", "-q", "-c", f"COPY {table} FROM STDIN (FORMAT csv)"]
        subprocess.run(command, check=True, capture_output=True, text=True, input=rows)

    def end(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)


def running() -> Iterator[Server]:
    """For a fixture."""
    server = Server()
    try:
        yield server
    finally:
        server.end()
