"""A real Redis, on a port and in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

SERVER = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(SERVER is None, reason="redis-server is not installed: apt-get install redis-server")


class Broker:
    """A server that logs every write to disk before it answers."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        assert SERVER is not None
        log = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--logfile", "log"]
        command = [SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), *log]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                with self.client() as client:
                    client.ping()
                return
            except Exception:
                time.sleep(0.05)
        raise RuntimeError("redis-server does not start")

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()


def put(client: Any, given: list[bytes], first: int = 1) -> None:
    """Entries 1-0, 2-0, ... with a row each."""
    with client.pipeline() as pipe:
        for number, line in enumerate(given, first):
            pipe.xadd("in", {"row": line}, id=f"{number}-0")
        pipe.execute()


def came_out(client: Any) -> dict[str, list[Any]]:
    """All that was written."""
    found = {"out": [json.loads(fields[b"row"]) for _, fields in client.xrange("out")]}
    for name in ("certificates", "ledger"):
        found[name] = [json.loads(fields[b"json"]) for _, fields in client.xrange(name)]
    letters = [
        {name.decode(): value.decode() for name, value in entry.items()} for _, entry in client.xrange("out:rejected")
    ]
    found["rejected"] = [{**each, "row": int(each["row"]), "column": each["column"] or None} for each in letters]
    return found
