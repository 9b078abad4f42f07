#!/usr/bin/env python3
"""Builds the report, a PDF of at most 12 pages, from the ledger's JSON, which has its numbers, verdicts and quotations.

    docs/report/build.py --program build/examples/incontext -o report.pdf
    docs/report/build.py --program build/examples/incontext --reports build/report -o report.pdf

The first runs `incontext verify` (some minutes) and the subcommands that slots.toml names (a minute). The second keeps
their JSON reports in a folder and reads those that are already there, so that a change of the prose costs seconds.

    --ledger FILE.json    a ledger that `incontext verify --format json` has written, in the place of a run
    --reports FOLDER      where reports are kept; a report is found again by its command line
    --tex FILE.tex        writes the filled LaTeX source as well

    --commit HASH         of a program that was built outside of a repository, whose reports do not know it

report.tex is the prose, with slots; slots.toml says what fills them and what the prose asserts of the numbers; plots.py
draws the figures. The build fails, and names the slot or the claim, where a slot can't be filled, where the ledger
lacks a claim that the prose speaks of or has another verdict than a sentence needs, and where a number breaks an
assertion; also where a line is too wide, a reference is undefined, or there are more than 12 pages.

Needs Python 3.11 and, of Debian: texlive-latex-recommended texlive-pictures lmodern. PDFLATEX names another pdflatex.
The same reports give the same bytes with the same LaTeX. Exit codes: 0 built, 1 refused, 2 wrong use.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import plots

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE.parents[1] / "examples/verify/recorded"
LEDGER = "verify --edition quick --seed 1"
MOST_PAGES = 12
MOST_OVERFULL = 2.0  # points
VERDICTS = ["confirmed", "holds in a regime", "seen in a small model", "by definition", "undecided",
            "not reproduced in a small model", "contradicted", "not tried", "out of reach"]
UNTRIED = ("not tried", "out of reach")


class Refusal(Exception):
    """What keeps the report from being built."""


# From the words of reports to LaTeX.

SYMBOLS = {"σ": r"$\sigma$", "τ": r"$\tau$", "κ": r"$\kappa$", "≈": r"$\approx$", "≥": r"$\ge$", "≤": r"$\le$",
           "±": r"$\pm$", "—": "---", "–": "--", "²": "$^2$", "’": "'", "…": r"\dots{}", "×": r"$\times$",
           "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "\\": r"\textbackslash{}",
           "~": r"\textasciitilde{}", "<": "$<$", ">": "$>$", "|": "$|$", "_": r"\_", "^": r"\textasciicircum{}",
           "ć": r"\'{c}"}
GREEK = re.compile(r"\b(tau|sigma|kappa)\b")
# formulas in the text of reports: scripts (W_K, 10^2), equations (d = l = 50), n - 1, square roots, powers of ten
FORMULA = re.compile(r"sqrt\((?P<root>[^()]*)\)|\b[dlknsxbm](?: = [a-z])? = -?\d[\d,./]*(?<![.,])|\bn - 1\b|"
                     r"(?P<digits>\b\d(?:\.\d+)?)e(?P<power>[+-]\d+)\b|"
                     r"(?P<base>(?<![\w.])[\w.]*\w|\))(?P<kind>[_^])(?P<script>-?[\w.]*\w)")


def formula(match):
    """A formula in LaTeX, between marks."""
    if match["root"]:
        text = rf"\sqrt{{{match['root'].replace('log', chr(92) + 'log')}}}"
    elif match["power"]:
        text = rf"{match['digits']} \cdot 10^{{{int(match['power'])}}}"
    elif match["base"]:
        base, script = (rf"\mathrm{{{word}}}" if word.isalpha() and len(word) > 1 else word
                        for word in (match["base"], match["script"]))
        text = f"{base}{match['kind']}{{{script}}}"
    else:
        text = match[0].replace(",", "{,}")
    return f"\0{text}\0"


def latex(text):
    """Text of a report as LaTeX: symbols, formulas, and quotation marks that open and close."""
    parts = FORMULA.sub(formula, text.strip()).split("\0")
    for i in range(0, len(parts), 2):
        part = GREEK.sub(lambda word: {"tau": "τ", "sigma": "σ", "kappa": "κ"}[word[0]], parts[i])
        part = re.sub(r'(^|[\s(\[])"', r"\1``", part).replace('"', "''")
        part = "".join(SYMBOLS.get(character, character) for character in part)
        part = part.replace("...", r"\dots{}")
        part = re.sub(r"(?<=\d)-(?=\d)", "--", part)
        parts[i] = re.sub(r"(?<![\w-])-(?=\d)", "$-$", part)
    for i in range(1, len(parts), 2):
        parts[i] = f"${parts[i]}$"
    text = "".join(parts)
    strange = sorted({character for character in text if ord(character) > 126})
    if strange:
        raise Refusal(f"no LaTeX is known for {' '.join(strange)} in: {text[:80]}")
    return text


def sentence(text):
    """A sentence of the ledger inside of one of ours: without its full stop."""
    return latex(text).rstrip(".")


def shortened(text, length):
    """The beginning of a quotation, up to a word."""
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(" ,;:.") + " ..."


def significant(value, digits):
    """A number with so many significant digits; whole numbers of more digits stay whole."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:.{decimals}f}"


def number_text(value, digits, error=None):
    """In LaTeX, inside of formulas and outside: with its error, which gets two digits; tiny ones by powers of 10."""
    if error:
        decimals = max(1 - math.floor(math.log10(error)), 0)
        text = rf"{value:.{decimals}f} \pm {error:.{decimals}f}"
    elif value == int(value):
        text = f"{int(value):,}".replace(",", "{,}") if abs(value) >= 1e4 else f"{int(value)}"
    elif abs(value) < 1e-3:
        power = math.floor(math.log10(abs(value)))
        text = rf"{significant(value / 10**power, digits)} \cdot 10^{{{power}}}"
    else:
        text = significant(value, digits)
    return rf"\ensuremath{{{text}}}"


# Reports: the ledger, and the runs that the slots name.

def kept_name(name, line):
    return f"{name}-{hashlib.sha256(line.encode()).hexdigest()[:8]}.json"


def refuse_gpu(report, of):
    """Refuses a report of a GPU, and a ledger whose commands or recorded reports are of one."""
    devices = [report.get("device"), report.get("arguments", {}).get("device")]
    for table in report["tables"]:
        for row in table["rows"] if table["name"] == "the_runs" else []:
            devices += re.findall(r"--device[ =](\S+)", row["command"])
            if recorded := row.get("recorded"):
                devices.append(Reports.read(RECORDED / recorded.split(",")[0]).get("device"))
    if any(str(device).startswith("cuda") for device in devices):
        raise Refusal(f"{of} is of a GPU, and the prose says that none has run this")


class Reports:
    def __init__(self, program, folder, ledger, runs):
        self.program, self.folder, self.lines = program, pathlib.Path(folder), runs
        self.known = {}
        self.ledger = self.read(pathlib.Path(ledger)) if ledger else self.get("ledger", LEDGER)
        kept = ledger or self.folder / kept_name("ledger", LEDGER)
        if not self.ledger.get("complete") or self.ledger.get("exit_code") != 0:
            raise Refusal(f"the ledger {kept} is incomplete, or a result of ours is rejected in it")
        refuse_gpu(self.ledger, f"the ledger {kept}")

    @staticmethod
    def read(file):
        try:
            return json.loads(file.read_text())
        except (OSError, ValueError) as problem:
            raise Refusal(f"{file}: {problem}") from None

    def get(self, name, line):
        """The report of a command line: kept, recorded in the repository, or of a run of the program."""
        if line.startswith("recorded "):
            return self.read(RECORDED / line.split()[1])
        kept = self.folder / kept_name(name, line)
        if not kept.exists():
            if not self.program:
                raise Refusal(f"there is no report {kept.name}, and no --program to make one by: incontext {line}")
            print(f"incontext {line}", flush=True)
            with tempfile.TemporaryDirectory(dir=self.folder, prefix="new-") as folder:
                made = pathlib.Path(folder, kept.name)
                output = ["--format", "json", "--output", str(made), "--quiet"]
                subprocess.run([self.program, *line.split(), *output], check=False)
                if not made.exists():
                    raise Refusal(f"no report came of: incontext {line}")
                if not self.read(made).get("complete"):
                    raise Refusal(f"stopped early, and not kept as {kept}: incontext {line}")
                made.replace(kept)
        return self.read(kept)

    def run(self, name):
        if name not in self.lines:
            raise Refusal(f"slots.toml has no run {name}")
        if name not in self.known:
            line = self.lines[name]
            recorded = line.startswith("recorded ")
            of = f"run {name} ({line.split()[1] if recorded else self.folder / kept_name(name, line)})"
            report = self.get(name, line)
            if report["exit_code"] not in (0, 3):
                raise Refusal(f"{of}: exit code {report['exit_code']}: {report['verdict'].get('text')}")
            if not report.get("complete"):
                raise Refusal(f"{of} was stopped early")
            refuse_gpu(report, of)
            commit, ledgers = report.get("commit"), self.ledger.get("commit")
            if commit != ledgers and not recorded:
                raise Refusal(f"{of} is of commit {commit}, and the ledger of {ledgers}")
            self.known[name] = report
        return self.known[name]

    def whole_table(self, name, table):
        """The first table whose name begins so."""
        for one in self.run(name)["tables"]:
            if one["name"].startswith(table):
                return one
        raise Refusal(f"run {name} has no table {table}")

    def table(self, name, table):
        """Its rows."""
        return self.whole_table(name, table)["rows"]

    def row(self, name, table, where):
        """The one row whose cells are those of `where`."""
        def fits(row):
            return all(math.isclose(row[k], v, rel_tol=1e-6) if isinstance(v, float) else row[k] == v
                       for k, v in where.items())
        rows = self.table(name, table)
        if unknown := [key for key in where if key not in rows[0]]:
            raise Refusal(f"table {table} of run {name} has no column {', '.join(unknown)}")
        found = [row for row in rows if fits(row)]
        if len(found) != 1:
            raise Refusal(f"{len(found)} rows of table {table} of run {name} have {where}, not one")
        return found[0]


# What fills the slots.

class Slots:
    def __init__(self, reports, declared):
        self.reports, self.declared = reports, declared
        self.numbers = {}
        for run, tables in declared["number"].items():
            for table, slots in tables.items():
                for name, slot in slots.items():
                    slot = slot if isinstance(slot, dict) else {"argument": slot}
                    self.numbers[name] = {"column": "theory", **slot, "run": run, "table": table}
        self.used = set()
        claims, groups = (table["rows"] for table in reports.ledger["tables"][:2])
        self.claims = {claim["claim"]: claim for claim in claims}
        self.groups = {}
        for group in groups:
            self.groups.setdefault(group["claim"], []).append(group)
        self.values = {}
        notes = " ".join(reports.ledger["tables"][0]["notes"])
        self.papers = {arxiv: {"word": word, "authors": authors, "title": title} for word, arxiv, authors, title
                       in re.findall(r'([\w-]+)/\.\.\.: arXiv ([\d.]+), (.*?), "(.*?)"\.', notes)}

    # numbers

    def value(self, name):
        """The number of a slot, on which its assertions are checked once."""
        if name not in self.numbers:
            raise Refusal(f"slot {name}: slots.toml does not declare it")
        self.used.add(name)
        if name not in self.values:
            slot = self.numbers[name]
            try:
                self.values[name] = self.read(slot)
            except Refusal as refusal:
                raise Refusal(f"slot {name}: {refusal}") from None
            self.check(name, slot)
        return self.values[name][0]

    def read(self, slot):
        scale, error = slot.get("scale", 1), None
        if "argument" in slot:
            value = self.reports.run(slot["run"])["arguments"].get(slot["argument"])
        else:
            row = self.reports.row(slot["run"], slot["table"], slot.get("where", {}))
            if slot["column"] not in row:
                raise Refusal(f"table {slot['table']} of run {slot['run']} has no column {slot['column']}")
            value = row[slot["column"]]
        if not isinstance(value, (int, float)):
            raise Refusal(f"its cell has no number ({value!r})")
        if "argument" not in slot:
            error = self.error(slot, row, value)
        if "less" in slot:
            value -= self.value(slot["less"])
        if "over" in slot:
            below = self.value(slot["over"])
            if below_error := self.values[slot["over"]][1]:
                error = math.hypot(error or 0, value * below_error / below)
            scale /= below
        if scale != 1:
            value, error = value * scale, error and error * scale
        return value, error

    def error(self, slot, row, value):
        """The standard error of a cell; none where the report has none."""
        column = slot["column"]
        if "relative_error" in slot:
            return value * row[slot["relative_error"]]
        if "stddev" in slot:
            runs = slot["values"]
            return row[slot["stddev"]] / math.sqrt(row[runs] if runs in row
                                                   else self.reports.run(slot["run"])["arguments"][runs])
        if "error" in slot or column == "simulation":
            return row[slot.get("error", "standard_error")]
        for word in ("error", "stddev"):
            if (other := f"{column.removeprefix('mean_')}_{word}") in row:
                raise Refusal(f"its column {column} has its error in {other}, which slots.toml does not name")
        return None

    def check(self, name, slot):
        """What the prose asserts of a number: above or below another number or slot."""
        for word, right in (("above", lambda a, b: a > b), ("below", lambda a, b: a < b)):
            if word in slot:
                others = slot[word] if isinstance(slot[word], list) else [slot[word]]
                for other in others:
                    bound = self.value(other) if isinstance(other, str) else other
                    if not right(self.values[name][0], bound):
                        raise Refusal(f"slot {name}: the prose needs it {word} {other} ({bound:g}), "
                                      f"and it is {self.values[name][0]:g}")

    def number(self, name):
        self.value(name)
        value, error = self.values[name]
        if "argument" in self.numbers[name]:
            return rf"\ensuremath{{{value:.6g}}}"
        if error and (digits := self.numbers[name].get("digits")):
            shown = significant(value, digits)
            if error >= 0.5 * 10.0 ** -len(shown.partition(".")[2]):
                raise Refusal(f"slot {name}: {digits} digits ({shown}) hide its error, {error:.2g}")
            error = None
        return number_text(value, self.numbers[name].get("digits", 3), error)

    def at(self, name, cell):
        """Where the number of a slot is taken from."""
        value = self.numbers.get(name, {}).get("where", {}).get(cell)
        if value is None:
            raise Refusal(f"slot {name}: slots.toml does not take it at a {cell}")
        return latex(value) if isinstance(value, str) else number_text(value, 6)

    def noted(self, run, table, words):
        """Words that the title of a table has, or a note below it."""
        found, words = self.reports.whole_table(run, table), " ".join(words.split())
        if words not in " ".join([found.get("title", ""), *found.get("notes", [])]):
            raise Refusal(f"table {table} of run {run} does not say {words!r}")
        return latex(words)

    def here(self, row, found):
        """The words for an exact result, with the cells of its row and the arguments of its run."""
        def cell(match):
            arguments = self.reports.run(row["run"])["arguments"]
            value = found[match[1]] if match[1] in found else arguments.get(match[1])
            if not isinstance(value, (int, float)):
                raise Refusal(f"exact result {row['what']!r}: neither its row nor its run has a {match[1]}")
            return number_text(value, 6)
        return re.sub(r"\\here\{([\w-]+)\}", cell, row["what"])

    # claims

    def claim(self, name):
        if name not in self.claims:
            raise Refusal(f"claim {name}: the prose speaks of it, and the ledger does not have it")
        return self.claims[name]

    def given(self, name, verdicts, text):
        """A sentence that is right under these verdicts only."""
        verdict = self.claim(name)["verdict"]
        if verdict not in (allowed := [word.strip() for word in verdicts.split(",")]):
            raise Refusal(f"claim {name}: a sentence of report.tex needs it to be {' or '.join(allowed)}, "
                          f"and the ledger says {verdict}")
        return text

    def words(self, name, words):
        """Words that the ledger has in a claim."""
        claim = self.claim(name)
        if words not in " ".join(claim[key] or "" for key in ("place", "quote", "setting", "ours")):
            raise Refusal(f"claim {name}: the ledger does not say {words!r}")
        return words

    def of_paper(self, paper):
        if paper not in self.papers:
            raise Refusal(f"paper {paper}: the ledger does not have it")
        return [claim for claim in self.claims.values() if claim["paper"] == paper]

    def counts(self, paper=None):
        """How many claims have each verdict, as words."""
        claims = self.of_paper(paper) if paper else list(self.claims.values())
        counted = [(verdict, sum(claim["verdict"] == verdict for claim in claims)) for verdict in VERDICTS]
        parts = [f"{count} {verdict if count == 1 else verdict.replace('holds', 'hold')}"
                 for verdict, count in counted if count]
        return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]

    def listed(self, verdict):
        """The places of all claims with a verdict, by paper."""
        if verdict not in VERDICTS:
            raise Refusal(f"{verdict} is no verdict")
        parts = []
        for paper in self.papers:
            places = [latex(claim["place"]) for claim in self.of_paper(paper) if claim["verdict"] == verdict]
            if places:
                parts.append(rf"\arxiv{{{paper}}} ({'; '.join(dict.fromkeys(places))})")
        return ", ".join(parts) if parts else "none"

    def trial(self, name):
        """A claim with its quotation, our setting, what its rows say and whether they hold, and the verdict."""
        claim = self.claim(name)
        setting, ours = claim["setting"], claim["ours"] or ""
        if not ours or re.match(r"the same|as ", ours):
            setting = setting + (". Ours: " + ours if ours else "")
            parts = [rf"\textit{{Setting:}} {sentence(setting)}."]
        else:
            parts = [rf"\textit{{Ours:}} {sentence(ours)}."]
        for state, word in (("holds", "Holds"), ("does not hold", "Does not hold"), ("undecided", "Undecided")):
            said = []
            for group in self.groups.get(name, []):
                if group["role"] == "paper" and group["state"] == state:
                    numbers = group["numbers"] if "rows agree" not in (group["numbers"] or "") else None
                    regime = f" [{latex(group['regime'])}]" if group["regime"] else ""
                    said.append(sentence(group["says"]) + regime + (f" ({latex(numbers)})" if numbers else "") + ".")
            if said:
                parts.append(rf"\textit{{{word}:}} " + " ".join(said))
        missed = [g for g in self.groups.get(name, []) if g["role"] == "control" and g["state"].startswith("rejected")]
        if missed:
            parts.append(rf"\textit{{Rejected near miss:}} {sentence(missed[0]['says'])}.")
        return (rf"\trialblock{{{latex(claim['place'])}}}{{{latex(claim['quote'])}}}{{{claim['verdict']}}}"
                rf"{{{' '.join(parts)}}}")

    def table(self, paper):
        """How many claims of a paper have which verdict, and those that were tried, with what became of their rows."""
        lines = []
        for claim in self.of_paper(paper):
            if claim["verdict"] not in UNTRIED:
                counts = [(claim[key] or "--").replace(" of ", "/") for key in ("paper_holds", "controls")]
                lines.append(rf"{latex(claim['place'])} & {latex(shortened(claim['quote'], 118))} & {counts[0]} & "
                             rf"{counts[1]} & {claim['verdict']}")
        rest = [f"{verdict}: " + "; ".join(dict.fromkeys(latex(claim["place"]) for claim in self.of_paper(paper)
                                                          if claim["verdict"] == verdict))
                for verdict in UNTRIED if any(claim["verdict"] == verdict for claim in self.of_paper(paper))]
        rest = " ".join(f"{text[0].upper()}{text[1:]}." for text in [self.counts(paper), *rest])
        rows = "\\\\\\addlinespace[1.5pt]\n".join(lines)  # no space after the last row, where a page may end
        return "\n".join([rf"\begin{{claims}}{{{paper}}}{{{rest}}}", rows + r"\\", r"\end{claims}"])

    # tables of numbers

    def beside(self, expand):
        """A paper's words with a number, from the ledger, beside ours."""
        lines = []
        for row in self.declared["beside"]:
            claim = self.claim(row["claim"])
            words = latex(self.words(row["claim"], row["paper"]))
            lines.append(rf"\arxiv{{{claim['paper']}}}, {latex(claim['place'])} & {expand(row['what'])} & {words} & "
                         rf"{expand(row['ours'])} & {claim['verdict']} \\\addlinespace[2pt]")
        return "\n".join(lines)

    def exact(self, expand):
        """Exact results beside simulations; each must agree."""
        lines = []
        for row in self.declared["exact"]:
            try:
                found = self.reports.row(row["run"], row["table"], row["where"])
            except Refusal as refusal:
                raise Refusal(f"exact result {row['what']!r}: {refusal}") from None
            if found["verdict"] != "agrees":
                raise Refusal(f"exact result {row['what']!r}: its row says {found['verdict']}, and not that it agrees")
            digits = max(2, 1 - math.floor(math.log10(found["standard_error"] / abs(found["theory"]))))
            lines.append(rf"{expand(self.here(row, found))} & {number_text(found['theory'], digits)} & "
                         rf"{number_text(found['simulation'], digits, found['standard_error'])} & "
                         rf"${found['z']:.2f}$ \\")
        return "\n".join(lines)

    def references(self):
        return "\n".join(rf"\bibitem{{{paper}}} {latex(one['authors'].rstrip('.'))}. \emph{{{latex(one['title'])}}}. "
                         rf"arXiv \arxiv{{{paper}}}." for paper, one in self.papers.items())

    def unused(self):
        """Numbers and runs that are declared in vain."""
        return sorted(set(self.numbers) - self.used) + sorted(set(self.reports.lines) - set(self.reports.known))


# From report.tex to LaTeX.

def braced(text, at):
    """The content of the braces that open at a place, and where they end."""
    if at >= len(text) or text[at] != "{":
        raise Refusal(f"report.tex: a slot without its braces near: {text[max(at - 40, 0):at + 10]!r}")
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
        if depth == 0:
            return text[at + 1:end], end + 1
    raise Refusal(f"report.tex: braces that do not close: {text[at:at + 40]!r}")


COMMANDS = {"val": 1, "at": 2, "noted": 3, "words": 2, "given": 3, "count": 1, "counts": 1, "listed": 1, "trial": 1,
            "claimtable": 1, "theory": 2, "besiderows": 0, "exactrows": 0, "references": 0, "plot": 1, "made": 1}


def expander(slots, commit=None):
    """The function that fills the slots of a text."""
    def count(verdict):
        if verdict not in (*VERDICTS, "all"):
            raise Refusal(f"{verdict} is no verdict")
        return str(sum(verdict in ("all", claim["verdict"]) for claim in slots.claims.values()))

    def made(key):
        ledger = {**slots.reports.ledger, **({"commit": commit} if commit else {})}
        value = next((part[key] for part in (ledger, ledger["verdict"], ledger["arguments"]) if part.get(key)), None)
        if value is None:
            raise Refusal(f"the ledger does not record its {key}")
        if key == "commit":
            value = value[:10] + ("-dirty" if value.endswith("dirty") else "")
        return latex(value) if isinstance(value, str) else number_text(value, 3)

    def plot(name):
        if name not in plots.PLOTS:
            raise Refusal(f"plots.py has no figure {name}")
        try:
            return plots.PLOTS[name](slots)
        except KeyError as missing:
            raise Refusal(f"figure {name}: a table that it draws has no column {missing}") from None

    def theory(page, heading):
        """A section of a page with derivations, which must be there."""
        text = (HERE.parent / "theory" / f"{page}.md").read_text()
        if not re.search(rf"(?m)^#+ {re.escape(heading)}$", text):
            raise Refusal(f"docs/theory/{page}.md has no heading {heading}")
        return rf"\texttt{{docs/theory/{page}.md}}, ``{heading}''"

    def expand(text):
        fill = {
            "val": slots.number, "at": slots.at, "noted": slots.noted,
            "words": lambda name, words: latex(slots.words(name, words)),
            "given": lambda name, verdicts, said: slots.given(name, verdicts, expand(said)),
            "count": count, "counts": lambda paper: slots.counts(paper or None), "listed": slots.listed,
            "trial": slots.trial, "claimtable": slots.table, "besiderows": lambda: slots.beside(expand),
            "exactrows": lambda: slots.exact(expand), "references": slots.references,
            "plot": plot, "theory": theory, "made": made,
        }
        done, at = [], 0
        for found in re.finditer(r"\\(%s)(?![A-Za-z])" % "|".join(COMMANDS), text):
            if found.start() < at:
                continue
            done.append(text[at:found.start()])
            at, arguments = found.end(), []
            for place in range(COMMANDS[found[1]]):
                argument, at = braced(text, at)
                arguments.append(" ".join(argument.split()) if place < 2 else argument)
            done.append(fill[found[1]](*arguments))
        return "".join([*done, text[at:]])

    return expand


def refuse_typed_numbers(prose, declared):
    """Places of a paper, and 0 to 12 in formulas, are allowed; other numbers come from reports. In captions, and in the
    words that slots.toml has for rows of tables, it is 0 and 1."""
    body = re.sub(r"(?m)^%.*$", "", prose).partition(r"\begin{document}")[2].partition(r"\begin{thebibliography}")[0]
    places = r"(Theorem|Proposition|Section|Corollary|Remark|Figs?\.|Table|Eqs?\.|App\.)[~ ][\w.(),]*"
    lengths = r"-?\d*\.?\d+(pt|em|cm|mm|ex|\\(textwidth|linewidth|baselineskip))"
    commands = "label|ref|cite|arxiv|href|url|given|plot|val|at|here|noted|words|trial|claimtable|counts"
    names = rf"\\({commands})(\{{[^{{}}]*\}})+"

    def typed(text, largest):
        text = re.sub(f"{names}|{places}|{lengths}", "", re.sub(r"\\given\{[^{}]*\}\{[^{}]*\}", "", text))
        return [found[0] for found in re.finditer(r"(?<![\w.])\d+(\.\d+)?(\\%)?", text)
                if not (found[0].isdigit() and int(found[0]) <= largest)]

    captions = [braced(body, found.end())[0] for found in re.finditer(r"\\caption(?=\{)", body)]
    words = [row[key] for rows in (declared["beside"], declared["exact"]) for row in rows for key in ("what", "ours")
             if key in row]
    for file, texts, largest in (("report.tex", [body], 12), ("a caption", captions, 1), ("slots.toml", words, 1)):
        if numbers := [number for text in texts for number in typed(text, largest)]:
            raise Refusal(f"{file}: numbers that are typed and come from no report: {', '.join(numbers)}")


def fill(prose, slots, commit=None):
    refuse_typed_numbers(prose, slots.declared)
    prose = re.sub(r"(?m)^%.*\n", "", prose)
    filled = expander(slots, commit)(prose)
    if unused := slots.unused():
        raise Refusal(f"slots.toml declares what report.tex does not use: {', '.join(unused)}")
    return filled


def compile_tex(tex, output):
    """Runs pdflatex three times, for the references and the widths of tables, and reads its log. The figures, on which
    neither depends, are drawn in the last run alone. The PDF is written where nothing is wrong."""
    program = shutil.which(os.environ.get("PDFLATEX", "pdflatex"))
    if not program:
        raise Refusal("there is no pdflatex (Debian: texlive-latex-recommended texlive-pictures lmodern)")
    undrawn = re.sub(r"(?s)\\begin\{tikzpicture\}.*?\\end\{tikzpicture\}", "", tex)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "0"),
                       "FORCE_SOURCE_DATE": "1", "max_print_line": "1000"}
        for source, draft in ((undrawn, ["-draftmode"]), (undrawn, ["-draftmode"]), (tex, [])):
            pathlib.Path(folder, "report.tex").write_text(source)
            command = [program, *draft, "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
            done = subprocess.run(command, cwd=folder, env=environment, text=True, errors="replace", check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise Refusal("pdflatex: " + done.stdout[-1500:])
        log = pathlib.Path(folder, "report.log").read_text(errors="replace")
        wrong = [line for line in log.splitlines()
                 if "undefined" in line and "Warning" in line or "multiply defined" in line
                 or "widths have changed" in line
                 or (wide := re.match(r"Overfull \\[hv]box \(([\d.]+)pt", line)) and float(wide[1]) > MOST_OVERFULL]
        pages = int(re.search(r"Output written on report.pdf \((\d+) page", log)[1])
        if pages > MOST_PAGES:
            wrong.append(f"{pages} pages, more than {MOST_PAGES}")
        if wrong:
            raise Refusal(f"{output} is not written:\n  " + "\n  ".join(wrong))
        shutil.copyfile(pathlib.Path(folder, "report.pdf"), output)
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--ledger")
    parser.add_argument("--reports")
    parser.add_argument("--commit")
    parser.add_argument("--tex")
    parser.add_argument("-o", "--output")
    chosen = parser.parse_args()
    if not chosen.output and not chosen.tex:
        parser.error("needs -o FILE.pdf or --tex FILE.tex")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(chosen.reports or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            declared = tomllib.loads((HERE / "slots.toml").read_text())
            slots = Slots(Reports(chosen.program, folder, chosen.ledger, declared["runs"]), declared)
            tex = fill((HERE / "report.tex").read_text(), slots, chosen.commit)
            if chosen.tex:
                pathlib.Path(chosen.tex).write_text(tex)
            if chosen.output:
                pages = compile_tex(tex, chosen.output)
                print(f"{chosen.output}: {pages} pages")
        except Refusal as refusal:
            sys.exit(f"docs/report/build.py: {refusal}")


if __name__ == "__main__":
    main()
