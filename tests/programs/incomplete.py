"""A row that cannot be judged is neither an agreement nor a disagreement: rounding, overflow, rare rows, optima that do
not exist, runs that were stopped. Every such run ends with 3 or names what is out of range, and no row is left out."""
import csv
import json

from program import DIABETES, Folder, case, refused, report, run, stopped_after


def checked(found):
    """Checks that every row to be judged has a verdict, and a reason if and only if it is not judged."""
    asked = left = 0
    for table in found["tables"]:
        for one in table["rows"]:
            if one.get("verdict") is None:
                continue
            asked += 1
            judged = one["verdict"] != "not_judged"
            left += not judged
            assert (one["z"] is not None) == judged
            assert (one["reason"] is None) == judged
    assert found["verdict"]["comparisons"] == asked
    assert found["verdict"]["not_judged"] == left
    return found


@case("the weight of a needle that has nearly all of it is not judged below rounding, with a reason")
def _():
    for height in 20, 30, 50, 100:
        found = checked(report(f"fading --figure fading --height {height} --lengths 100", code=3))
        assert found["verdict"]["agrees"] is None
        second = found["tables"][0]["rows"][1]
        assert second["verdict"] == "not_judged"
        if height == 20:
            assert "below the rounding of the simulation, 4.2e-14, and the error of the theory" in second["reason"]
    # The default seed draws a rare event, z = -4.09 in one row. It is no bias: over 185 other seeds the z of the rows
    # have the mean 0 and variances from 0.84 to 1.2.
    checked(report("fading --figure fading --height 10 --lengths 100 --seed 2"))


@case("frozen rows in which no trial drew a competing second score are not judged")
def _():
    found = checked(report("fading --lengths 100 --score-stddevs 1e8", code=3))
    assert found["verdict"]["judged"] == 0
    assert all("a few rare trials decide" in one["reason"] for one in found["tables"][0]["rows"])


@case("errors whose rounding in single precision exceeds their standard error are not judged")
def _():
    scaled = "softmax-error --attention scaled --dimension 4 --context-length 50 --trials 4096"
    tiny = checked(report(f"{scaled} --input-variance 1e-7", code=3))
    assert tiny["verdict"]["judged"] == 0
    noisy = checked(report(f"{scaled} --noise-variance 1e7", code=3))
    assert noisy["verdict"]["judged"] == 7
    # only the noise is left at the temperature that is best for approximate softmax; that of softmax itself cannot be
    # told from an infinite one
    assert noisy["verdict"]["not_judged"] == 1
    assert noisy["tables"][1]["rows"][0]["optimal"] == "edge of the search"
    for usual in "--input-variance 1e-2", "--noise-variance 1e3":
        checked(report(f"{scaled} {usual} --temperatures 1,3"))
    for shift in "1e7", "1e8":
        shifted = checked(report(f"temperature --mean-shift {shift} --trials 4096", code=3))
        assert all(one["verdict"] != "disagrees" for one in shifted["tables"][0]["rows"])


@case("trials that overflow are not judged, and their rows stay")
def _():
    for temperature in "1e-19", "1e-20", "1e-30":
        found = checked(report(f"temperature --temperatures {temperature} --trials 4096 --dimension 3", code=3))
        assert len(found["tables"][0]["rows"]) == 6
        one = found["tables"][0]["rows"][0]
        assert one["temperature"] == float(temperature)
        assert one["simulation"] is None
        assert "of 4096 trials were not finite" in one["reason"]
        assert found["verdict"]["judged"] == 4


@case("parameters outside the range of single precision are refused by name, value and range")
def _():
    for line, part in (("temperature --temperatures 1e-200", "temperature's inverse is outside the range"),
                       ("temperature --temperatures 1e-100", "temperature's inverse is outside the range"),
                       ("temperature --noise-variance 1e200", "is outside the range"),
                       ("temperature --noise-variance 1e308", "is outside the range"),
                       ("temperature --task-scale 1e308", "is outside the range"),
                       ("temperature --mean-shift 1e308", "is outside the range"),
                       ("softmax-error --task-variance 1e150", "is outside the range")):
        refused(line, part, "needs single-precision numbers, from 1.2e-38 to 3.4e+38 in size")


@case("an optimal temperature that does not exist is a row without one, and not judged")
def _():
    with Folder() as folder:  # labels for which every prediction from the context is worse than none
        data = folder.write("four.csv", "x,y\n0.124,-0.031\n2.586,-0.004\n2.782,-1.056\n2.967,1.398\n")
        found = checked(report(f"temperature --data {data} --labels y --context-length 5 --trials 4096", code=3))
    rows = found["tables"][0]["rows"]
    assert len(rows) == 8
    assert rows[6]["predictor"] == "attention, τ*"
    assert all(rows[6][name] is None for name in ("temperature", "theory", "simulation", "z"))
    assert rows[6]["verdict"] == "not_judged"
    assert "no positive temperature is optimal" in rows[6]["reason"]
    assert found["verdict"]["judged"] == 6


@case("a run that was stopped ends with 3, keeps its rows, and says complete: false")
def _():
    for line in ("temperature --figure 2a --trials 1e12",
                 "temperature --figure 3c --trials 1e12",
                 f"temperature --data {DIABETES} --labels progression --trials 1e12",
                 "softmax-error --vary context-length --trials 1e12",
                 "gradients --figure normsoftmax --trials 1e12",
                 "fading --figure retrieval --trials 1e12 --most-scores 1e15",
                 "fading --figure diagram --trials 1e12 --most-scores 1e15",
                 "classify --search-trials 1e8",
                 "classify --figure 6 --search-trials 1e8",
                 "classify --figure 7 --search-trials 1e8",
                 "classify --figure 8a --search-trials 1e8",
                 "classify --figure rates --search-trials 1e8",
                 "classify --figure elimination --trials 1e12"):
        done = stopped_after(0.4, line, "--format json")
        assert done.code == 3, (line, done)
        found = checked(json.loads(done.output))
        assert found["complete"] is False
        assert found["verdict"]["agrees"] is not False
        assert "Stopped early" in done.errors
        reasons = [one.get("reason") for table in found["tables"] for one in table["rows"]]
        assert "not reached: the run was stopped early" in reasons, line


@case("a stopped run has the same rows as a complete one, in the same order")
def _():
    def keys(found):
        return [[one.get(name) for name in ("context_length", "predictor", "statement")]
                for table in found["tables"] for one in table["rows"]]

    figure = "temperature --figure 2a --context-lengths 10,20,30 --trials"
    stopped = stopped_after(0.3, f"{figure} 1e12 --format json")
    assert stopped.code == 3
    assert keys(json.loads(stopped.output)) == keys(json.loads(run(f"{figure} 512 --format json").output))


@case("a stopped run writes to FILE.partial and says so, unless --replace-by-partial is given")
def _():
    with Folder() as folder:
        file = folder.write("report.json", "older and complete")
        endless = f"temperature --trials 1e12 --output {file} --format json"
        partial = stopped_after(0.3, endless)
        assert partial.code == 3
        assert "Stopped early" in partial.output
        assert f"the partial report is {file}.partial; {file} is unchanged" in partial.errors
        assert folder.read("report.json") == "older and complete"
        assert json.loads(folder.read("report.json.partial"))["complete"] is False
        assert stopped_after(0.3, endless, "--replace-by-partial").code == 3
        assert json.loads(folder.read("report.json"))["complete"] is False


@case("a stopped run without --output prints its partial tables")
def _():
    done = stopped_after(0.3, "temperature --trials 1e12")
    assert done.code == 3
    assert "Approximate softmax against temperature" in done.output
    assert "Stopped early: rows that were not reached are empty." in done.output
    assert done.errors == ""


@case("every JSON and CSV report has the record of its run")
def _():
    small = "temperature --dimension 2 --context-length 5 --trials 2048"
    openmp, serial, automatic = (report(f"{small} --seed 7 --device {device}")
                                 for device in ("openmp --threads 3", "serial", "automatic"))
    assert openmp["complete"] is True
    assert (openmp["device"], openmp["threads"]) == ("openmp", 3)
    assert (serial["device"], serial["threads"]) == ("serial", 1)
    assert openmp["instructions"] == serial["instructions"]
    assert serial["instructions"] in ("plain", "AVX2", "AVX-512")
    assert openmp["seed"] == 7
    assert openmp["trials"] == 2048 + 2048 / 32  # the trials of the ridge are counted too
    assert openmp["seconds"] > 0
    assert len(openmp["commit"]) >= 7
    assert "--threads 3" in openmp["command"]
    assert openmp["arguments"]["device"] == "openmp"
    assert automatic["device"] != "automatic"

    header, *rows = csv.reader(run(f"{small} --format csv --device serial").output.splitlines())
    assert ",z,trials,values,tolerance,verdict,reason," in ",".join(header)
    assert header[-11:] == ("command,complete,exit_code,run_trials,seconds,device,threads,instructions,seed,version,"
                            "commit").split(",")
    assert len(rows) == 10
    for one in rows:
        assert len(one) == len(header)
        said = dict(zip(header, one))
        assert (said["complete"], said["exit_code"], said["run_trials"]) == ("true", "0", "2112")
        assert (said["device"], said["threads"], said["seed"]) == ("serial", "1", "1")
        assert said["instructions"] == serial["instructions"]


@case("the reason of an exit code other than 0 is on standard error when standard output is CSV")
def _():
    done = run("temperature --scoring softmax --query included --mean-shift 1 --trials 512 --format csv")
    assert done.code == 3
    assert "incontext temperature: Nothing was judged" in done.errors
