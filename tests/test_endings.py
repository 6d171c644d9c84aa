"""How the command ends: 1 only ever says that something is violated; signals and limits give what is known by then."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from itertools import cycle
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

import crownless
from crownless import command_line
from crownless.command_line import VERBS, count, endings
from crownless.model_check import stopping
from crownless.runtime.ending import Limits, Stopped, deferred, stop_reason, stoppable, watching
from crownless.spec import reading

if TYPE_CHECKING:
    from _typeshed import TraceFunction

Capture = pytest.CaptureFixture[str]

#: Seconds within which what is interrupted must have ended; it takes less than two on a machine that is not busy.
SOON = 20.0
#: Seconds; they only bound how long a failing test takes.
LONG = 300


def run(script: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A line of a shell, in which `crownless` is this one."""
    environment = {**os.environ, "CROWNLESS": f"{sys.executable} -m crownless"}
    environment.pop(endings.TRACEBACK, None)
    environment.update({name: str(value) for name, value in options.items()})
    line = script.replace("crownless", "$CROWNLESS")
    command = ["bash", "-c", line]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=LONG, env=environment
    )


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [(KeyError("x"), 70), (RecursionError(), 70), (MemoryError(), 71), (OSError(5, "failed"), 74)],
    ids=["fault", "recursion", "memory", "output"],
)
def test_no_fault_exits_as_a_violation_does(capsys: Capture, verb: str, fault: Exception, code: int) -> None:
    command = command_line.crownless.get_command(None, verb)  # type: ignore[arg-type]
    with patch.object(command, "invoke", side_effect=fault), pytest.raises(SystemExit) as ended:
        command_line.main([verb, *{"count": ["-n", "2", "-m", "2"], "list": [], "check": [], "prove": [], "claims": [],
                                   "cost": [], "vectors": []}.get(verb, ["rst"])])  # fmt: skip
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out, printed.err.count("\n")) == (code, "", 1)
    assert printed.err.startswith("crownless: ")


def test_an_internal_error_says_where_its_traceback_is_kept(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(endings.TRACEBACK, raising=False)
    with patch.object(count, "count_computations", side_effect=KeyError("x")), pytest.raises(SystemExit) as ended:
        command_line.main(["count", "-n", "2", "-m", "2"])
    error = capsys.readouterr().err
    assert ended.value.code == 70
    assert error.startswith("crownless: internal error: KeyError: 'x'; please report it to the developers, with ")
    kept = Path(error.split()[-1])
    assert "KeyError: 'x'" in kept.read_text()
    assert "Traceback" in kept.read_text()
    kept.unlink()
    monkeypatch.setenv(endings.TRACEBACK, "1")
    with patch.object(count, "count_computations", side_effect=KeyError("x")), pytest.raises(SystemExit):
        command_line.main(["count", "-n", "2", "-m", "2"])
    error = capsys.readouterr().err
    assert "Traceback" in error
    Path(error.split()[-1]).unlink()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("crownless list >&-", 74),
        ("crownless list 2>&-", 74),
        ("crownless list >/dev/full", 74),
        ("crownless list >/dev/full 2>&1", 74),
        ("crownless check rts 2>/dev/full", 74),
        ("crownless list | head -1 >/dev/null; exit ${PIPESTATUS[0]}", 141),
        ("crownless check rts", 2),
        ("crownless classify - <&-", 2),
    ],
)
def test_output_that_cannot_be_written_has_codes_of_its_own(script: str, code: int) -> None:
    ended = run(script)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr


# -- input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("crownless classify - <&-", "-: standard input is closed; give a file"),
        ("crownless classify /dev/zero", "/dev/zero: this is a device, not a file; name a text file"),
        ("crownless classify - </dev/urandom", "-: this is a device, not a file; name a text file"),
        ("crownless show /dev/urandom", "/dev/urandom: this is a device, not a file; name a text file"),
        ("crownless check rst --program /dev/zero", "/dev/zero: this is a device, not a file; name a text file"),
        ("crownless classify /proc/self/mem", "/proc/self/mem: cannot read it: "),
        ("crownless cost --seeds 1000000000000000000000", "Invalid value for '--seeds'"),
        ("crownless cost rst --out $'a\\xff'", "--out a\\udcff: the name is not UTF-8; name another folder"),
        ("crownless classify x --out $'a\\xff'", "--out a\\udcff: the name is not UTF-8; name another folder"),
    ],
)
def test_input_that_cannot_be_used_is_one_line(script: str, said: str) -> None:
    ended = run(script)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"crownless: {said}")


def test_a_pipe_is_read_when_somebody_writes_to_it_and_else_refused(tmp_path: Path, capsys: Capture) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with patch.object(reading, "PATIENCE", 0.2), pytest.raises(SystemExit) as ended:
        command_line.main(["classify", str(pipe)])
    assert ended.value.code == 2
    assert "this is a pipe, and nobody writes to it; name a text file" in capsys.readouterr().err
    writes = subprocess.Popen(["bash", "-c", f"printf 'P1: send x to P2\nP2: receive x' > {pipe}"])
    with pytest.raises(SystemExit) as ended:
        command_line.main(["classify", str(pipe)])
    assert ended.value.code == 0
    assert writes.wait(LONG) == 0


# -- signals and limits ------------------------------------------------------------------------------------------------


def test_a_part_that_is_stopped_goes_on_after_its_block() -> None:
    with stoppable() as part:
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError("never reached")
    assert part.reason == "interrupted"
    assert stop_reason() is None


def test_a_part_is_stopped_by_the_clock_wherever_it_is() -> None:
    began = time.monotonic()
    with stoppable(Limits(seconds=0.2)) as part:
        time.sleep(LONG)
    assert part.reason == "0.2 seconds are over"
    assert time.monotonic() - began < SOON


def test_a_part_is_stopped_where_memory_is_used() -> None:
    with stoppable(Limits(memory=1)) as part:
        time.sleep(LONG)
    assert part.reason == "0 MiB of memory are used"


def test_what_takes_a_stop_for_itself_hears_of_it_again() -> None:
    heard: list[object] = []
    with stoppable(Limits(seconds=0.1)) as part:
        while len(heard) < 3:
            try:
                time.sleep(LONG)
            except Stopped:
                heard.append(stop_reason())
    assert heard[0] == part.reason == "0.1 seconds are over"


def works(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


class Slow:
    """Takes a while to be let go."""

    def __del__(self) -> None:
        works(0.03)


def test_no_exception_is_raised_in_a_destructor_where_it_would_be_lost() -> None:
    """This is what z3's terms printed: `Exception ignored in: <function AstRef.__del__>`."""
    lost: list[object] = []
    with patch.object(sys, "unraisablehook", lost.append), stoppable(Limits(seconds=0.1)) as part:
        while True:
            Slow()
            works(0.03)
    assert part.reason == "0.1 seconds are over"
    assert lost == []


def test_nor_in_what_is_called_when_a_module_has_been_imported() -> None:
    """This is what was printed then: `Exception ignored in: <function _get_module_lock.<locals>.cb>`.

    In a process of its own, which the thread ends if the exception is lost.
    """
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_endings as t; t.in_callbacks()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=LONG)
    assert (done.returncode, done.stderr) == (0, "")


def in_callbacks() -> None:
    """Is stopped while a callback of importlib is mostly at work."""
    lost: list[object] = []
    outside = cycle([0.03, 0.041, 0.053])  # keeps no step with the thread, which would always find the callback at work
    of_importlib: dict[str, Any] = {"__name__": "importlib._bootstrap", "works": works}
    exec("def cb(_): works(0.05)", of_importlib)  # where it is when the limit is looked at
    with patch.object(sys, "unraisablehook", lost.append), stoppable(Limits(seconds=0.1)) as part:
        while True:
            lock = Lock()
            kept = weakref.ref(lock, of_importlib["cb"])
            del lock
            works(next(outside))
    assert kept() is None
    assert part.reason == "0.1 seconds are over"
    assert lost == []


def test_what_is_raised_where_python_loses_it_is_raised_again() -> None:
    """In the callback of a weak reference, say, as `WeakValueDictionary` has them: its name says nothing."""
    lost: list[object] = []
    with patch.object(sys, "unraisablehook", lost.append), stoppable(Limits(seconds=0.1)) as part:
        for _ in range(100):
            lock = Lock()
            kept = weakref.ref(lock, lambda _: works(0.05))
            del lock
        raise AssertionError("it was not stopped")
    assert kept() is None
    assert part.reason == "0.1 seconds are over"
    assert lost == []


class Lock:
    """Can be referred to weakly."""


#: Is interrupted when a function is called that is among the first.
INTERRUPTED_EARLY = """
import os, signal, sys
from crownless import command_line, start
def interrupts(*_):
    os.kill(os.getpid(), signal.NUMBER)
command_line.FUNCTION = interrupts
sys.argv[1:] = ["list"]
start.main()
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("function", ["closed_streams", "keep_reserve", "_run", "flush"])
def test_an_interrupt_before_or_after_all_else_ends_it(function: str, number: str) -> None:
    script = INTERRUPTED_EARLY.replace("NUMBER", number).replace("FUNCTION", function)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=LONG)
    assert (ended.returncode, ended.stderr) == (130, "")
    assert bool(ended.stdout) == (function == "flush")


def test_no_stop_is_raised_where_a_part_is_being_left() -> None:
    """The main thread is nudged at every line of what leaves it."""
    nudged = []

    def nudge(frame: FrameType, event: str, _: Any) -> TraceFunction:
        if frame.f_code.co_filename in (contextlib.__file__, stopping.__file__):
            nudged.append(event)
            signal.raise_signal(signal.SIGUSR1)
        return nudge

    parts = []
    with patch.object(stopping, "NUDGE_EVERY", 0), watching():
        before = sys.gettrace()
        for _ in range(5):
            with stoppable(Limits(seconds=0)) as part:
                try:
                    time.sleep(LONG)
                finally:
                    sys.settrace(nudge)
            sys.settrace(before)
            parts.append(part)
    assert [part.reason for part in parts] == ["0 seconds are over"] * 5
    assert len(nudged) > 50
    assert stop_reason() is None


def test_memory_that_cannot_be_had_stops_a_part() -> None:
    with stoppable() as part:
        raise MemoryError
    assert part.out_of_memory
    assert part.reason is not None


def test_a_fault_in_a_part_that_is_not_stopped_is_a_fault() -> None:
    with pytest.raises(ValueError, match="own"), stoppable():
        raise ValueError("own")


def test_a_search_that_looks_for_itself_is_not_broken_off() -> None:
    with deferred() as pending:
        assert pending() is None
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.5)
        assert pending() == "interrupted"


def test_a_search_that_never_looks_is_broken_off() -> None:
    def never_looks() -> None:
        with deferred():
            signal.raise_signal(signal.SIGINT)
            works(LONG)

    began = time.monotonic()
    with patch.object(stopping, "LOOKS_WITHIN", 0.5), pytest.raises(Stopped):
        never_looks()
    assert time.monotonic() - began < SOON


def test_a_signal_that_a_search_has_not_seen_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), deferred():
        signal.raise_signal(signal.SIGINT)


def test_a_signal_that_comes_during_a_look_at_the_limits_is_not_lost() -> None:
    left, looked = threading.Event(), threading.Event()

    def interrupts(*_: object) -> None:
        if not looked.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            left.wait(LONG)
            looked.set()

    with watching(), patch.object(Limits, "reached", interrupts):
        with stoppable() as part:
            works(LONG)
        left.set()
        looked.wait(LONG)
        time.sleep(0.3)  # for the thread to go on
        assert part.reason == "interrupted"


#: Verbs that take long, and what each prints when it is interrupted.
LONG_VERBS = {
    "check rst -n 4 -m 9 --quiet": (3, "interrupted"),
    "check rst -n 4 -m 9 --engine plain --quiet": (3, "interrupted"),
    "count -n 5 -m 6": (3, "unknown: these at least are there"),
    "realize rst -n 4 -m 7 --quiet": (3, "unknown: interrupted"),
    "cost unordered rst --seeds 9999 -m 50": (3, "mean and 95% confidence interval"),
    "prove rst --why": (3, "rst"),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("arguments", LONG_VERBS)
def test_a_signal_gives_what_is_known_soon(arguments: str, number: signal.Signals) -> None:
    script = SIGNALS_ITSELF.replace("NUMBER", str(int(number)))
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments.split()], capture_output=True, text=True, check=False, timeout=LONG
    )
    code, said = LONG_VERBS[arguments]
    assert (ended.returncode, said in " ".join(ended.stdout.split())) == (code, True), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "ignored" not in ended.stderr
    (took,) = (float(line.split()[1]) for line in ended.stderr.splitlines() if line.startswith("took "))
    assert took < SOON


#: Interrupts itself when it has looked at the clock a few times, and says how long it went on.
SIGNALS_ITSELF = """
import atexit, os, sys, threading, time
import crownless
from crownless import command_line
from crownless.runtime.ending import Limits
looks, look = [], Limits.seconds_are_over
def interrupt():
    began = time.monotonic()
    atexit.register(lambda: print("took", time.monotonic() - began, file=sys.stderr))
    os.kill(os.getpid(), NUMBER)
def looked(limits, seconds):
    looks.append(seconds)
    if len(looks) == 8:
        threading.Timer(0.5, interrupt).start()
    return look(limits, seconds)
Limits.seconds_are_over = looked
command_line.main(sys.argv[1:])
"""


#: A call that hears of nothing: the system goes on with it after each signal.
DEAF = """
import ctypes, os, signal, sys, threading
from crownless.runtime.ending import stoppable
with stoppable():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.siginterrupt(number, False)
    for seconds in map(float, sys.argv[1:]):
        threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    semaphore = ctypes.create_string_buffer(64)
    library = ctypes.CDLL(None)
    library.sem_init(semaphore, 0, 0)
    library.sem_wait(semaphore)
"""


@pytest.mark.parametrize("signals", [["0.5"], ["0.5", "0.7"]], ids=["one", "two"])
def test_what_does_not_hear_of_a_signal_is_ended(signals: list[str]) -> None:
    began = time.monotonic()
    command = [sys.executable, "-c", DEAF, *signals]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.startswith("crownless: interrupted")
    assert time.monotonic() - began < SOON


# -- compiled code -----------------------------------------------------------------------------------------------------

#: Compiles and runs a function that is kept on disk, and says whether it was compiled anew.
COMPILES = """
import sys
sys.path.insert(0, sys.argv[1])
import kept
print(kept.double(21), sum(kept.double.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "one byte"])
def test_damaged_compiled_code_is_compiled_anew(tmp_path: Path, suffix: str, damage: bytes | None) -> None:
    (tmp_path / "kept.py").write_text(
        "from crownless.model_check.native.compiled import compiled\n@compiled\ndef double(x):\n    return 2 * x\n"
    )

    def answer() -> str:
        command = [sys.executable, "-c", COMPILES, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG).stdout

    assert answer() == "42 1\n"
    assert answer() == "42 0\n"
    (file,) = tmp_path.glob(f"__pycache__/*.{suffix}")
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :] if damage is None else damage)
    assert answer().startswith("42 ")
    assert answer() == "42 0\n"


def test_what_is_compiled_is_compiled_anew_after_a_change_of_what_it_calls(tmp_path: Path) -> None:
    """Which may be in another file: Numba looks at the file of the caller alone."""
    package = tmp_path / "crownless"
    shutil.copytree(Path(crownless.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    called = package / "model_check/native/called.py"
    caller = package / "model_check/native/caller.py"
    called.write_text("from .compiled import compiled\n@compiled\ndef one():\n    return 1\n")
    caller.write_text(
        "from .called import one\nfrom .compiled import compiled\n@compiled\ndef two():\n    return 2 * one()\n"
    )
    command = [sys.executable, "-c", "from crownless.model_check.native.caller import two; print(two())"]

    def answer() -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LONG)
        return done.stdout

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with patch.dict(os.environ, environment, clear=True):
        assert answer() == "2\n"
        called.write_text(called.read_text().replace("return 1", "return 7"))
        assert answer() == "14\n"


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/dev/full", "/dev/full is not a folder; name a new folder, or one that is there"),
        ("/dev/full/x", "/dev/full is not a folder; name a new folder, or one that is there"),
        ("file/x", "file is not a folder; name a new folder, or one that is there"),
        ("loop", "loop is not a folder; name a new folder, or one that is there"),
        ("x" * 300, "File name too long; name another folder"),
    ],
)
@pytest.mark.parametrize("verb", ["cost rst -m 10 --seeds 1 --out", "cost --page"])
def test_a_folder_that_cannot_be_one_is_refused_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    folder: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("loop").symlink_to("loop")
    with pytest.raises(SystemExit) as ended:
        command_line.main([*verb.split(), folder])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.endswith(f": {said}\n")
