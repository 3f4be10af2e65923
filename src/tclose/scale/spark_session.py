"""A session of Spark for the command line, whose workers run in this environment."""

from __future__ import annotations

import os
import sys
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
