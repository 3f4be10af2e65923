"""A session of Spark for the command line, whose workers run in this environment."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tclose.errors import EngineError
from tclose.scale.spark_engine import need_spark

MASTER = "local[*,4]"  # all processors of this machine; a task that fails is begun again, up to four times


def open_session(master: str | None, **settings: str) -> Any:
    """A session that says nothing on the terminal.

    Parameters
    ----------
    master
        Of the cluster; all processors of this machine if None.
    settings
        More of Spark's own.
    """
    need_spark()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master or MASTER).appName("tclose")
    usual = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.pyspark.python": sys.executable,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        "spark.log.level": "OFF",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # other readers lose the zone of the usual one
    }
    for name, value in (usual | settings).items():
        builder = builder.config(name, value)
    try:
        with _quiet(), _own_interrupts():
            session = builder.getOrCreate()
    except Exception as error:
        if os.environ.get("TCLOSE_DEBUG"):
            raise
        raise EngineError(
            f"Spark cannot be started ({type(error).__name__}). It needs Java 17 or newer (`java -version`), and a "
            "master that can be reached."
        ) from None
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _quiet() -> Iterator[None]:
    """Start Java with a standard error that nobody reads; with TCLOSE_DEBUG set, it is that of this process."""
    if os.environ.get("TCLOSE_DEBUG"):
        yield
        return
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_of_others)
    sys.stderr.flush()
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep what Ctrl-C does: Spark would call Java from the handler, amid another call, and fail with a traceback."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    yield
    if is_main and before is not None:
        signal.signal(signal.SIGINT, before)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a line of the log is not the traceback of a call of Java that Ctrl-C has ended."""
    return record.module != "java_gateway"
