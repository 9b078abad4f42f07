"""Runs that are kept in a file: interrupted, killed, divided and resumed, they print the tables of one run."""
import functools
import json
import os
import random
import shlex
import signal
import subprocess
import time

from program import DIABETES, PROGRAM, ROOT, Folder, Running, case, refused, run, slow, subcommands

ERROR = "softmax-error --context-length 5 --relative-error 0.01 --dimension 3"
# Means, samples of all trials, several simulations, a search, data; short, but with simulations of several chunks.
SHORT = ("temperature --dimension 3 --context-length 6 --trials 5000",
         f"temperature --data {DIABETES} --trials 5000",
         "gradients --figure normsoftmax --dimension 4 --trials 5000",
         "fading --figure phase --lengths 20 --trials 5000",
         "tasks --trials 20000",
         "baselines --context-lengths 4,30 --trials 5000",
         "classify --rule softmax --dimension 2 --context-length 20 --classes 2 --search-trials 2500 --trials 5000")
GROUPS = "gradients --figure groups --trials 3000"  # about a second
SEARCH = "classify --rule softmax --dimension 2 --context-length 20 --classes 2 --search-trials 5000 --trials 20000"
# every way in which the tasks train, each in a second or less
COURSE = "train classification --figure curves --dimension 2 --classes 2 --context-length 12 --trials 50 --batch 64"
TRAININGS = (
    "train classification --map softmax --dimension 2 --classes 2 --context-length 12 --trials 50 --batch 64 --steps 150 "
    "--seeds 2",
    f"{COURSE} --map linear --steps 150",
    "train classification --figure 10 --prototype-sets 2 --hidden-ratios 2 --trials 64 --steps 80 --seeds 2",
    "train regression --seeds 2 --steps 60 --batch 64 --context-length 4",
    "train regression --figure heads --seeds 1 --steps 60 --batch 64 --context-length 4",
    "train reasoning --widths 8 --seeds 1 --steps 100 --training-share 0.05",
    "train affine --maps softmax,ssa --models full --steps 30 --batch 4 --tested 8",
    "train quantifier --full --maps softmax,ssa --seeds 1 --steps 20 --batch 4 --tested 8 --lengths 10 --quantifiers every "
    "--width 8",
    "train recall --seeds 1 --steps 20 --batch 4 --tested 8 --lengths 10 --width 8",
    "train needle --seeds 2 --steps 40 --batch 8")


def kept(line, more=()):
    """A run with its report as JSON."""
    return run(line, [*more, "--format", "json"])


def tables_of(done):
    return json.loads(done.output)["tables"]


def said_by(done):
    """What a run says, apart from how it was run."""
    found = json.loads(done.output)
    return done.code, found["tables"], found["trials"], found["verdict"]


@functools.cache
def devices():
    """The devices on a processor that this build has."""
    return [device for device in ("serial", "openmp", "tbb") if run(f"tasks --trials 2 --quiet --device {device}").code != 2]


def kill_and_resume(line, expected, delay):
    """Runs the program again and again, each time on the next device, until a run is not killed `delay(kills)`
    milliseconds after it has a record; this one must print the expected tables. Returns how many were killed."""
    every, kills = devices(), 0
    with Folder() as folder:
        record = folder.file("record")
        while True:
            option = "--resume" if os.path.exists(record) else "--checkpoint"
            with Running(line, [option, record, "--device", every[kills % len(every)], "--format", "json"]) as running:
                milliseconds = delay(kills)
                if milliseconds is not None:
                    wait_for(record, running)
                    time.sleep(milliseconds / 1000)
                    running.send(signal.SIGKILL)
                done = running.wait()
            if done.code >= 0:
                assert tables_of(done) == expected, (line, kills, done.errors)
                return kills
            kills += 1


def wait_for(record, running):
    """Until the record is there or the run has ended, at most ten minutes: with sanitizers the first step takes one."""
    end = time.monotonic() + 600
    while not os.path.exists(record) and running.process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)


@case("parts of a program's run, united, and a resumed run print the tables of one run")
def _():
    with Folder() as folder:
        file = folder.file
        expected = tables_of(kept(ERROR))
        for part in "1", "2", "3":
            done = kept(ERROR, ["--part", f"{part}/3", "--checkpoint", file(part), "--device", "serial"])
            assert done.code == 0 and done.output == f"Part {part}/3 is in {file(part)}\n", done
        assert run(["merge", file("3"), file("1"), file("2"), "--output", file("whole")]).code == 0
        for words in ["--resume", file("whole")], ["--checkpoint", file("kept")], ["--resume", file("kept")]:
            assert tables_of(kept(ERROR, words)) == expected, words

        def merged(files, *parts):
            errors = refused(["merge", *files, "--output", file("other")])
            assert all(part in errors for part in parts), (parts, errors)

        merged([file("1"), file("3")], "a part is missing", "2")
        merged([file("1"), file("2"), file("2")], "part 2/3", "given twice")
        merged([file("1"), folder.write("text", "3")], "is not a record", "text")
        assert kept(ERROR, ["--part", "2/4", "--checkpoint", file("2 of 4")]).code == 0
        merged([file("1"), file("2 of 4"), file("3")], "part 2/4", "of another division")
        assert kept(ERROR, ["--part", "2/3", "--checkpoint", file("seed"), "--seed", "2"]).code == 0
        merged([file("1"), file("seed"), file("3")], "--seed differs", "seed")
        line = ERROR.split()
        refused([*line[:-1], "4", "--resume", file("whole")], "--dimension differs", "4", "3")
        refused([*line, "--checkpoint", file("1")], "--checkpoint: exists already")
        refused([*line, "--part", "1/3"], "--part", "--checkpoint FILE")
        for wrong in "0/3", "4/3", "1/0", "2", "1/2/3", "1/1000001":
            refused([*line, "--part", wrong, "--checkpoint", file("new")], "--part")


@case("every program that simulates keeps a run, resumes it and divides it, on any device, to the same tables")
def _():
    every = devices()
    for line in SHORT:
        with Folder() as folder:
            expected = tables_of(kept(line))
            for option in "--checkpoint", "--resume":
                assert tables_of(kept(line, [option, folder.file("kept")])) == expected, line
            files = [folder.file(str(part)) for part in (1, 2, 3)]
            for part, file in enumerate(files, 1):
                done = run(line, ["--part", f"{part}/3", "--checkpoint", file, "--device", every[part % len(every)]])
                assert done.code == 0, (line, done)
                refused([*line.split(), "--resume", file, "--output", folder.file("report")], "--output", f"part {part}/3")
            assert run(["merge", *files, "--output", folder.file("whole")]).code == 0
            assert tables_of(kept(line, ["--resume", folder.file("whole")])) == expected, line


@case("what a checkpoint may not be is refused before the first trial, and the files are kept")
def _():
    other = "tasks --trials 3000".split()
    for line in SHORT:
        with Folder() as folder:
            at, report, record = line.split(), folder.write("report", "older"), folder.file("record")
            for words, parts in (
                    (["--checkpoint", report, "--output", report], ["--output: is the file of --checkpoint too"]),
                    (["--checkpoint", report + ".partial", "--output", report], ["partial report"]),
                    (["--checkpoint", report], ["--checkpoint: exists already"]),
                    (["--checkpoint", folder.file("none/record")], ["--checkpoint: cannot be written"]),
                    (["--checkpoint", "/dev/full"], ["--checkpoint", "not a file"]),
                    (["--resume", record], [record, "cannot be opened"]),
                    (["--resume", report], ["--resume", "is not a record"]),
                    (["--part", "1/2"], ["--part", "--checkpoint FILE"])):
                refused([*at, *words], *parts)
            assert folder.read("report") == "older"
            run(other, ["--checkpoint", record])
            before = folder.read("record")
            refused([*at, "--resume", record], "--resume", "record of another run")
            refused([*at, "--resume", record, "--output", record], "--output: would replace the input of --resume")
            refused([*other, "--resume", record, "--checkpoint", report], "--checkpoint: exists already")
            os.chmod(record, 0o400)
            refused([*other, "--resume", record], "--resume: cannot be written")
            assert folder.read("record") == before
            assert folder.names() == ["record", "report"]


@case("a run whose report cannot be written is kept, and its record gives the report")
def _():
    if not os.path.exists("/dev/full"):
        return
    for line in SHORT:
        with Folder() as folder:
            record = folder.file("record")
            refused([*line.split(), "--checkpoint", record, "--output", "/dev/full"], f"--resume {record}")
            assert folder.names() == ["record"]
            assert tables_of(kept(line, ["--resume", record])) == tables_of(kept(line)), line


@case("modes that have no parts, or nothing to keep, refuse the options by name")
def _():
    with Folder() as folder:
        file, scores = folder.file("record"), folder.write("scores.csv", "1,2\n3,5\n")
        for figure in "16", "onset", "elimination":
            refused(f"classify --figure {figure} --part 1/2 --checkpoint {file}",
                    f"--part: has no meaning with --figure {figure}", "depend on each other")
        for option, value in ("--checkpoint", file), ("--resume", file), ("--part", "1/2"):
            refused(f"temperature --scores {scores} {option} {value}", option, "has no meaning with --scores")
            refused(f"scores {option} {value}", option, "is not an option")
        refused("train classification --part 1/2", "--part", "not an option")
        assert folder.names() == ["scores.csv"]


@case("a program that is killed while it keeps its run goes on to the tables of one run, on other devices")
def _():
    for line in GROUPS, SEARCH:
        assert kill_and_resume(line, tables_of(kept(line)), lambda kills: None if kills > 3 else 20 * kills) > 0


@slow("programs that are killed a hundred times at random moments go on to the tables of one run")
def _():
    draw, kills = random.Random(4), 0
    expected = {line: tables_of(kept(line)) for line in (*SHORT, GROUPS, SEARCH)}
    while kills < 100:
        for line, tables in expected.items():
            kills += kill_and_resume(line, tables, lambda life: draw.randrange(50 * (life + 1)))


@case("Ctrl-C and SIGTERM leave a record that says how to go on, and goes on")
def _():
    expected = tables_of(kept(GROUPS))
    for number in signal.SIGINT, signal.SIGTERM:
        with Folder() as folder:
            record = folder.file("record")
            with Running(GROUPS, ["--checkpoint", record, "--device", "serial", "--format", "json"]) as running:
                running.wait_for_trials()
                time.sleep(0.05)
                running.send(number)
                done = running.wait()
            assert done.code == 3, done
            assert "stopped early" in done.errors and f"--resume {record}" in done.errors
            assert json.loads(done.output)["complete"] is False
            refused(["merge", record, "--output", folder.file("whole")], "unfinished")
            assert tables_of(kept(GROUPS, ["--resume", record])) == expected


def on_full_disk(line, folder, *parts):
    """The tables of a run whose record does not fit on the disk, and which says so with these parts."""
    command = f"(ulimit -f 4; {shlex.quote(PROGRAM)} {line} --format json --checkpoint {folder.file('record')}; echo code $? >&2)"
    done = subprocess.run(["bash", "-c", f"{command} | cat"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    for part in "--checkpoint: cannot be written", folder.file("record"), "code 2", *parts:
        assert part in done.stderr, (part, done.stderr)
    return json.loads(done.stdout)["tables"]


@case("on a full disk a run keeps its last record and its report")
def _():
    line = "tasks --trials 20000"
    with Folder() as folder:
        expected = tables_of(kept(line))
        assert on_full_disk(line, folder) == expected
        assert folder.names() == ["record"]
        assert tables_of(kept(line, ["--resume", folder.file("record")])) == expected


@case("on a full disk a training keeps its last record and its report")
def _():
    line = TRAININGS[5]  # its record is larger than what the program says
    with Folder() as folder:
        assert on_full_disk(line, folder, "the run goes on") == tables_of(kept(line))


def interrupted(line, record, number, milliseconds):
    """Starts a run or goes on with it, and interrupts it after some milliseconds from the first record on."""
    option = "--resume" if os.path.exists(record) else "--checkpoint"
    with Running(line, [option, record, "--format", "json", "--device", "serial"]) as running:
        running.wait_for_trials()
        wait_for(record, running)
        time.sleep(milliseconds / 1000)
        running.send(number)
        return running.wait()


@case("every task of training that is interrupted by any signal goes on to the report of one run")
def _():
    stops = kills = 0
    for line in TRAININGS:
        with Folder() as folder:
            expected, record = said_by(kept(line, ["--device", "serial"])), folder.file("record")
            for life, number in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)):
                done = interrupted(line, record, number, 5 * life)
                if done.code < 0:
                    kills += 1
                elif json.loads(done.output)["complete"] is False:
                    stops += 1
                    assert done.code == 3
                    assert "stopped early" in done.errors and f"--resume {record}" in done.errors
            for device in "openmp", "automatic":  # the second time, a complete record has it all
                assert said_by(kept(line, ["--resume", record, "--device", device])) == expected, line
            refused([*line.split(), "--checkpoint", record], "--checkpoint: exists already")
            refused([*line.split(), "--resume", record, "--seed", "7"], "--seed differs", "record of another run")
            for name in folder.names():  # a kill may leave a file that was being written
                assert name == "record" or (kills > 0 and name.startswith("record.incontext-"))
    assert stops >= 8 and kills >= 8, (stops, kills)


@case("what a checkpoint of training may not be is refused before the first step")
def _():
    for line in TRAININGS:
        with Folder() as folder:
            report = folder.write("report", "older")
            for words, *parts in (
                    (["--checkpoint", folder.file("none/record")], "--checkpoint: cannot be written",
                     "No such file or directory"),
                    (["--checkpoint", "/dev/full"], "--checkpoint", "not a file"),
                    (["--resume", report], "--resume", "is not a record"),
                    (["--device", "cuda:all", "--checkpoint", folder.file("record")], "cuda")):
                refused([*line.split(), *words], *parts)
            assert folder.read("report") == "older"
            assert folder.names() == ["report"]


@case("a course of classification goes on to more steps with the rows of the longer one")
def _():
    with Folder() as folder:
        def course(steps, *words):
            return [*COURSE.split(), "--map", "softmax", "--decay-steps", "80", "--steps", str(steps), "--device", "serial", *words]

        whole = said_by(kept(course(80, "--weights", folder.file("whole"))))
        said_by(kept(course(40, "--checkpoint", folder.file("state"))))
        longer = said_by(kept(course(80, "--resume", folder.file("state"), "--weights", folder.file("longer"))))
        assert longer == whole
        for end in ".key_query.npy", ".output.npy":
            one, other = ((folder.path / f"{name}{end}").read_bytes() for name in ("whole", "longer"))
            assert len(one) > 100 and one == other
        refused(course(60, "--resume", folder.file("state")), "--steps: is less than in the run", "60", "80")
        refused(course(81), "--decay-steps: the rate is 0 from there on", "80", "81")


@case("the page of the program says of each subcommand whether its runs are kept and divided")
def _():
    table = (ROOT / "docs/programs.md").read_text().partition("| Subcommands | `--checkpoint`")[2].partition("\n\n")[0]
    said = {}  # kept, divided
    for line in table.splitlines()[2:]:
        names, keeps, divides = line.strip("|").split(" | ")
        for name in names.split("`")[1::2]:
            said[name] = (not keeps.startswith("no"), divides.strip() != "no")
    for name in subcommands():
        text, (keeps, divides) = run(f"{name} --help").output, said[name.split()[0]]
        assert ("\n  --checkpoint FILE" in text) == ("\n  --resume FILE" in text) == keeps, name
        assert ("\n  --part I/N" in text) == divides, name
    assert set(said) == {name.split()[0] for name in subcommands()}
