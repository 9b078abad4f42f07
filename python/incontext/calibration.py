"""What the heads of a model do, and which inverse temperature keeps them the same in longer rows.

    report = incontext.calibrate(numpy.load("scores.npy", mmap_mode="r"), causal=True)
    report.entropy                      # layers x heads
    report.head(3, 5).plot()
    report = incontext.calibration.from_weights(model(**tokens, output_attentions=True).attentions)
    report.advice()                     # which heads to leave alone, and what the others can hold

The input is raw attention scores, before softmax, or weights; docs/calibrate.md says how to export them.
"""
from __future__ import annotations

import math
import os
import warnings
from typing import Any, Callable, NamedTuple, Sequence

import numpy

from . import _core, laws
from ._core.calibration import *  # noqa: F403
from ._plot import pyplot
from ._record import Record, cell, table_text
from ._records.calibration import *  # noqa: F403
from ._records.calibration import ForecastQuantity, HeadForecast, Held, HeadLimits, JudgedQuantity, LengthSummary
from ._records.calibration import LongerRowRule, PhaseCount, ShiftedTemperature
from ._records.calibration import TemperatureRule, TriedPlan, _Advice, _HeadSummary, _TriedTemperature
from .statistics import Agreement, Verdict


class HeadSummary(_HeadSummary):
    def _rows_are(self) -> str:
        unresolved = f"too few {'rows' if self.prompts == 1 else 'prompts'}" if self.resolution >= 0 else "not judged"
        rows = {Verdict.agrees: "normal", Verdict.disagrees: "not normal"}.get(self.normal_rows, unresolved)
        return rows + (", looks like weights" if self.looks_like_weights else "")

    def _line(self) -> str:
        """The head in one line."""
        return (f"layer {self.layer}, head {self.head}: x = {self.score_stddev:.4g}, entropy {self.entropy:.4g} nats, "
                f"{self.effective_keys:.4g} keys, largest weight {self.largest_weight:.3g}, x / x_c = "
                f"{self.freezing_ratio:.3g}, rows {self._rows_are()}")

    def __str__(self) -> str:
        return "\n".join(table_text(["HeadSummary", ""], [(name, getattr(self, name)) for name in self._fields]))

    def __repr__(self) -> str:
        return f"HeadSummary({self._line()})"


_NOT_THE_TASK = ("Rules and their β are tried on rows that are twice as long as those that they predict from: for longer "
                 "rows than that, β is an extrapolation. Whether longer prompts have wider or narrower scores is not seen "
                 "in these, and β does not follow it. report.forecast(length) does see it, in prompts of several lengths. "
                 "Holding a quantity is not the task: whether the model becomes better by it, only the task's own "
                 "accuracy in longer rows can say.")


class TriedTemperature(_TriedTemperature):
    def __str__(self) -> str:
        if not self.inverse_temperature > 0:
            return f"no β holds it from {self.shorter} to {self.longer} keys: {self.reason}"
        most = self.result.within * (self.result.agreement.theory if self.held == Held.entropy else 1)
        missed = (f"{self.error:.2g} nats (at most {most:.2g} there)" if self.held == Held.entropy else
                  f"{self.error:.2%} (at most {most:.2%} there)")
        return f"β = {self.inverse_temperature:.4g} from {self.shorter} to {self.longer} keys missed it by {missed}"


class Advice(_Advice):
    def _rules(self) -> str:
        """Which rule predicts longer rows best, and by how much."""
        if not self.rule:
            return ""
        return (f"at β = 1 {self.rule} misses longer rows by {self.error:.2%}, {self.next_rule} by "
                f"{self.next_error:.2%}")

    def _line(self) -> str:
        if self.held is None:
            return f"leave it alone: {self.reason}"
        betas = ", ".join(f"{beta:.4g} at {length}"
                          for length, beta in zip(self.lengths[1:], self.inverse_temperature[1:]))
        return (f"can hold the {str(self.held).replace('_', ' ')}: {self.reason}; β = {betas}, if scores stay as they are "
                f"in longer prompts, which was not seen; tried, {self.tried}")

    def __str__(self) -> str:
        return f"layer {self.layer}, head {self.head}: " + "; ".join(filter(None, [self._line(), self._rules()]))


class Advices(list[Advice]):
    """The advice for every head; `print` shows it in a table."""

    def plan(self, row_length: int) -> numpy.ndarray:
        """The inverse temperatures for rows of one of the advice's lengths, layers x heads, with 1 for heads that are left
        alone, and where no inverse temperature holds the quantity. `incontext.torch.register_attention` takes them."""
        if not self:
            return numpy.ones((0, 0))
        found = numpy.ones((1 + max(one.layer for one in self), 1 + max(one.head for one in self)))
        for one in self:
            if row_length not in one.lengths:
                raise ValueError(f"incontext::calibration::Advices: row_length is not among the lengths of the advice (value = "
                                 f"{row_length}; needs one of {', '.join(map(str, one.lengths))})")
            beta = one.inverse_temperature[one.lengths.index(row_length)] if one.held is not None else math.nan
            if math.isfinite(beta):
                found[one.layer, one.head] = beta
        return found

    def _table(self) -> _Table:
        lengths = self[0].lengths[1:]
        rows = [(one.layer, one.head, "nothing" if one.held is None else str(one.held).replace("_", " "),
                 *(one.inverse_temperature[1:] or [math.nan] * len(lengths)),
                 math.nan if one.tried is None else 100 * one.tried.error, one.rule or "none", 100 * one.error,
                 one.next_rule or "none", 100 * one.next_error, one.reason) for one in self]
        return _Table(_NOT_THE_TASK, ["layer", "head", "hold", *(f"β at {length}" for length in lengths),
                                      "β tried, off by %", "best rule", "off by %", "next rule", "off by %",
                                      "because"], rows)

    def __str__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


class Forecasts(list[HeadForecast]):
    """What every head does in longer prompts; `print` shows it in a table."""

    def measured(self, quantity: str) -> list[ForecastQuantity]:
        """One quantity of the heads in which it was measured: "entropy", "keys_for_95" or "inverse_temperature"."""
        if quantity not in _FORECAST:
            raise ValueError(f"incontext::calibration::Forecasts: quantity is unknown (value = {quantity}; needs one of "
                             f"{', '.join(_FORECAST)})")
        return [one for one in (getattr(head, quantity) for head in self) if not math.isnan(one.measured)]

    def covered(self, quantity: str) -> float:
        """The share of the heads with a measured quantity that have it in its interval: `covered("entropy")`; NaN without
        any."""
        found = self.measured(quantity)
        return sum(one.covered for one in found) / len(found) if found else math.nan

    def _table(self) -> _Table:
        counts = {name: len(self.measured(name)) for name in _FORECAST}
        alike = len({(one.row_length, one.longer, one.shorter) for one in self}) == 1
        rows = []
        for one in self:
            lengths = [] if alike else [one.shorter, one.longer, one.row_length]
            found = [(name, getattr(one, name)) for name in _FORECAST]
            rows.append((one.layer, one.head, *lengths, *(
                value for name, it in found
                for value in (it.value, f"{_short(it.low, 3)} to {_short(it.high, 3)}", *([it.measured] if counts[name] else [])))))
        headings = ["layer", "head", *([] if alike else ["from keys", "and", "rows of keys"]), *(
            heading for name in _FORECAST
            for heading in (name.replace("_", " "), "from to", *(["measured"] if counts[name] else [])))]
        title = (f"rows of {_short(self[0].row_length, 4)} keys, from rows of {_short(self[0].shorter, 4)} and "
                 f"{_short(self[0].longer, 4)}"
                 if alike else "longer rows, from shorter ones")
        covered = "; ".join(f"{name.replace('_', ' ')} in {self.covered(name):.0%} of {count} heads"
                            for name, count in counts.items() if count)
        return _Table(f"{title}; the inverse temperature holds the entropy of the longer of these", headings, rows,
                      [f"Measured in the interval: {covered}."] if covered else [])

    def __str__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


def _short(value: float, digits: int) -> str:
    """A number with some digits; a large one in whole units."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.{digits}g}"


_FORECAST = ("entropy", "keys_for_95", "inverse_temperature")


def _html(caption: str, records: Sequence[Record]) -> str:
    """Records of one type as a table with one line each."""
    if not records:
        return ""
    fields = records[0]._fields
    head = "".join(f"<th>{name}</th>" for name in fields)
    rows = "".join("<tr>" + "".join(f"<td>{cell(getattr(one, name))}</td>" for name in fields) + "</tr>"
                   for one in records)
    return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"


class Rules(dict[Held, list[TemperatureRule]]):
    """The rules for each held quantity: `rules[Held.entropy]`, or by its name, `rules["entropy"]`. `in` and `get` take a Held only.

    They are empty for a head whose scores do not vary.
    """

    reason: str  # why there are none

    def __init__(self, rules: dict[Held, list[TemperatureRule]], reason: str = "") -> None:
        super().__init__(rules)
        self.reason = reason

    def __getitem__(self, held: Held | str) -> list[TemperatureRule]:
        choice: Any = Held  # which takes names, too
        kind: Held = choice(held)
        if kind not in self:
            raise KeyError(f"incontext::calibration::HeadDetail: there are no rules (value = {kind}; needs scores that "
                           f"vary). {self.reason}")
        return super().__getitem__(kind)


class _Table(NamedTuple):
    """A table of a head, with notes below it."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        return "\n".join([self.caption, *(f"  {line}" for line in table_text(self.headings, self.rows)), *self.notes])

    def html(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.headings)
        rows = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in self.rows)
        notes = "".join(f"<p>{note}</p>" for note in self.notes)
        return f"<table><caption>{self.caption}</caption><tr>{head}</tr>{rows}</table>{notes}"


def _signed_excess(agreement: Agreement) -> float:
    """The excess with the sign of measured minus predicted; NaN where nothing could be compared."""
    off = agreement.estimate.mean - agreement.theory
    return math.copysign(agreement.excess, off) if agreement.excess > 0 else 0.0 if agreement.excess == 0 else math.nan


def _judged(caption: str, quantities: Sequence[JudgedQuantity], names: Sequence[str] = (),
            notes: Sequence[str] = ()) -> _Table:
    rows = [(name, one.agreement.theory, one.agreement.estimate.mean, one.agreement.estimate.standard_error,
             _signed_excess(one.agreement), one.conclusion)
            for name, one in zip(names or [one.quantity for one in quantities], quantities)]
    return _Table(caption, ["quantity", "predicted", "measured", "± error", "z", "verdict"], rows, notes)


class HeadDetail(Record):
    """One head in detail: its rows by length, beside the law of normal rows, and the temperatures for longer rows.

    `print(head)` shows all of its tables. Where scores do not vary, only `lengths` is filled, and `warning` says so.
    """

    head: HeadSummary
    gap: float
    trained_length: int
    factors: list[int]
    lengths: list[LengthSummary]
    normal_law: list[JudgedQuantity]
    held_out: list[JudgedQuantity]
    limits: HeadLimits | None
    rules: Rules
    warning: str
    plans: list[TriedPlan]
    longer_rows: list[LongerRowRule]
    advice: Advice

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        object.__setattr__(self, "rules", Rules(self.rules, self.warning))

    def _tables(self) -> list[_Table]:
        tables = [self._scores(), self._weights()]
        if self.normal_law:
            tables.append(_judged("beside the law of normal scores", self.normal_law))
        if self.held_out:
            tables.append(_judged("held out, from quarters of other rows", self.held_out))
        if self.limits is not None:
            rows = [(name.replace("_", " "), getattr(self.limits, name)) for name in HeadLimits._fields]
            tables.append(_Table("where it fades or freezes", ["quantity", "value"], rows))
        tables.append(self._longer_rows())
        tables += [self._rules(held) for held in self.rules]
        return tables + ([self._plans()] if self.plans else [])

    def _row_lengths(self) -> list[str]:
        return [str(rows.longest_row) if rows.shortest_row == rows.longest_row else
                f"{rows.shortest_row} to {rows.longest_row}" for rows in self.lengths]

    def _scores(self) -> _Table:
        columns = {"rows": "rows", "mean": "mean", "stddev_of_row_means": "sd of means", "score_stddev": "x",
                   "score_stddev_error": "± error", "variance_differs": "rows differ", "skewness": "skewness",
                   "skewness_error": "± error", "excess_kurtosis": "kurtosis", "excess_kurtosis_error": "± error",
                   "highest": "highest", "normality_p_value": "p normal"}
        return self._by_length("the scores of a row, by its length", columns)

    def _weights(self) -> _Table:
        columns = {"entropy": "entropy", "entropy_error": "± error", "entropy_predicted": "predicted",
                   "effective_keys": "keys", "effective_keys_predicted": "predicted", "largest_weight": "largest",
                   "largest_weight_predicted": "predicted", "needle_weight": "needle",
                   "needle_weight_predicted": "predicted"}
        return self._by_length("the weights of a row, by its length", columns)

    def _by_length(self, caption: str, columns: dict[str, str]) -> _Table:
        rows = [(length, *(getattr(one, name) for name in columns))
                for length, one in zip(self._row_lengths(), self.lengths)]
        return _Table(caption, ["row lengths", *columns.values()], rows)

    def _rules(self, held: Held) -> _Table:
        rules = self.rules[held]
        lengths = [factor * self.trained_length for factor in self.factors]
        headings = ["rule", *(f"β at {length}" for length in lengths), *(f"value at {length}" for length in lengths)]
        caption = f"inverse temperatures β that hold the {held.name.replace('_', ' ')} by the law of normal scores"
        reasons = [f"{rule.name}: {rule.reason}." for rule in rules if rule.reason]
        return _Table(caption, headings, [(rule.name, *rule.inverse_temperature, *rule.value) for rule in rules],
                      [self.warning, *reasons] if self.warning else reasons)

    def _longer_rows(self) -> _Table:
        rows = [(one.name, 100 * one.error, one.entropy.agreement.theory, one.entropy.agreement.estimate.mean,
                 one.entropy.conclusion, one.largest_weight.agreement.theory,
                 one.largest_weight.agreement.estimate.mean, one.largest_weight.conclusion)
                for one in self.longer_rows]
        compared = [f"In rows that did not choose the rule, {self.advice._rules()}."] if self.advice.rule else []
        return _Table("the longer half of the rows, predicted from shorter ones",
                      ["rule", "off by %", "entropy", "measured", "verdict", "largest", "measured", "verdict"], rows,
                      [f"Advice: {self.advice._line()}.", *compared, _NOT_THE_TASK])

    def _plans(self) -> _Table:
        names = [f"{plan.result.quantity} at inverse temperature {plan.inverse_temperature:.4g}" for plan in self.plans]
        notes = [f"Measured at inverse temperature 1: {plan.result.quantity} {plan.quarter_rows:.4g} in quarter rows, "
                 f"which the plan is to hold, and {plan.whole_rows:.4g} in whole rows." for plan in self.plans]
        return _judged("the plan tried on these rows, from a quarter of their length",
                       [plan.result for plan in self.plans], names, notes)

    def _repr_html_(self) -> str:
        warning = f"<p>{self.warning}</p>" if self.warning and not self.rules else ""
        return self.head._repr_html_() + warning + "".join(table.html() for table in self._tables())

    def __repr__(self) -> str:
        return f"HeadDetail({self.head._line()})"

    def __str__(self) -> str:
        warning = [self.warning] if self.warning and not self.rules else []
        return "\n\n".join([self.head._line(), *warning, *(table.text() for table in self._tables())])

    def plot(self) -> Any:
        """Draws entropy and needle weight against the row length, measured and predicted, as a figure of Matplotlib."""
        stddev = self.head.score_stddev
        curve = numpy.union1d(numpy.geomspace(2, 8 * self.trained_length, 100).round(), self.trained_length)
        needle = _core.calibration.centered_needle_weight(curve, stddev, self.gap)
        width = 0.01  # of the curve: where the law is known less well, it is not drawn
        middle = [(rows.shortest_row * rows.longest_row) ** 0.5 for rows in self.lengths]
        figure, (left, right) = pyplot().subplots(1, 2, figsize=(9, 3.5), layout="constrained")
        left.plot(curve, laws.gaussian_row(curve, stddev).entropy, label=f"predicted, x = {stddev:.3g}")
        left.errorbar(middle, [rows.entropy for rows in self.lengths],
                      [0 if numpy.isnan(rows.entropy_error) else rows.entropy_error for rows in self.lengths],
                      fmt="o", label="measured")
        left.set_ylabel("entropy in nats")
        right.plot(curve, numpy.where(needle.error_estimate < width, needle.value, numpy.nan), label="predicted")
        right.plot(middle, [rows.needle_weight for rows in self.lengths], "o", label="measured")
        right.set_ylabel(f"weight of a needle\n{self.gap:.3g} above the mean")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlabel("row length")
            axes.legend()
        figure.suptitle(f"layer {self.head.layer}, head {self.head.head}")
        return figure


def _as_prompts(given: Any, prompts: Any) -> list[Any]:
    """The scores of each prompt: those of a list of arrays, of an array of five dimensions, or of an array."""
    if (given is None) == (prompts is None):
        raise ValueError("incontext::calibration: scores and prompts are two ways to say the same (value = "
                         f"{'neither' if given is None else 'both'}; needs one of them)")
    if hasattr(prompts, "ndim"):
        raise ValueError(f"incontext::calibration: prompts is an array (value = {prompts.ndim} axes; needs a list of arrays, "
                         "one for each prompt; scores= takes layers x prompts x heads x queries x keys)")
    if prompts is not None:
        found = [_as_scores(one) for one in prompts]
        for number, one in enumerate(found):
            if one.ndim != 4:
                raise ValueError(f"incontext::calibration: prompt {number} has the wrong number of dimensions (value = "
                                 f"{one.ndim}; needs 4: layers x heads x queries x keys)")
        return found
    if isinstance(given, (list, tuple)) and any(getattr(one, "ndim", 0) > 1 for one in given):
        raise ValueError(f"incontext::calibration: a {type(given).__name__} of arrays does not say of what (value = "
                         f"{len(given)} arrays; needs numpy.stack of scores of layers, prompts=[...] for scores of "
                         "prompts, or incontext.calibration.from_weights for the weights of layers that Transformers "
                         "returns)")
    scores = _as_scores(given)
    return [scores[:, prompt] for prompt in range(scores.shape[1])] if scores.ndim == 5 else [scores]


def _as_scores(given: Any) -> Any:
    """Scores as C++ takes them: the mask of a masked array as -inf; types that NumPy lacks are named."""
    if isinstance(given, (str, os.PathLike)):
        raise TypeError("incontext::calibration: scores is the name of a file "
                        f"(value = {str(given)!r}; needs an array, such as numpy.load(file, mmap_mode='r'))")
    if isinstance(given, numpy.ma.MaskedArray):
        masked = given.mask is not numpy.ma.nomask and given.dtype.kind == "f"
        return given.filled(-numpy.inf) if masked else given.data
    try:
        return numpy.asarray(given)
    except TypeError as error:
        kind = getattr(given, "dtype", type(given).__name__)
        raise ValueError(f"incontext::calibration: the scores are no array of NumPy (value = {kind}; needs float16, "
                         f"float32 or float64, such as scores.float() of a tensor): {error}") from error


class Calibration:
    """The heads of an array of scores, measured and judged.

    A field of HeadSummary is an array of layers x heads here: `report.entropy`, `report.p_value`. A report that is
    pickled takes the scores with it and is measured again where it is read, to the same digits.
    """

    def __init__(self, prompts: list[Any], options: tuple[bool, float, bool, bool, int], progress: Any = None) -> None:
        self._measured = prompts, options
        heads: Any = _core.calibration.Heads(prompts, *options, progress)
        self._core = heads
        self.heads: list[HeadSummary] = heads.heads()
        self.phases: list[PhaseCount] = heads.phases()
        self.masked_rows: int = heads.masked_rows
        self.single_key_rows: int = heads.single_key_rows

    def __reduce__(self) -> Any:
        return type(self), self._measured

    def __copy__(self) -> Calibration:
        return self  # it is immutable

    def __getattr__(self, name: str) -> Any:
        if name not in HeadSummary._fields:
            raise AttributeError(f"Calibration has no {name!r}")
        values = numpy.array([getattr(head, name) for head in self.heads])
        return values.reshape(self._core.layers, self._core.heads_per_layer)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *HeadSummary._fields]

    def _place(self, layer: int | None, head: int | None) -> tuple[int, int]:
        if layer is None and head is None and len(self.heads) == 1:
            return 0, 0
        if layer is None or head is None:
            missing = " and ".join(name for name, one in (("layer", layer), ("head", head)) if one is None)
            raise ValueError(f"incontext.calibration: {missing} {'are' if ' and ' in missing else 'is'} missing "
                             "(the scores have several heads: head(layer, head))")
        return layer, head

    def head(self, layer: int | None = None, head: int | None = None, *, gap: float | None = None,
             trained_length: int | None = None, factors: Sequence[int] = (1, 2, 4, 8, 128)) -> HeadDetail:
        """One head in detail, by its layer and number, both from 0; they may be left out where there is only one head.

        `gap` is the needle's score above the mean of the others (default: four of their standard deviations),
        `trained_length` the length of rows in training (default: the longest row), and `factors` are the lengths to
        plan for over that length, ascending from 1. `print` shows all tables of the answer.
        """
        found: HeadDetail = self._core.detail(*self._place(layer, head), gap, trained_length or 0, list(factors))
        return found

    def advice(self, *, gap: float | None = None, trained_length: int | None = None,
               factors: Sequence[int] = (1, 2, 4, 8, 128)) -> Advices:
        """For each head, which quantity it can hold in longer rows and how, or why it should be left alone; options as
        for `head`. A `gap` is given only for heads that must find a needle of that gap."""
        return Advices(self._core.advice(one.layer, one.head, gap, trained_length or 0, list(factors))
                       for one in self.heads)

    def forecast(self, row_length: int, *, up_to: int | None = None) -> Forecasts:
        """What every head does in rows of `row_length` keys, from how it changes with the length of these prompts: its
        entropy, how many keys have 95% of its weight, and the inverse temperature that holds the entropy of the longest
        rows that are used, each with an interval. It is made from the two longest octaves of rows of at most `up_to` keys
        and 7/8 of row_length, such as those of prompts of 32 and 64 tokens, ten or more of each. Rows of between 7/8 of
        row_length and it, if there are any, are measured and judge the forecast, which is then about their mean length. A
        head with a sliding window has no longer rows, and its forecast means nothing.

        >>> import numpy
        >>> rng = numpy.random.default_rng(1)
        >>> prompts = [rng.normal(0, 1.5, (1, 2, n, n)) for n in (32, 64, 512) for _ in range(8)]
        >>> forecast = calibrate(prompts=prompts).forecast(512)
        >>> forecast.covered("entropy"), round(forecast[0].entropy.measured, 1)
        (1.0, 5.1)
        """
        if up_to is not None and up_to < 1:
            raise ValueError(f"incontext::calibration::forecast_heads: up_to is too small (value = {up_to}; needs at least 1)")
        return Forecasts(self._core.forecast(row_length, 0 if up_to is None else up_to))

    def shifted(self, scores: Any, layer: int | None = None, head: int | None = None) -> ShiftedTemperature:
        """The moment-ratio temperatures of a head on these scores and on `scores`, those under a shift, and their quotient."""
        found: ShiftedTemperature = self._core.shifted(_as_scores(scores), *self._place(layer, head))
        return found

    def plot(self, layer: int | None = None, head: int | None = None, **options: Any) -> Any:
        """The plot of one head in detail; options as for `head`."""
        return self.head(layer, head, **options).plot()

    def to_dict(self) -> dict[str, Any]:
        """The phases and the heads as lists of dictionaries: pandas.DataFrame(report.to_dict()["heads"])."""
        return {"phases": [one.to_dict() for one in self.phases], "heads": [one.to_dict() for one in self.heads],
                "masked_rows": self.masked_rows, "single_key_rows": self.single_key_rows}

    def __repr__(self) -> str:
        counts = ", ".join(f"{one.heads} {one.phase}" for one in self.phases if one.heads)
        normal = sum(one.normal for one in self.phases)
        too_few = sum(head._rows_are().startswith("too few") for head in self.heads)
        counted = "rows" if self.heads[0].prompts == 1 else "prompts"
        unresolved = f", {too_few} with too few {counted}" if too_few else ""
        like_weights = sum(head.looks_like_weights for head in self.heads)
        warning = f"; {like_weights} look like weights after softmax" if like_weights else ""
        heads = "1 head" if len(self.heads) == 1 else f"{len(self.heads)} heads"
        return (f"Calibration({heads}, {normal} with normal rows{unresolved}; by the scores' deviation alone: "
                f"{counts}{warning})")

    def __str__(self) -> str:
        headings = ["layer", "head", "rows to", "rows", "x", "skewness", "kurtosis", "entropy", "predicted", "keys",
                    "predicted", "largest", "predicted", "x / x_c", "phase", "off by %", "notices %", "rows are"]
        rows = [(one.layer, one.head, one.longest_row, one.rows, one.score_stddev, one.skewness, one.excess_kurtosis,
                 one.entropy, one.entropy_predicted, one.effective_keys, one.effective_keys_predicted,
                 one.largest_weight, one.largest_weight_predicted, one.freezing_ratio, one.phase,
                 100 * one.worst_deviation, 100 * one.resolution, one._rows_are()) for one in self.heads]
        return "\n".join([repr(self), *table_text(headings, rows)])

    def _repr_html_(self) -> str:
        several = _html("Phases", self.phases) if len(self.heads) > 1 else ""
        left = "" if len(self.heads) <= 24 else f"<p>and {len(self.heads) - 24} more</p>"
        return several + _html("Heads", self.heads[:24]) + left


def calibrate(scores: Any = None, *, prompts: Sequence[Any] | None = None, causal: bool = False,
              inverse_temperature: float = 1.0, leave_out_masked_rows: bool = False, finite_masks: bool = True,
              threads: int = 0,
              progress: bool | Callable[[int, int, float], Any] | None = None) -> Calibration:
    """Measures every head of raw attention scores and compares it with the law of normal rows.

    `scores` are layers x heads x queries x keys, or fewer dimensions, in half, single or double precision, in any order
    and memory-mapped or not; they are not copied. Several prompts are layers x prompts x heads x queries x keys, or
    `prompts`, a list of arrays of four dimensions, one for each prompt, of any lengths; errors are then those between
    prompts. -inf masks a key, as does the mask of a numpy.ma array, which is copied, and a finite score by the rule of
    docs/scoring.md, unless `finite_masks` is False. bfloat16 is read as an array of the package ml_dtypes. `causal` masks
    the later keys, `inverse_temperature` multiplies every score, and `leave_out_masked_rows` leaves out queries whose
    keys are all masked. A UserWarning says that heads look like weights after softmax (their
    field `looks_like_weights`). The number of threads never changes a digit; 0 means as many as the machine has.

    >>> import numpy
    >>> report = calibrate(numpy.random.default_rng(1).normal(0, 1, (2, 1024, 128)))
    >>> report.normal_rows.tolist()
    [[0, 0]]
    >>> for plan in report.head(0, 1).plans:
    ...     print(plan.result.quantity, plan.result.conclusion)
    entropy agrees within 4.2% (would have noticed 4.8%)
    largest weight agrees within 12% (would have noticed 14%)
    """
    report = Calibration(_as_prompts(scores, prompts),
                         (causal, inverse_temperature, leave_out_masked_rows, finite_masks, threads), progress)
    if like_weights := sum(head.looks_like_weights for head in report.heads):
        warnings.warn(f"incontext.calibrate: {like_weights} of {len(report.heads)} heads look like weights after "
                      "softmax; the scores before softmax are needed", stacklevel=2)
    return report


def _as_weights(layer: int, given: Any, shape: tuple[int, ...] | None) -> Any:
    """The weights of one layer as an array of single or double precision, checked."""
    where = f"incontext::calibration::from_weights: layer {layer}"
    if given is None:
        raise ValueError(f'{where} has no weights (value = None; needs a model with attn_implementation="eager")')
    if hasattr(given, "detach"):  # a tensor of torch, also one of bfloat16
        given = given.detach().float().cpu().numpy()
    weights = numpy.asarray(given)
    if weights.dtype.kind != "f" and str(weights.dtype) != "bfloat16":
        raise ValueError(f"{where}: the numbers are no weights (value = {weights.dtype}; needs a floating-point type)")
    if weights.dtype != numpy.float64:
        weights = weights.astype(numpy.float32)
    if weights.ndim != 4:
        raise ValueError(f"{where} has the wrong number of dimensions (value = {weights.ndim}; needs 4: prompts x heads "
                         "x queries x keys, as Transformers returns them in a tuple over layers)")
    if shape is not None and weights.shape != shape:
        raise ValueError(f"{where} has another shape than layer 0 (value = {weights.shape}; needs {shape})")
    sums = weights.sum(axis=-1, dtype=numpy.float64)
    most = numpy.abs(sums - 1).max(where=sums > 0, initial=0.0)
    if not (most < 0.02 and (weights >= 0).all()):
        distance = numpy.where(sums == 0, 0, numpy.nan_to_num(numpy.abs(sums - 1), nan=numpy.inf))
        off = sums.reshape(-1)[numpy.argmax(distance)]
        raise ValueError(f"{where}: the rows do not sum to 1, or a weight is negative or NaN (value = {off:.4g}; needs weights after softmax, "
                         "without dropout: model.eval())")
    return weights


def from_weights(attentions: Any, *, attention_mask: Any = None, threads: int = 0,
                 progress: bool | Callable[[int, int, float], Any] | None = None) -> Calibration:
    """Measures every head of attention weights, as a model of Transformers returns them with output_attentions=True.

    `attentions` is a tuple over layers of arrays or tensors of prompts x heads x queries x keys. The logarithms of weights
    are scores but for a constant in each row, on which softmax does not depend; a weight of 0 is a masked key. They are
    copied. `attention_mask` is the tokenizer's, prompts x keys: what it pads is left out, so that prompts have lengths of
    their own. `threads` and `progress` are those of `calibrate`. Weights that underflow to 0, those below 1e-38 in single
    precision and below 6e-8 in half, count as masked: take the scores themselves where that matters.

    >>> import numpy
    >>> scores = numpy.random.default_rng(1).normal(0, 1, (3, 8, 4, 64, 64))
    >>> weights = numpy.exp(scores) / numpy.exp(scores).sum(axis=-1, keepdims=True)
    >>> report = from_weights(tuple(weights))
    >>> report.entropy.shape, report.heads[0].prompts
    ((3, 4), 8)
    """
    if not isinstance(attentions, (tuple, list)):
        given = " x ".join(map(str, getattr(attentions, "shape", ()))) or type(attentions).__name__
        raise ValueError("incontext::calibration::from_weights: attentions is no tuple over layers "
                         f"(value = {given}; needs the tuple as the model returns it, because torch.cat makes layers of "
                         "prompts)")
    if not attentions:
        raise ValueError("incontext::calibration::from_weights: attentions is empty (value = 0 layers; needs a model "
                         "that was called with output_attentions=True and attn_implementation=\"eager\")")
    layers: list[Any] = []
    for number, layer in enumerate(attentions):
        layers.append(_as_weights(number, layer, layers[0].shape if layers else None))
    with numpy.errstate(divide="ignore"):
        scores = numpy.stack([numpy.log(layer) for layer in layers])
    prompts = [scores[:, prompt] for prompt in range(scores.shape[1])]
    if attention_mask is not None:
        mask = numpy.asarray(attention_mask.cpu() if hasattr(attention_mask, "cpu") else attention_mask) != 0
        if scores.shape[-2] != scores.shape[-1] or mask.shape != (scores.shape[1], scores.shape[-1]):
            raise ValueError("incontext::calibration::from_weights: attention_mask does not fit (value = "
                             f"{mask.shape}; needs prompts x keys, {(scores.shape[1], scores.shape[-1])}, of weights with "
                             "as many queries as keys)")
        prompts = [one[:, :, kept][:, :, :, kept] for one, kept in zip(prompts, mask)]
    return Calibration(prompts, (False, 1.0, False, True, threads), progress)
