#!/usr/bin/env python3
"""Draws the pictures of README.md and docs/scaling.md from what the program reports, and takes those of docs/papers/
from the notebooks.

docs/pictures/draw.py                       the .svg files from the .json files beside them and from notebooks/
docs/pictures/draw.py --check               exit 1 if a picture is not what this script draws
docs/pictures/draw.py --run build/examples  first runs the program there and rewrites the .json files

Needs the standard library only. The gray and the two colors are readable on a white and on a dark background.
"""

import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GRAY, BLUE, ORANGE = "#76808d", "#2f86d6", "#d9760b"
WIDTH, HEIGHT = 560, 430
LEFT, RIGHT, TOP, BOTTOM = 66, 546, 20, 364
SCORES = 10**6  # scores of a row in the second picture


# What the program reports, reduced to what is drawn.

def report(programs, name, arguments):
    """Runs a subcommand, which must agree with its theory, and reads its report."""
    program, subcommand = name.split()
    command = [str(pathlib.Path(programs) / program), subcommand, *arguments, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def digits(*values):
    """As many digits as a picture can show."""
    return [float(f"{value:.5g}") for value in values]


def rows_at(reported, temperatures):
    """The row of the first table at each of the temperatures."""
    rows = [row for row in reported["tables"][0]["rows"] if row["temperature"] is not None]
    return [min(rows, key=lambda row: abs(row["temperature"] - t)) for t in temperatures]


def temperature_data(programs):
    """The case of README.md: a layer pretrained at input variance 1, tested at 2. A point has a seed of its own."""
    size = ["--dimension", "20", "--context-length", "40", "--noise-variance", "0.1"]
    curves = {
        "approximate": ["incontext temperature", "--input-scale", "2", *size],
        "true": ["incontext softmax-error", "--estimator", "literal", "--attention", "scaled", "--input-variance", "2",
                 "--task-variance", "0.05", "--key-query-scale", repr(1 / 1.05), *size],
    }
    dense = [10 ** (k / 40) for k in range(0, 49)]
    points = {"approximate": [1, 1.41, 2, 2.83, 4, 5.66, 8, 11.3],
              "true": [1.19, 1.68, 2.38, 3.36, 4.76, 6.73, 9.51, 13.5]}
    seeds = iter(range(1, 17))
    data = {"trials per point": 1000}
    for key, (name, *arguments) in curves.items():
        some = ["--temperatures", ",".join(map(repr, dense)), "--trials", "1000"]
        reported = report(programs, name, arguments + some)
        shown = [row for row in reported["tables"][0]["rows"] if row["temperature"]]
        optimum = min(shown, key=lambda row: row["theory"])
        data[key] = {
            "command": " ".join([name, *arguments]),
            "curve": [digits(row["temperature"], row["theory"]) for row in rows_at(reported, dense)],
            "optimum": digits(optimum["temperature"], optimum["theory"]),
            "points": [],
        }
        for temperature in points[key]:
            some = ["--temperatures", repr(temperature), "--trials", "1000", "--seed", str(next(seeds))]
            (row,) = rows_at(report(programs, name, arguments + some), [temperature])
            data[key]["points"].append(
                digits(row["temperature"], row["simulation"], row["standard_error"]))
    return data


def needle_data(programs):
    """The plane of needle and noise, its boundary, and the weights simulated on the boundary."""
    arguments = ["--figure", "diagram", "--lengths", str(SCORES), "--points", "32"]
    boundary, plane = report(programs, "incontext fading", arguments)["tables"][:2]
    columns = {}
    for row in plane["rows"]:
        columns.setdefault(row["noise"], []).append(digits(row["height"], row["weight"]))
    return {
        "command": " ".join(["incontext fading", *arguments]),
        "boundary": [digits(row["noise"], row["half"], row["boundary"]) for row in boundary["rows"]],
        "points": [digits(row["noise"], row["half"], row["simulation"], row["standard_error"])
                   for row in boundary["rows"] if row["simulation"] is not None],
        "heights": [height for height, _ in next(iter(columns.values()))],
        "plane": [{"noise": digits(noise)[0], "weights": [weight for _, weight in column]}
                  for noise, column in columns.items()],
    }


def scaling_data(programs):
    """Times and costs that bench/scaling measures, and its model of many ranks."""
    command = [str(HERE.parents[1] / "bench/scaling"), "--build", str(pathlib.Path(programs).parent)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


# A little SVG.

class Picture:
    def __init__(self, title, x_range, y_range, x_of, y_of):
        self.x_low, self.x_high = map(x_of, x_range)
        self.y_low, self.y_high = map(y_of, y_range)
        self.x_of, self.y_of = x_of, y_of
        self.parts = []
        self.title = title

    def x(self, value):
        return LEFT + (self.x_of(value) - self.x_low) / (self.x_high - self.x_low) * (RIGHT - LEFT)

    def y(self, value):
        return BOTTOM - (self.y_of(value) - self.y_low) / (self.y_high - self.y_low) * (BOTTOM - TOP)

    def add(self, text):
        self.parts.append(text)

    def path(self, points, style, closed=False):
        steps = " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        self.add(f'<path clip-path="url(#frame)" d="M{steps}{" Z" if closed else ""}" {style}/>')

    def text(self, x, y, text, style=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" {style}>{text}</text>')

    def axes(self, x_ticks, y_ticks, x_label, y_label):
        for value in x_ticks:
            self.add(f'<path class="tick" d="M{self.x(value):.1f} {BOTTOM} v6"/>')
            self.text(self.x(value), BOTTOM + 23, f"{value:g}", 'text-anchor="middle"')
        for value in y_ticks:
            self.add(f'<path class="tick" d="M{LEFT} {self.y(value):.1f} h-6"/>')
            self.text(LEFT - 11, self.y(value) + 5, f"{value:g}", 'text-anchor="end"')
        self.add(f'<rect class="tick" x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/>')
        self.text((LEFT + RIGHT) / 2, BOTTOM + 52, x_label, 'text-anchor="middle"')
        middle = (TOP + BOTTOM) / 2
        self.text(18, middle, y_label, f'text-anchor="middle" transform="rotate(-90 18 {middle:.0f})"')

    def error_bar(self, x, y, error, color):
        top, bottom = self.y(y + error), self.y(y - error)
        at = self.x(x)
        self.add(f'<path d="M{at:.1f} {top:.1f} V{bottom:.1f} M{at - 4:.1f} {top:.1f} h8 '
                 f'M{at - 4:.1f} {bottom:.1f} h8" stroke="{color}" stroke-width="1.6" fill="none"/>')
        self.add(f'<circle cx="{at:.1f}" cy="{self.y(y):.1f}" r="4" fill="{color}"/>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img">',
            f"<title>{self.title}</title>",
            "<!-- Drawn by docs/pictures/draw.py. -->",
            f"<style>text {{ font: 15px sans-serif; fill: {GRAY}; }} .math {{ font-style: italic; font-family: serif; "
            f"font-size: 17px; }} .tick {{ stroke: {GRAY}; stroke-width: 1; fill: none; }}</style>",
            f'<clipPath id="frame"><rect x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/>'
            "</clipPath>",
            *self.parts, "</svg>", ""])


# The pictures.

def temperature_picture(data):
    picture = Picture("Error against attention temperature: exact curves and simulated points",
                      (0.93, 15.5), (0.72, 6.6), math.log, math.log)
    for key, color, words in (("approximate", BLUE, "approximate softmax"), ("true", ORANGE, "true softmax")):
        part = data[key]
        picture.path(part["curve"], f'stroke="{color}" stroke-width="2" fill="none"')
        for temperature, mean, error in part["points"]:
            picture.error_bar(temperature, mean, error, color)
        best, least = part["optimum"]
        at, top = picture.x(best), picture.y(least)
        picture.add(f'<path d="M{at:.1f} {BOTTOM} V{top:.1f}" stroke="{color}" stroke-dasharray="4 4" fill="none"/>')
        picture.text(at + 6, BOTTOM - 8, f"{best:.3f}", f'style="fill:{color}"')
    picture.text(picture.x(1.28), picture.y(4.35), "approximate softmax", f'style="fill:{BLUE}"')
    picture.text(picture.x(1.95), picture.y(2.05), "true softmax", f'style="fill:{ORANGE}"')
    size = '<tspan class="math">d</tspan> = 20, <tspan class="math">l</tspan> = 40'
    picture.text(RIGHT - 12, TOP + 24, f"{size}, inputs of twice the variance", 'text-anchor="end"')
    picture.axes([1, 2, 3, 5, 10], [1, 2, 3, 5], "temperature (1: as in pretraining)",
                 "error (in units of the labels squared)")
    return picture.svg()


def crossing(heights, weights, level):
    """The height at which the weight passes the level: linear in the logit, which is linear in height without noise."""
    logits = [math.log(max(w, 1e-300)) - math.log(max(1 - w, 1e-16)) for w in weights]
    wanted = math.log(level / (1 - level))
    for k in range(1, len(logits)):
        if logits[k] >= wanted:
            part = (wanted - logits[k - 1]) / (logits[k] - logits[k - 1])
            return heights[k - 1] + part * (heights[k] - heights[k - 1])
    return heights[-1]


def needle_picture(data):
    top = 3.4
    noises = [column["noise"] for column in data["plane"]]
    picture = Picture("The weight of one needle among a million normal scores", (0, noises[-1]), (0, top), float, float)
    levels = [k / 20 for k in range(1, 20)]
    for level in levels:
        edge = [(column["noise"], crossing(data["heights"], column["weights"], level)) for column in data["plane"]]
        (x, first), (next_x, second) = edge[:2]
        edge.insert(0, (0, first - (second - first) / (next_x - x) * x))
        picture.path([(0, top), *edge, (noises[-1], top)], f'fill="{BLUE}" fill-opacity="0.022"', closed=True)
    limit = [(0, 1), *((noise, a) for noise, _, a in data["boundary"])]
    half = [(noise, a) for noise, a, _ in data["boundary"]]
    picture.path([(0, 1), *half], f'stroke="{ORANGE}" stroke-width="2" fill="none"')
    picture.path([(2, 1.72), (2, top)], f'stroke="{GRAY}" stroke-width="1" stroke-dasharray="2 4" fill="none"')
    for noise, a, weight, error in data["points"]:
        x, y = picture.x(noise), picture.y(a)
        picture.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{ORANGE}"/>')
        at, below, anchor = (x + 4, 25, "start") if x + 120 < RIGHT else (RIGHT - 6, 38, "end")
        picture.text(at, y + below, f"{weight:.3f} ± {error:.3f}", f'text-anchor="{anchor}" style="fill:{ORANGE}"')
    picture.text(picture.x(1), picture.y(3.12), "noise averages out", 'text-anchor="middle"')
    picture.text(picture.x(3), picture.y(3.12), "noise is frozen", 'text-anchor="middle"')
    picture.text(picture.x(0.75), picture.y(2.35), "needle found", f'text-anchor="middle" style="fill:{BLUE}"')
    picture.text(picture.x(3.1), picture.y(1.25), "needle lost", 'text-anchor="middle"')
    left, right = LEFT + 14, LEFT + 46
    dashes = f'stroke="{GRAY}" stroke-width="1.5" stroke-dasharray="6 5"'
    picture.path(limit, f'{dashes} fill="none"')
    picture.add(f'<path d="M{left} {picture.y(0.64):.1f} H{right}" stroke="{ORANGE}" stroke-width="2"/>')
    picture.add(f'<path d="M{left} {picture.y(0.16):.1f} H{right}" {dashes}/>')
    picture.add(f'<circle cx="{(left + right) / 2}" cy="{picture.y(0.4):.1f}" r="4.5" fill="{ORANGE}"/>')
    picture.text(right + 10, picture.y(0.64) + 5, 'weight 1/2 at <tspan class="math">n</tspan> = 10⁶, exact')
    picture.text(right + 10, picture.y(0.4) + 5, "simulated weight there ± standard error")
    picture.text(right + 10, picture.y(0.16) + 5, 'weight 1/2 as <tspan class="math">n</tspan> → ∞')
    picture.axes([0, 1, 2, 3], [0, 1, 2, 3],
                 'noise <tspan class="math">β² v</tspan> / log <tspan class="math">n</tspan> (dimensionless)',
                 'needle <tspan class="math">β m</tspan> / log <tspan class="math">n</tspan> (dimensionless)')
    return picture.svg()


def scaling_picture(data):
    picture = Picture("Efficiency of a shared run against the number of ranks", (0.8, 12500), (0, 1.05), math.log, float)
    runs = data["costs"]["runs"]
    colors = {1e2: BLUE, 1e4: ORANGE, 1e6: GRAY}
    words = {1e2: "100 s", 1e4: "3 hours", 1e6: "12 days, on one core"}
    for work, color in colors.items():
        points = [(run["ranks"], run["efficiency"]) for run in runs if run["work"] == work]
        picture.path(points, f'stroke="{color}" stroke-width="2" fill="none"')
        for ranks, efficiency in points:
            picture.add(f'<circle cx="{picture.x(ranks):.1f}" cy="{picture.y(efficiency):.1f}" r="3.5" fill="{color}"/>')
    for row, (work, color) in enumerate(colors.items()):
        y = picture.y(0.42 - 0.09 * row)
        picture.add(f'<path d="M{LEFT + 20} {y:.1f} h30" stroke="{color}" stroke-width="2"/>')
        picture.text(LEFT + 60, y + 5, words[work], f'style="fill:{color}"')
    picture.text(LEFT + 20, picture.y(0.53), "a model of measured costs, for runs of:")
    picture.axes([1, 10, 100, 1000, 10000], [0, 0.25, 0.5, 0.75, 1], "number of ranks", "efficiency")
    return picture.svg()


PICTURES = {"temperature": (temperature_data, temperature_picture), "needle": (needle_data, needle_picture),
            "scaling": (scaling_data, scaling_picture)}


NOTEBOOKS = {"optimal_temperature": 7, "kernel_descent": 5, "scalable_softmax": 5, "scaled_signed_averaging": 9,
             "normsoftmax": 5, "predictors": 3}  # the cell that draws the picture


def notebook_picture(name, cell):
    """The picture that a notebook keeps as the output of a cell."""
    notebook = json.loads((HERE.parents[1] / "notebooks" / f"{name}.ipynb").read_text())
    outputs = [output.get("data", {}) for output in notebook["cells"][cell]["outputs"]]
    return "".join(next(data["image/svg+xml"] for data in outputs if "image/svg+xml" in data)).encode()


def main(arguments):
    if arguments[:1] == ["--run"] and len(arguments) == 2:
        for name, (data, _) in PICTURES.items():
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data(arguments[1]).items())
            (HERE / f"{name}.json").write_text("{\n" + lines + "\n}\n")
    elif arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    drawn = {f"{name}.svg": notebook_picture(name, cell) for name, cell in NOTEBOOKS.items()}
    for name, (_, draw) in PICTURES.items():
        drawn[f"{name}.svg"] = draw(json.loads((HERE / f"{name}.json").read_text())).encode()
    stale = []
    for name, content in drawn.items():
        file = HERE / name
        if arguments != ["--check"]:
            file.write_bytes(content)
        elif not file.exists() or file.read_bytes() != content:
            stale.append(name)
    if stale:
        sys.exit(f"docs/pictures: {', '.join(stale)}: not what draw.py draws from its .json or takes from its notebook; "
                 "run docs/pictures/draw.py")


if __name__ == "__main__":
    main(sys.argv[1:])
