"""The ledger of the papers' claims, as records: what the package has of a recorded run, or a report of one's own."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping, overload

from ._record import fields_html, frame_of


@dataclass(frozen=True)
class ClaimRow:
    """One statement that a claim's verdict rests on.

    role: "paper" what the claim says, "control" a near miss, "exact", "identity" and "addition" results of ours
    beside it. state: "holds", "does not hold" or "undecided"; of a control "rejected, as it should be". regime: where
    the row was tried. numbers: the closest call, in words.
    """

    role: str
    says: str
    state: str
    regime: str | None
    numbers: str | None


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, with what simulations made of it.

    setting: the paper's. ours: where it differs, the setting of the rows. reason: why the verdict. commands: what gives
    the rows again, by the program. docs, headers: where the library has the theory. cite: what to cite.
    """

    name: str
    paper: str
    place: str
    quote: str
    setting: str
    ours: str | None
    verdict: str
    reason: str | None
    comment: str | None
    rows: tuple[ClaimRow, ...]
    commands: tuple[str, ...]
    headers: tuple[str, ...]
    docs: str | None
    cite: str

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, those of the rows included."""
        return asdict(self)

    def run(self, seed: int = 1, *, edition: str = "quick", program: str | Path = "incontext") -> Claim:
        """The claim put on trial again, by `incontext verify` with this seed.

        The rows are tables of the program, which the package has not: `program` is its path, or its name on PATH. Takes
        seconds to minutes. A claim alone has the verdict that it has beside the others.
        Raises FileNotFoundError where there is no such program, ValueError where it refuses (it says why; an older one
        has not every claim), RuntimeError where it ends without a report.
        """
        import shutil
        import subprocess
        import tempfile

        if (found := shutil.which(program)) is None:
            raise FileNotFoundError(f"incontext::ledger: program is not there (value = {str(program)!r}; needs the path of "
                                    "the program incontext, which scripts/verify builds as build/examples/incontext)")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "ledger.json"
            ended = subprocess.run([found, "verify", "--claim", self.name, "--seed", str(seed), "--edition", edition,
                                    "--quiet", "--output", str(report)], stderr=subprocess.PIPE, text=True)
            if not report.exists():
                kind = ValueError if ended.returncode == 2 else RuntimeError
                raise kind(f"incontext::ledger: {' '.join(ended.stderr.split())} (exit {ended.returncode})")
            return ledger(self.name, report=report)

    def _repr_html_(self) -> str:
        names = ("place", "quote", "setting", "ours", "verdict", "reason", "cite")
        shown = {name: getattr(self, name) for name in names}
        return fields_html(self.name, shown | {row.says: row.state for row in self.rows})

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}" + (f" ({self.reason})" if self.reason else ""),
                 f'"{self.quote}" ({self.paper}, {self.place})',
                 f"Setting: {self.setting}." + (f" Ours: {self.ours}." if self.ours else "")]
        lines += [self.comment] if self.comment else []
        return "\n".join(lines + [f"  {row.role}, {row.state}: {row.says}" + (f" ({row.regime})" if row.regime else "")
                                  for row in self.rows])


class Ledger(Mapping[str, Claim]):
    """The claims by their names; `run` says which run of the program recorded the verdicts."""

    def __init__(self, claims: dict[str, Claim], run: str) -> None:
        self._claims = claims
        self.run = run

    def __getitem__(self, name: str) -> Claim:
        if name not in self._claims:
            from difflib import get_close_matches

            word = str(name).lower()
            near = [one for one, claim in self._claims.items()
                    if any(word in text.lower() for text in (one, claim.paper, claim.quote))]
            near = near[:5] or get_close_matches(word, self._claims, 3, 0.0)
            raise KeyError(f"incontext::ledger: there is no claim {name!r} (needs one of list(incontext.ledger()), such as "
                           f"{', '.join(near)})")
        return self._claims[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)

    def to_frame(self) -> Any:
        """The claims as a frame of pandas, one row each."""
        columns = ("paper", "place", "quote", "setting", "verdict", "reason", "commands")
        values = {column: [getattr(claim, column) for claim in self.values()] for column in columns}
        return frame_of(values, index=list(self))

    def __repr__(self) -> str:
        verdicts = [claim.verdict for claim in self.values()]
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
        return f"Ledger({len(self)} claims: {counts})"


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split()) if text else ()


def _read(report: dict[str, Any]) -> Ledger:
    tables = {table["title"].split(":")[0]: table["rows"] for table in report["tables"]}
    commands = {one["name"]: one["command"] for one in tables["The runs"]}
    rows: dict[str, list[ClaimRow]] = {}
    for row in tables["What the rows say"]:
        rows.setdefault(row["claim"], []).append(
            ClaimRow(row["role"], row["says"], row["state"], row["regime"], row["numbers"]))
    claims = {}
    for one in tables["The claims of the papers"]:
        name = one["claim"]
        paper = f"arXiv {one['paper']}"
        claims[name] = Claim(
            name, paper, one["place"], one["quote"], one["setting"], one["ours"], one["verdict"], one["reason"],
            one["comment"], tuple(rows.get(name, [])), tuple(commands[run] for run in _words(one["runs"])),
            _words(one["headers"]), one["docs"],
            f'{paper}, {one["place"]}; the verdict: incontext {report["version"]}, claim {name}, seed {report["seed"]}')
    return Ledger(claims, f"{report['command']}, version {report['version']}")


@overload
def ledger(claim: None = None, *, report: str | Path | None = None) -> Ledger: ...
@overload
def ledger(claim: str, *, report: str | Path | None = None) -> Claim: ...
def ledger(claim: str | None = None, *, report: str | Path | None = None) -> Ledger | Claim:
    """The claims of the papers with their verdicts, or one of them.

    >>> import incontext as ic
    >>> print(ic.ledger("temperature/theorem-4.3").verdict)
    confirmed in our setting

    Parameters
        claim: a name, such as "temperature/theorem-4.3".
        report: the JSON report of `incontext verify`; without it the run that the package has, of the quick edition
            with seed 1. Verdicts are read: `run` of a claim computes its own again.
    Raises KeyError where no claim has that name, ValueError where the file is no such report.
    """
    import json

    path = Path(__file__).with_name("ledger.json") if report is None else Path(report)
    try:
        found = _read(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"incontext::ledger: report is no report of incontext verify (value = {path}; needs the file of "
                         "incontext verify --output FILE.json)") from error
    return found if claim is None else found[claim]
