"""incontext verify: the ledger of claims."""
import json
import re
import signal
import time

from program import ROOT, Folder, Running, case, refused, report, run, slow


def one_claim(command):
    """A file of claims that runs one command."""
    return f"""paper = "p"
arxiv = "0"
title = "A paper"
authors = "Somebody"
text = "all"
[runs]
only = {{ quick = "{command}" }}
[[claim]]
id = "a"
place = "Fig. 1"
quote = "So it is."
setting = "any"
[[claim.rows]]
says = "So it is."
run = "only"
table = "Figure"
"""


@case("the ledger runs its siblings for one claim, and the claim's numbers are theirs")
def _():
    found = report("verify --claim normsoftmax/reasoning-chance,signed-averaging/saturation")
    claims = found["tables"][0]["rows"]
    assert len(claims) == 2
    assert claims[0]["claim"] == "signed-averaging/saturation"
    assert claims[1]["verdict"] == "confirmed"
    assert found["verdict"]["agrees"] is True
    said = [note for note in found["tables"][0]["notes"] if note.startswith("signed-averaging/saturation, paper (")]
    assert len(said) == 3 and sum("against 0.9" in note for note in said) == 3, said
    assert len(found["tables"][3]["rows"]) == 4  # saturation has three runs
    in_ledger = [one["simulation"] for one in found["tables"][2]["rows"]]
    for table in report("tasks --seed 1")["tables"]:
        assert all(one["simulation"] in in_ledger for one in table["rows"])


@case("a claim has the verdict of the whole ledger, alone and beside others")
def _():
    recorded = json.loads((ROOT / "python/incontext/ledger.json").read_text())["tables"][0]["rows"]
    whole = {one["claim"]: one["verdict"] for one in recorded}
    together = ["normsoftmax/figure-7a-heat-treatment", "normsoftmax/figure-7a-normsoftmax", "normsoftmax/eureka-moments",
                "scalable-softmax/figure-1", "signed-averaging/table-2"]
    for claims in (together[:1], together[3:4], together):
        for one in report(f"verify --claim {','.join(claims)}")["tables"][0]["rows"]:
            assert one["verdict"] == whole[one["claim"]], one["claim"]


@case("every table that a claim names has its title in the program's sources")
def _():
    literals = {text for source in (ROOT / "examples").glob("*/*.[ch]pp")
                for text in re.findall(r'"((?:[^"\\]|\\.)*)"', source.read_text())}
    beginnings = tuple(text for text in literals if len(text) >= 8 and text.endswith(" "))
    titles = {table for file in (ROOT / "examples/verify/claims").glob("*.toml")
              for table in re.findall(r'^table = "(.*)"$', file.read_text(), re.M)}
    assert len(titles) > 80
    for title in titles:
        assert title.startswith(beginnings) or any(text.startswith(title) for text in literals), title


@case("the ledger's list names every claim and runs nothing")
def _():
    found = report("verify --list")
    assert len(found["tables"][0]["rows"]) > 60
    assert found["verdict"] is None


@case("the claims of a paper are printed as they are, and can be tried again")
def _():
    printed = run("verify --paper 2501.19399 --print-claims")
    assert printed.code == 0
    assert printed.output == (ROOT / "examples/verify/claims/scalable_softmax.toml").read_text()
    assert run("verify --claim scalable-softmax/fading --print-claims").output == printed.output
    refused("verify --print-claims", "--print-claims: needs one paper")


@case("an unknown claim or paper is refused with the nearest")
def _():
    refused("verify --claim temperature/theorm-4.2", "temperature/theorem-4.2?")
    refused("verify --paper kernel-decent", "kernel-descent?")
    refused("verify --claim temperature/theorem-4.2 --paper 2310.12956")


@case("outputs are tried before anything runs")
def _():
    with Folder() as folder:
        # refused, if it is run
        claims = folder.write("claims.toml", one_claim("incontext temperature --dimension 0"))
        assert "--dimension" in run(["verify", "--claims-file", claims]).output
        for option in "--output", "--page":
            errors = refused(["verify", "--claims-file", claims, option, "/no/such/folder/file.html"], option)
            assert "--dimension" not in errors
        file = folder.file("same.html")
        refused(["verify", "--page", file, "--output", file])


@case("a page replaces no file whose name is not that of a page")
def _():
    with Folder() as folder:
        refused(["verify", "--page", folder.write("results.json", "{}")], "--page: is not the name of a page")
        assert folder.read("results.json") == "{}"


@case("a claim that nothing tries is no agreement, and the text says why")
def _():
    done = run("verify --claim temperature/figure-4")
    assert done.code == 3
    assert "temperature/figure-4, out of reach: needs" in done.output
    assert "Incomplete: nothing was tried; of 1 claim" in done.output


@case("Ctrl-C ends the programs and still reports")
def _():
    with Folder() as folder:
        claims = folder.write("claims.toml", one_claim("incontext temperature --figure 2a --trials 1000000000"))
        with Running(["verify", "--claims-file", claims, "--output", folder.file("ledger.json"), "--quiet"]) as running:
            running.wait_for_trials()
            time.sleep(0.3)
            running.send(signal.SIGINT)
            assert running.wait().code == 3
        assert folder.names() == ["claims.toml", "ledger.json.partial"]
        assert json.loads(folder.read("ledger.json.partial"))["complete"] is False


@case("claims of one's own are tried in the place of the program's, and what is wrong in them is named")
def _():
    text = (ROOT / "examples/verify/claims/scalable_softmax.toml").read_text()
    with Folder() as folder:
        own = folder.write("own.toml", text)
        line = ["verify", "--claims-file", own, "--claim", "scalable-softmax/fading"]
        found = report(line)
        assert found["tables"][0]["rows"][0]["verdict"] == "confirmed"
        assert report("verify --claim scalable-softmax/fading")["tables"][0] == found["tables"][0]
        # A row of the paper that is moved contradicts it, and is no failure of the run.
        assert "than = 0.0002" in text
        folder.write("own.toml", text.replace("than = 0.0002", "than = 0.0001", 1))
        moved = report(line)
        assert moved["tables"][0]["rows"][0]["verdict"] == "contradicted"
        assert moved["verdict"]["agrees"] is True
        folder.write("own.toml", text + "colour = 1\n")
        refused(["verify", "--claims-file", own, "--list"], "has an unknown key 'colour'")


@slow("two seeds give every claim the same verdict")
def _():
    claims, again = (report(f"verify --seed {seed}")["tables"][0]["rows"] for seed in (11, 12))
    assert len(claims) == len(again) > 100
    assert [one["verdict"] for one in claims] == [one["verdict"] for one in again]
    equal = sum(one["resolution"] == other["resolution"] is not None for one, other in zip(claims, again))
    assert equal < len(claims) / 4  # other draws, not the same run twice
