"""Without enough threads or memory the program ends with one line and exit code 2; after Ctrl-C it ends within a
second."""
import signal
import time

from program import SANITIZED, Running, case, refused, run, stopped_after


def refused_with(kilobytes, line, *parts):
    """Refused with a limit on the address space, in one line with these parts."""
    if SANITIZED:
        return
    done = run(line, shell=f"ulimit -v {kilobytes}")
    assert done.code == 2 and done.output == "" and done.errors.count("\n") == 1, done
    for part in parts:
        assert part in done.errors, (part, done.errors)


@case("threads that cannot be started are refused in one line with their number, on every backend")
def _():
    for device in "automatic", "openmp", "tbb":
        for subcommand in "temperature", "gradients":
            refused_with(1048576, f"{subcommand} --trials 20000 --device {device} --threads 512",
                         "--threads: cannot be started (value = 512;")


@case("a diagram is computed with fewer threads if some cannot be started")
def _():
    line = "fading --figure diagram --points 4 --device serial --threads 512 --trials 128 --quiet"
    assert SANITIZED or run(line, shell="ulimit -v 1048576").code == 0


@case("too little memory is reported in one line with the size and what it depends on")
def _():
    # 64 trials side by side of a million tokens; the test itself does not allocate this memory.
    refused("gradients --context-length 100000000 --dimension 2 --trials 100", "there is not enough memory (value = ")
    refused("classify --classes 2 --dimension 200 --context-length 1000000 --rule linear --rate 1 --trials 100",
            "which grow with context_length x dimension and classes x dimension")
    refused_with(500000, "softmax-error --dimension 9000 --trials 100",
                 "not enough memory for these sizes: --dimension 9000, --trials 100")
    refused_with(500000, "gradients --context-length 1000000 --trials 100 --device serial",
                 "grow with tokens x score standard deviations")


@case("a relative error that cannot be reached is refused with the number of trials it needs")
def _():
    refused("temperature --relative-error 1e-12", "--relative-error: is below the rounding of a trial's values (value = ")
    refused("fading --relative-error 1e-12 --lengths 10", "trials by its pilot run, more than 2^50 (value = ")
    refused("temperature --trials 4611686018427387904",
            "--trials: is too large (value = 4611686018427387904; needs at most 2^50)")


@case("one Ctrl-C ends a run inside its first wave, with a report")
def _():
    # each takes minutes, and has another report, if nothing stops it
    for line in ("temperature --context-length 100000000 --trials 2",
                 "softmax-error --context-length 100000000 --trials 2 --device tbb",
                 "fading --lengths 100000000 --most-scores 1e12"):
        done = stopped_after(0.1, line)
        assert done.code >= 0, (line, done)
        assert "Stopped early" in done.output + done.errors, (line, done)


@case("one Ctrl-C ends a run that is still computing closed forms")
def _():
    with Running("temperature --dimension 1500") as running:
        time.sleep(0.1)
        running.send(signal.SIGINT)
        done = running.wait()
        assert done.output + done.errors == ""  # it never came to a table
