"""One Spark for all tests that need it, in local mode."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java, which Spark runs on")
    from tclose.scale.spark_session import open_session

    session = open_session("local[2,4]", **{"spark.sql.shuffle.partitions": "3", "spark.speculation": "true"})
    yield session
    session.stop()
    sys.stderr.flush()
