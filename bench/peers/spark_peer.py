#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PySpark on local[WORKERS]. A task of Spark is a partition of a job: a batch is one job, a round too."""

import contextlib
import sys
import tempfile

import pyspark
import sleep_rows


@contextlib.contextmanager
def start(workers):
    with tempfile.TemporaryDirectory() as scratch:
        settings = pyspark.SparkConf().setMaster(f"local[{workers}]").setAll([
            ("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false"),
            ("spark.local.dir", scratch),
            ("spark.driver.host", "127.0.0.1"), ("spark.driver.bindAddress", "127.0.0.1")])
        context = pyspark.SparkContext(conf=settings)
        context.setLogLevel("ERROR")

        def run_job(function, tasks):
            return context.parallelize(tasks, len(tasks)).map(function).collect()

        try:
            yield sleep_rows.Framework(f"PySpark {pyspark.__version__}", run_job, run_job)
        finally:
            context.stop()


if __name__ == "__main__":
    sys.exit(sleep_rows.main(start))
