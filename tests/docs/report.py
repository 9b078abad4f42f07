#!/usr/bin/env python3
"""report.py ROOT: the report of docs/report/ is refused where its prose, its slots and the reports do not fit.

    report.py ROOT                   the test; also compiles the PDF where there is a pdflatex. Exit 77: no tomllib
    report.py ROOT --record FOLDER   writes report.json anew, from the folder that build.py's --reports has filled

The ledger is made of the claims files, with a verdict that each sentence of the prose allows, and the rows of runs are
those of report.json, a small extract of real ones. So a claim, a slot, an option or a table that is renamed without its
prose fails here, in seconds and without a simulation.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

try:
    import tomllib
except ImportError:
    print("skipped: this Python has no tomllib")
    sys.exit(77)

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "docs/report"))
sys.dont_write_bytecode = True
import build  # noqa: E402

EXTRACT = pathlib.Path(__file__).with_name("report.json")
PROSE = (ROOT / "docs/report/report.tex").read_text()
DECLARED = tomllib.loads((ROOT / "docs/report/slots.toml").read_text())
failures = []


def claim_rows():
    """The claims and groups of a ledger in which each claim has a verdict that the prose allows it."""
    needed = dict(re.findall(r"\\given\{([^{}]*)\}\{([^{},]*)", PROSE))
    notes, claims, groups = [], [], []
    for file in sorted((ROOT / "examples/verify/claims").glob("*.toml")):
        paper = tomllib.loads(file.read_text())
        notes.append(f'{paper["paper"]}/...: arXiv {paper["arxiv"]}, {paper["authors"]}, "{paper["title"]}".')
        for claim in paper["claim"]:
            name = f'{paper["paper"]}/{claim["id"]}'
            verdict = needed.get(name) or ("out of reach" if "out_of_reach" in claim else
                                           "not tried" if "not_tried" in claim else
                                           "seen in a small model" if claim.get("scale") == "small" else "confirmed")
            claims.append({"claim": name, "paper": paper["arxiv"], "place": claim["place"], "quote": claim["quote"],
                           "setting": claim["setting"], "ours": claim.get("ours"), "verdict": verdict,
                           "paper_holds": "1 of 1", "controls": None})
            for group in claim.get("rows", []):
                role = group.get("role", "paper")
                state = "rejected, as it should be" if role == "control" else "holds"
                groups.append({"claim": name, "role": role, "regime": group.get("regime"), "says": group["says"],
                               "state": state, "numbers": "closest at n 10: 1.5e-06 ± 2 against -3"})
    return {"complete": True, "exit_code": 0, "commit": "test", "version": "0.0.0", "seed": 1,
            "arguments": {"edition": "quick"}, "verdict": {"family": 1, "bound": 3.25},
            "tables": [{"name": "claims", "notes": notes, "rows": claims}, {"name": "groups", "rows": groups}]}


class Extract(build.Reports):
    """Reports that are given, and those that the repository records."""

    def __init__(self, ledger, runs, lines):
        self.given = {"ledger": ledger, **runs}
        super().__init__(None, ".", None, lines)

    def get(self, name, line):
        return self.given[name] if name in self.given else super().get(name, line)


def filled(change=lambda ledger, runs, declared: None, prose=PROSE):
    """The LaTeX source, after a change of copies of the ledger, the runs and the slots."""
    ledger, runs, declared = (copy.deepcopy(part) for part in (LEDGER, RUNS, DECLARED))
    change(ledger, runs, declared)
    return build.fill(prose, build.Slots(Extract(ledger, runs, declared["runs"]), declared))


def expect_refusal(what, words, *arguments, **options):
    try:
        filled(*arguments, **options)
    except build.Refusal as refusal:
        if missing := [word for word in words if word not in str(refusal)]:
            failures.append(f"{what}: the refusal does not say {missing}: {refusal}")
    else:
        failures.append(f"{what}: not refused")


def slot_of(declared, name):
    return next(slots[name] for tables in declared["number"].values() for slots in tables.values() if name in slots)


class Row(dict):
    """A row that knows which of its cells were read."""

    def __init__(self, cells, read):
        super().__init__(cells)
        self.read = read

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)


def table_of(report, name):
    return next(table for table in report["tables"] if table["name"].startswith(name))


def record(folder):
    """Writes the cells that the report reads, with seven digits."""
    reports = build.Reports(None, folder, next(pathlib.Path(folder).glob("ledger*.json")), DECLARED["runs"])
    read, table = {}, reports.table

    def noted(run, name):
        if (run, name) not in read:
            cells = set()
            read[run, name] = [Row(row, cells) for row in table(run, name)], cells
        return read[run, name][0]

    reports.table = noted
    build.fill(PROSE, build.Slots(reports, DECLARED))
    def kept(cell):
        return float(f"{cell:.7g}") if isinstance(cell, float) else cell

    words = PROSE + " ".join(row["what"] for row in DECLARED["exact"])
    quoted = dict(re.findall(r"\\noted\{([^{}]*)\}\{([^{}]*)\}", words))
    runs = {}
    for run, report in reports.known.items():
        if not DECLARED["runs"][run].startswith("recorded "):
            tables = [{"name": name, "rows": [{key: kept(row[key]) for key in row if key in cells} for row in rows]}
                      for (of, name), (rows, cells) in read.items() if of == run]
            for one in tables:
                if one["name"].startswith(quoted.get(run, "\0")):
                    one.update((key, table_of(report, one["name"])[key]) for key in ("title", "notes"))
            arguments = [*DECLARED["number"].get(run, {}).get("arguments", {}).values(),
                         *(name for row in DECLARED["exact"] if row["run"] == run
                           for name in re.findall(r"\\here\{([^{}]*)\}", row["what"]) if name in report["arguments"])]
            runs[run] = {"exit_code": 0, "complete": True, "commit": "test", "tables": tables,
                         "arguments": {name: report["arguments"][name] for name in arguments}}
    lines = ",\n".join(f"{json.dumps(run)}: {json.dumps(report, ensure_ascii=False)}" for run, report in runs.items())
    EXTRACT.write_text("{\n" + lines + "\n}\n")


def check_refusals():
    claim = "scalable-softmax/figure-1"

    def without_claim(ledger, _, __):
        ledger["tables"][0]["rows"] = [row for row in ledger["tables"][0]["rows"] if row["claim"] != claim]

    def with_verdict(ledger, _, __):
        for row in ledger["tables"][0]["rows"]:
            row["verdict"] = "undecided"

    def without_table(_, runs, __):
        runs["gradients"]["tables"] = []

    def other_commit(_, runs, __):
        runs["gradients"]["commit"] = "other"

    def disagreeing(_, runs, __):
        for row in runs["lengths"]["tables"][0]["rows"]:
            row["verdict"] = "disagrees"

    def without_number(_, __, declared):
        del declared["number"]["gradients"]["gradient_of"]["gradient_8"]

    def without_run(_, __, declared):
        del declared["runs"]["gradients"]

    def without_column(_, runs, __):
        for row in runs["deviant"]["tables"][0]["rows"]:
            del row["n"]

    def other_words(_, __, declared):
        declared["beside"][0]["paper"] = "words that no paper has"

    def incomplete(ledger, _, __):
        ledger["complete"] = False

    def stopped(_, runs, __):
        runs["gradients"]["complete"] = False

    def of_a_gpu(ledger, _, __):
        ledger["tables"].append({"name": "the_runs", "rows": [{"command": "incontext fading --device cuda:1"}]})

    def without_error(_, __, declared):
        del slot_of(declared, "bound_mean")["stddev"]

    def few_digits(_, __, declared):
        slot_of(declared, "drawn_short")["digits"] = 4

    def typed_length(_, __, declared):
        declared["exact"][0]["what"] += ", l = 50"

    expect_refusal("a run that was stopped", ["gradients-", ".json", "stopped early"], stopped)
    expect_refusal("a ledger of a GPU", ["ledger-", "GPU"], of_a_gpu)
    expect_refusal("a mean without its error", ["slot bound_mean", "bound_stddev"], without_error)
    expect_refusal("digits that hide an error", ["slot drawn_short", "hide its error"], few_digits)
    expect_refusal("a number typed in slots.toml", ["slots.toml", "50"], typed_length)
    expect_refusal("a claim that the ledger lacks", [claim], without_claim)
    expect_refusal("a verdict that a sentence contradicts", ["claim temperature/theorem-4", "undecided"], with_verdict)
    expect_refusal("a table that a run lacks", ["gradient_8", "gradient_of"], without_table)
    expect_refusal("a run of another commit", ["gradients", "other"], other_commit)
    expect_refusal("an exact result that is rejected", ["error of approximate softmax", "disagrees"], disagreeing)
    expect_refusal("a slot that is not declared", ["slot gradient_8"], without_number)
    expect_refusal("a run that is not declared", ["gradient_8", "gradients"], without_run)
    expect_refusal("a column that a figure lacks", ["no column n"], without_column)
    expect_refusal("words that the ledger lacks", ["words that no paper has"], other_words)
    expect_refusal("an incomplete ledger", ["incomplete"], incomplete)
    for what, old, new, words in (
            ("a slot that nothing uses", r"\val{gradient_third}", "", "gradient_third"),
            ("a number that is typed", r"\section{Limits}", r"\section{Limits} It is 0.75.", "0.75"),
            ("a number in a caption", r"\val{row_gap} above", "5 above", "a caption"),
            ("a note that a table lacks", "{of a score 3 above", "{of a score 4 above", "does not say"),
            ("a verdict that there is not", r"\count{contradicted}", r"\count{certain}", "certain"),
            ("a derivation that there is not", "{Onset}", "{Offset}", "no heading Offset"),
            ("a slot without braces", r"\val{gradient_third}", r"\val gradient", "without its braces")):
        expect_refusal(what, [words], prose=PROSE.replace(old, new))


def check_kept():
    """A report of a run that was stopped is not kept, and one that is complete is."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        kept = pathlib.Path(folder, build.kept_name("x", "true --seed 1"))
        reports = Extract.__new__(Extract)
        reports.given, reports.program, reports.folder = {}, str(program), pathlib.Path(folder)
        for complete in ("false", "true"):
            program.write_text('#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\n'
                               f"""echo '{{"complete": {complete}}}' >"$2"\n""")
            program.chmod(0o755)
            try:
                reports.get("x", "true --seed 1")
            except build.Refusal as refusal:
                if complete == "true" or kept.name not in str(refusal):
                    failures.append(f"a report that is complete: {complete}: {refusal}")
            if kept.exists() != (complete == "true") or len(list(pathlib.Path(folder).iterdir())) != 1 + kept.exists():
                failures.append(f"a report that is complete: {complete}: kept {kept.exists()}")


def check_assertions():
    """Each assertion of the prose, made impossible, is refused by the name of its slot."""
    asserted = [(name, word) for tables in DECLARED["number"].values() for slots in tables.values()
                for name, slot in slots.items() for word in ("above", "below")
                if isinstance(slot, dict) and word in slot]
    if len(asserted) < 40:
        failures.append(f"only {len(asserted)} assertions are declared")
    for name, word in asserted:
        def impossible(_, __, declared, name=name, word=word):
            slot_of(declared, name)[word] = 1e300 if word == "above" else -1e300
        expect_refusal(f"{name} not {word}", [f"slot {name}", word], impossible)


def check_source():
    tex = filled()
    slots = re.findall(r"\\(?:%s)(?=\{)" % "|".join(build.COMMANDS), tex)
    if slots:
        failures.append(f"slots that are not filled: {sorted(set(slots))}")
    if tex != filled():
        failures.append("the same reports give another source")
    if lost := [arxiv for arxiv in ("2511.01292", "2510.10425", "2501.19399", "2508.14685", "2310.12956")
                if rf"\bibitem{{{arxiv}}}" not in tex]:
        failures.append(f"papers that are not in the bibliography: {lost}")
    shown = build.latex('"a" of W_K, 10^2 and n = 50; 1.5e-06, sqrt(log n), 5-7, tau, -2 ± 1% ...')
    if shown != (r"``a'' of $W_{K}$, $10^{2}$ and $n = 50$; $1.5 \cdot 10^{-6}$, $\sqrt{\log n}$, 5--7, $\tau$, "
                 r"$-$2 $\pm$ 1\% \dots{}"):
        failures.append(f"text of a report in LaTeX: {shown}")
    return tex


def check_pdf(tex):
    output = pathlib.Path(tempfile.mkdtemp(), "report.pdf")
    pdflatex = os.environ.get("PDFLATEX")
    os.environ["PDFLATEX"] = "/nonexistent"
    try:
        build.compile_tex(tex, output)
    except build.Refusal as refusal:
        if "texlive" not in str(refusal):
            failures.append(f"without pdflatex: {refusal}")
    else:
        failures.append("without pdflatex: not refused")
    del os.environ["PDFLATEX"]
    if pdflatex:
        os.environ["PDFLATEX"] = pdflatex
    if shutil.which(pdflatex or "pdflatex"):
        try:
            build.compile_tex(tex.replace(r"\ref{tab:exact}", r"\ref{nothing}", 1), output)
        except build.Refusal as refusal:
            if "nothing" not in str(refusal) or output.exists():
                failures.append(f"an undefined reference: {refusal}; written: {output.exists()}")
        else:
            failures.append("an undefined reference: not refused")
        try:
            build.compile_tex(tex, output)
        except build.Refusal as refusal:
            failures.append(str(refusal))
    else:
        print("not compiled: there is no pdflatex")
    shutil.rmtree(output.parent)


if sys.argv[2:3] == ["--record"]:
    record(sys.argv[3])
    sys.exit()
LEDGER, RUNS = claim_rows(), json.loads(EXTRACT.read_text())
source = check_source()
check_refusals()
check_kept()
check_assertions()
check_pdf(source)
print("\n".join(failures))
sys.exit(f"{len(failures)} failures" if failures else 0)
