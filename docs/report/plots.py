"""The figures of the report, as pgfplots pictures of what the reports hold. build.py calls PLOTS[NAME](SLOTS)."""

def points(rows, x, y):
    return " ".join(f"({row[x]:.6g},{row[y]:.6g})" for row in rows if row[x] is not None and row[y] is not None)


def with_errors(rows, x, y, error):
    """Coordinates with the error bar as a third number."""
    return "\n".join(f"{row[x]:.6g} {row[y]:.6g} {row[error]:.6g}" for row in rows
                     if row[x] is not None and row[y] is not None)


def curve(rows, x, y, color, style="", entry="", marks="no marks"):
    legend = rf"\addlegendentry{{{entry}}}" if entry else ""
    options = ", ".join(filter(None, (color, "thick", marks, style)))
    return rf"\addplot[{options}] coordinates {{{points(rows, x, y)}}};{legend}"


def bars(rows, x, y, error, color, mark="*"):
    """Simulated points with their standard errors."""
    options = (f"{color}, only marks, mark={mark}, mark size=1.5pt, forget plot, "
               "error bars/.cd, y dir=both, y explicit")
    return (rf"\addplot[{options}] table[x index=0, y index=1, y error index=2] {{" + "\n"
            + with_errors(rows, x, y, error) + "\n};")


def axis(options, *content, kind="axis"):
    return "\n".join([rf"\begin{{{kind}}}[{options}]", *content, rf"\end{{{kind}}}"])


def picture(*axes):
    return "\n".join([r"\begin{tikzpicture}", *axes, r"\end{tikzpicture}"])


def beside(*axes):
    """Pictures side by side."""
    return "\\hfill\n".join(picture(one) for one in axes)


def ordered(rows, x):
    return sorted((row for row in rows if row[x] is not None), key=lambda row: row[x])


def temperature(slots):
    """Errors against temperature: exact curves and simulations of approximate and of true softmax."""
    parts = []
    for run, table, column, words, color, entry in (
            ("shift", "approximate_softmax", "predictor", "attention", "blue", "approximate softmax"),
            ("softmax", "errors", "attention", "softmax", "orange", "softmax")):
        exact = ordered([r for r in slots.reports.table(f"{run}-curve", table)
                         if r[column].startswith(words)], "temperature")
        drawn = [r for r in slots.reports.table(f"{run}-points", table)
                 if r[column].startswith(words) and r["simulation"] is not None]
        best = min(exact, key=lambda row: row["theory"])
        parts += [curve(exact, "temperature", "theory", color, entry=entry),
                  bars(drawn, "temperature", "simulation", "standard_error", color),
                  rf"\draw[{color}, dashed] (axis cs:{best['temperature']:.6g},0.7) -- "
                  rf"(axis cs:{best['temperature']:.6g},{best['theory']:.6g});"]
    return picture(axis(
        r"width=0.72\textwidth, height=5.6cm, xmode=log, ymode=log, log ticks with fixed point, xtick={1,2,3,5,10}, "
        r"ytick={1,2,3,5}, xmin=0.95, xmax=15, ymin=0.7, ymax=7, xlabel={temperature $\tau$}, "
        r"ylabel={error $G(\tau)$}, legend pos=north east", *parts))


def needle(slots):
    """Weights of one high score against the length of the row: equal others, and normal ones."""
    row = slots.reports.table("row", "weight_of_one_score")
    left = [curve(row, "n", "softmax", "blue", entry="softmax"), curve(row, "n", "ssmax", "orange", entry="SSMax"),
            curve(row, "n", "ssa", "green", "dashed", entry="SSA")]
    exact, drawn = (slots.reports.table(run, "needle_weight") for run in ("needle-curve", "needle-points"))
    right = []
    for name, color in (("softmax", "blue"), ("SSMax", "orange")):
        right += [curve([r for r in exact if r["map"] == name], "n", "theory", color),
                  bars([r for r in drawn if r["map"] == name], "n", "simulation", "standard_error", color)]
    common = r"width=0.49\textwidth, height=4.8cm, xmode=log, ymin=0, ymax=1.05, xmin=1.6, xmax=2000000, " \
             r"xlabel={row length $n$}, ylabel={weight of the high score}, "
    return beside(axis(common + "legend style={at={(0.97,0.5)}, anchor=east}, title={equal others}", *left),
                  axis(common + "title={normal others}", *right))


RULES = (("linear", "gray", "square*"), ("fixed width", "green", "triangle*"), ("kernel", "blue", "*"),
         ("softmax", "orange", "diamond*"))


def kernel(slots):
    """Losses of the four rules against the context's length, and how much the sum of the kernel varies."""
    rows = slots.reports.table("rules", "losses_and_accuracies")
    left = []
    for name, color, mark in RULES:
        some = [r for r in rows if r["model"] == name]
        left += [curve(some, "n", "loss", color, entry=name), bars(some, "n", "loss", "loss_error", color, mark)]
    spread = slots.reports.table("partition", "spread_of_the_partition")
    right = []
    for d, color in zip(sorted({r["d"] for r in spread}), ("orange", "blue", "green", "gray")):
        some = [r for r in spread if r["d"] == d]
        best = [r for r in some if r["best"]]
        right += [curve(some, "sigma", "balanced", color, entry=f"$d = {d}$"),
                  bars(some, "sigma", "balanced", "standard_error", color),
                  curve(some, "sigma", "independent", color, "dashed, forget plot"),
                  rf"\addplot[{color}, only marks, mark=o, mark size=3.5pt, thick, forget plot] coordinates "
                  rf"{{{points(best, 'sigma', 'balanced')}}};"]
    common = r"width=0.49\textwidth, height=5.8cm, xmode=log, log ticks with fixed point, "
    lengths = ",".join(str(n) for n in sorted({r["n"] for r in rows}))
    return beside(axis(common + rf"xtick={{{lengths}}}, xlabel={{context length $n$}}, ylabel={{loss}}, ymin=0, "
                       "ymax=0.66, legend columns=2, legend pos=north east", *left),
                  axis(common + r"xtick={0.1,0.25,1}, xlabel={kernel width $1/\sqrt{\kappa}$}, "
                       r"ymode=log, ytick={0.1,1,10,100}, ymin=0.02, ymax=300, ylabel={spread of $Z$ over its mean}, "
                       "legend columns=2, legend pos=north east", *right))


def gradients(slots):
    """The gradient of W_K over that of W_V, and what SSA and softmax give one large score."""
    rows = slots.reports.table("gradients", "gradient_of_w_k")
    words = slots.words("normsoftmax/figure-5", "0.5-1 orders of magnitude smaller")
    low, high = (10 ** -float(order) for order in words.split()[0].split("-")[::-1])
    left = [rf"\fill[gray, fill opacity=0.18] (axis cs:0.28,{low:.6g}) rectangle (axis cs:20,{high:.6g});",
            curve(rows, "temperature", "theory", "blue"),
            bars(rows, "temperature", "simulation", "standard_error", "blue"),
            rf"\node[black!60, font=\scriptsize, anchor=west] at (axis cs:0.3,{(low * high) ** 0.5:.6g}) "
            rf"{{{words.replace('-', '--')}}};"]
    rows = slots.reports.table("deviant", "weight_of_one_deviant")
    right = []
    for n, style in ((40, ""), (1000, "dashed")):
        some = [r for r in rows if r["n"] == n]
        for name, color in (("softmax", "blue"), ("ssa", "green")):
            words = {"softmax": "softmax", "ssa": "SSA"}[name]
            right.append(curve(some, "score", name, color, style, f"{words}, $n = {n}$",
                               "mark=*, mark size=1.2pt, mark options=solid"))
    common = r"width=0.49\textwidth, height=4.8cm, xmode=log, log ticks with fixed point, "
    return beside(axis(common + r"ymode=log, xtick={0.33333,1,2,4,8,16}, xticklabels={1/3,1,2,4,8,16}, "
                       r"ytick={0.1,0.3,1}, xmin=0.28, xmax=20, ymin=0.05, ymax=3, xlabel={temperature}, "
                       r"ylabel={gradient of $W_K$ over $W_V$}", *left),
                  axis(common + r"xtick={1,3,10,30,100}, xlabel={the one score}, ylabel={its weight}, ymin=0, "
                       "ymax=1.7, ytick={0,0.5,1}, legend columns=2, legend pos=north west", *right))


SHADES = {"confirmed": "blue!70", "holds in a regime": "blue!30", "seen in a small model": "green!60",
          "by definition": "gray!35", "undecided": "orange!45", "not reproduced in a small model": "orange",
          "contradicted": "red!75!black", "not tried": "gray!12", "out of reach": "white"}


def verdicts(slots):
    """How many claims of each paper have which verdict."""
    papers = list(slots.papers)[::-1]
    parts = []
    for verdict, shade in SHADES.items():
        counts = [sum(c["verdict"] == verdict for c in slots.of_paper(paper)) for paper in papers]
        if any(counts):
            cells = " ".join(f"({count},{paper}) [{count or ''}]" for count, paper in zip(counts, papers))
            parts.append(rf"\addplot[fill={shade}, draw=gray, point meta=explicit symbolic] coordinates {{{cells}}};"
                         rf"\addlegendentry{{{verdict}}}")
    return picture(axis(
        r"width=0.95\textwidth, height=5.6cm, xbar stacked, bar width=11pt, enlarge y limits=0.14, xmin=0, "
        r"symbolic y coords={" + ",".join(papers) + r"}, ytick=data, xlabel={claims}, nodes near coords, "
        r"every node near coord/.append style={font=\scriptsize, text=black}, legend columns=4, "
        r"legend style={at={(0.44,-0.32)}, anchor=north, draw=none, font=\scriptsize, "
        r"/tikz/every even column/.append style={column sep=8pt}}", *parts))


PLOTS = {"temperature": temperature, "needle": needle, "kernel": kernel, "gradients": gradients, "verdicts": verdicts}
