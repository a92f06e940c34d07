"""One Spark session for all tests of the folder."""

import os
import shutil
import sys

import pytest
from pyspark.sql import SparkSession

HANG = "1800s"  # only what hangs is waited for so long; Spark itself gives up after 15 s
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a short life does not pay for optimising


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    if shutil.which("java") is None:
        (pytest.fail if "CI" in os.environ else pytest.skip)("install a Java runtime, 17 or later")
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.network.timeout": HANG,
        "spark.python.authenticate.socketTimeout": HANG,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} {QUICK}",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",  # several batches a partition
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").appName("tests").config(map=settings)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
