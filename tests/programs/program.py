"""What the tests of the program share: they run it as a user does, and look at what it prints, writes and exits with."""
import json
import os
import shlex
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ["INCONTEXT_PROGRAM"]
DIABETES = ROOT / "examples/data/diabetes.csv"
SANITIZED = os.environ.get("INCONTEXT_SANITIZED", "OFF") == "ON"  # sanitizers reserve more memory than a limit allows

CASES, SLOW = {}, {}  # functions by title


def case(title, cases=CASES):
    """Makes a function a test of that title. CMakeLists.txt finds it by the beginning of its line."""
    def register(function):
        cases[title] = function
        return function
    return register


def slow(title):
    """The same for one of the slow tests."""
    return case(title, SLOW)


@dataclass
class Finished:
    code: int  # of a process that a signal ended, below 0
    output: str
    errors: str  # without the lines that say how long a run takes, which only a slow or busy machine prints


def without_durations(printed):
    kept = [line for line in printed.splitlines(keepends=True)
            if ", which take about " not in line and ": nothing is finished after " not in line]
    return "".join(kept)


def words_of(line):
    """A command line as a shell takes it, or its words."""
    return shlex.split(line) if isinstance(line, str) else [str(word) for word in line]


def run(line, more=(), *, input="", shell="", **options):
    """Runs the program; `shell` is what a shell does before. Other options are those of subprocess.run."""
    words = [PROGRAM, *words_of(line), *words_of(more)]
    if shell:
        words = ["bash", "-c", f'{shell}; exec "$@"', "bash", *words]
    done = subprocess.run(words, input=input.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return Finished(done.returncode, done.stdout.decode(), without_durations(done.stderr.decode()))


def report(line, more=(), code=0):
    """The JSON of a run that must end with this exit code, or one of these, and print on standard error only if it is
    not 0."""
    done = run(line, [*words_of(more), "--format", "json"])
    assert done.code in (code if isinstance(code, tuple) else (code,)), (done.code, done.errors, done.output)
    assert (done.errors == "") == (done.code == 0), done.errors
    return json.loads(done.output)


def rows(table, **cells):
    """The rows of a table whose cells have these values."""
    return [row for row in table["rows"] if all(row[name] == value for name, value in cells.items())]


def row(table, **cells):
    """The one row of a table whose cells have these values."""
    found = rows(table, **cells)
    assert len(found) == 1, (cells, found)
    return found[0]


def refused(line, *parts):
    """Runs what must be refused in one line that has these parts, with exit code 2 and nothing on standard output."""
    done = run(line)
    assert done.code == 2 and done.output == "", done
    assert done.errors.count("\n") == 1, done.errors
    for part in parts:
        assert part in done.errors, (part, done.errors)
    return done.errors


def near(a, b, tolerance):
    return abs(a - b) <= tolerance


def subcommands():
    """Every subcommand, and of one that has tasks every task: what --list prints."""
    return run("--list").output.splitlines()


class Folder(tempfile.TemporaryDirectory):
    """An empty folder that is removed at the end of the block, and its contents."""

    def __enter__(self):
        self.path = Path(super().__enter__())
        return self

    def file(self, name):
        return str(self.path / name)

    def write(self, name, content):
        (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.file(name)

    def read(self, name):
        return (self.path / name).read_text()

    def names(self):
        return sorted(entry.name for entry in self.path.iterdir())


def npy(table):
    """The bytes of an .npy file of float64 with these rows."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(table)}, {len(table[0])}), }}"
    header = header.ljust(128 - 10 - 1) + "\n"
    numbers = [number for one in table for number in one]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}d", *numbers)


class Running:
    """The program beside the test. Leaving the block kills it, if it has not ended."""

    def __init__(self, line, more=(), **options):
        self.process = subprocess.Popen([PROGRAM, *words_of(line), *words_of(more)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def wait_for_trials(self):
        """Waits until it handles SIGINT, which it does from its first trial on: at most 30 seconds."""
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                status = Path(f"/proc/{self.process.pid}/status").read_text()
            except OSError:
                return
            caught = int(status.partition("SigCgt:")[2].split()[0], 16)
            if caught >> (signal.SIGINT - 1) & 1 and Path(f"/proc/{self.process.pid}/comm").read_text().startswith("incontext"):
                return
            time.sleep(0.01)

    def send(self, number):
        self.process.send_signal(number)

    def wait(self):
        output, errors = self.process.communicate()
        return Finished(self.process.returncode, output.decode(), without_durations(errors.decode()))


def stopped_after(seconds, line, more=()):
    """Runs the program, sends it SIGINT the given seconds after its first trial began, and waits for its end."""
    with Running(line, more) as running:
        running.wait_for_trials()
        time.sleep(seconds)
        running.send(signal.SIGINT)
        return running.wait()
